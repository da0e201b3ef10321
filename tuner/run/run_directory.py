# SPDX-License-Identifier: GPL-2.0-or-later
"""The folder in which a run of ``tune`` or ``bench`` keeps everything: one process works in it at a time."""

from __future__ import annotations

import fcntl
import os
import shutil
from contextlib import AbstractContextManager, closing
from pathlib import Path
from types import TracebackType
from typing import IO

from linesmith.analyzer.base import files
from linesmith.analyzer.base.errors import DiskFull, JournalError
from linesmith.tuner.run.journal import JOURNAL, Journal, journal_of, unfinished

PLAN = "tune.toml"
_NOTE = "errand"
_LOCK = "lock"
_IGNORED = ".gitignore"
_FOLDERS = ("artifacts", "workers", "patches", "logs")
# What only the plan it was made for can use.
_OF_A_PLAN = ("profile", "profile.trace", "report.txt", "report.json", "best.patch")
_FOLDERS_OF_A_PLAN = ("patches", "recordings")


class RunDirectory(AbstractContextManager["RunDirectory"]):
    """A run directory that this process has locked; it is left by ``close`` or at the end of a ``with`` block.

    It holds the plan as given (``tune.toml``), the journal, what was built (``artifacts``), the workers' warm folders
    (``workers``), the patch of each variant (``patches``) and the logs of each task (``logs``).
    """

    def __init__(self, path: Path, lock: IO[str], journal: Journal) -> None:
        self.path = path
        self.journal = journal
        self._lock = lock

    @classmethod
    def create(cls, path: Path, plan: str, folder: Path) -> RunDirectory:
        """Begin a run in ``path``, which must not exist or be empty; ``plan`` is the text of its file in ``folder``.

        A run in which nothing was measured yet is begun again, with what was built. Raises ``JournalError`` when the
        folder is in use, holds a run or anything else, or cannot be written.
        """
        path = path.resolve()
        try:
            path.mkdir(parents=True, exist_ok=True)
            if not (path / JOURNAL).exists():
                _refuse_foreign(path)
            lock = _locked(path)
        except OSError as error:
            raise JournalError(f"cannot start a run in {path}: {error.strerror}; choose another --run") from error
        try:
            _clear_unmeasured(path)
            _furnish(path, plan)
            return cls(path, lock, Journal.create(path / JOURNAL, folder.absolute()))
        except BaseException:
            lock.close()
            raise

    @classmethod
    def open(cls, path: Path) -> RunDirectory:
        """Go on with the run in ``path``; raises ``JournalError`` when there is none, or it is in use or damaged."""
        path = path.resolve()
        if not (path / JOURNAL).is_file():
            raise JournalError(
                f"{path} holds no run yet; start it without --resume, or name the run directory with --run"
            )
        journal = journal_of(path)
        lock = _locked(path)
        try:
            return cls(path, lock, Journal.open(journal))
        except BaseException:
            lock.close()
            raise

    @property
    def plan(self) -> str:
        """The text of the plan's file as it was given."""
        return (self.path / PLAN).read_text("utf-8")

    @property
    def workers(self) -> Path:
        """Where an executor keeps the warm folders of its workers."""
        return self.path / "workers"

    def close(self) -> None:
        """Let another process have the run."""
        self.journal.close()
        self._lock.close()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def _locked(path: Path) -> IO[str]:
    """The folder's lock, held until it is closed, at the latest by the end of this process."""
    lock = (path / _LOCK).open("a+")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        lock.seek(0)
        holder = lock.read(20).strip()
        lock.close()
        raise JournalError(f"{path} is in use by process {holder}; wait for it, or choose another --run") from error
    lock.truncate(0)
    lock.write(str(os.getpid()))
    lock.flush()
    return lock


def _refuse_foreign(path: Path) -> None:
    names = {entry.name for entry in path.iterdir()}
    if JOURNAL in names:
        raise JournalError(f"{path} already holds a run; continue it with --resume, or choose another --run")
    # A process that was killed while it began a run has left no more than these.
    strange = sorted(names - {_LOCK, _IGNORED, PLAN, *unfinished(JOURNAL), *_FOLDERS})
    if strange := [name for name in strange if not name.startswith(f".{PLAN}.")]:
        raise JournalError(f"{path} holds something else ({strange[0]}); choose another --run")


def _clear_unmeasured(path: Path) -> None:
    """Take away what a run without a measured block has left in a locked folder; builds tell by key what they are."""
    if not (path / JOURNAL).exists():
        return
    with closing(Journal.read(path / JOURNAL)) as journal:
        measured = journal.rows("SELECT 1 FROM blocks LIMIT 1")
    if not measured:
        for name in _FOLDERS_OF_A_PLAN:
            shutil.rmtree(path / name, ignore_errors=True)
        for name in (*_OF_A_PLAN, JOURNAL):
            (path / name).unlink(missing_ok=True)


def _furnish(path: Path, plan: str) -> None:
    """Put the plan and the empty folders into a locked run directory."""
    _refuse_foreign(path)  # another process may have been faster
    try:
        files.replace_file(path / PLAN, plan.encode())
        # A run in a working tree is no part of what is tracked there.
        files.replace_file(path / _IGNORED, b"*\n")
        for name in _FOLDERS:
            (path / name).mkdir(exist_ok=True)
    except OSError as error:
        raise JournalError(f"cannot start a run in {path}: {error.strerror}; choose another --run") from error


def keep_purpose(journal: Journal, purpose: str) -> None:
    """Note what the run is for, in words; raises ``JournalError`` when it was begun for something else."""
    known = journal.note(_NOTE)
    if known not in (None, purpose):
        raise JournalError(f"this run was started as {known}, not as {purpose}; choose another --run")
    with journal.transaction():
        journal.keep_note(_NOTE, purpose)


def keep_patch_file(run: RunDirectory, variant: str, text: str) -> None:
    """Write ``patches/<variant>.patch``, whole or not at all; raises ``DiskFull`` or ``JournalError``.

    Bytes that are no UTF-8 are lone surrogates in ``text``, as in patches everywhere.
    """
    path = run.path / "patches" / f"{variant}.patch"
    try:
        path.parent.mkdir(exist_ok=True)
        files.replace_file(path, text.encode("utf-8", "surrogateescape"))
    except OSError as error:
        if error.errno in files.FULL:
            raise DiskFull(f"no space left to write {path}; free some and continue with --resume") from error
        raise JournalError(f"cannot write {path}: {error.strerror}; check the run directory") from error
