# SPDX-License-Identifier: GPL-2.0-or-later
"""A series as ``git format-patch`` writes it, from a repository of its own that is gone afterwards.

The repository holds nothing but the files that change, so it is made at once however large the tree is, and the one
of the user is not written to: no branch, no worktree, no object.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.errors import TreeError
from linesmith.analyzer.model import PatchSeries
from linesmith.patches.child import Command, run
from linesmith.patches.scratch import scratch
from linesmith.patches.series.patch_file import PatchFile
from linesmith.patches.series.recipients import Recipients
from linesmith.patches.series.repository import Repository

_SECONDS = 60
_IDENTITY = re.compile(r"(.*?) ?<([^<>]*)> \d+ [+-]\d{4}")
_UNKNOWN = ("unknown", "unknown@localhost")
# Bytes are compared as they are, functions are named as the kernel's own attributes have it.
_ATTRIBUTES = "* -text -filter -ident\n*.c diff=cpp\n*.h diff=cpp\n"
_FORMAT = (
    "format-patch", "-q", "--zero-commit", "--no-signature", "--abbrev=12", "--no-renames", "--stat=72", "--summary",
    "--cover-from-description=subject", "-o", "../mails",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Scratch:
    """A repository in a folder for a moment; ``author`` is a name and an address."""

    root: Path
    author: tuple[str, str]

    @property
    def work(self) -> Path:
        return self.root / "work"

    def git(self, *arguments: str) -> None:
        """Run git, knowing no configuration but that of the scratch repository. Raises ``TreeError``."""
        name, address = self.author
        known = [f"GIT_{role}_{what}" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")]
        variables = [f"{one}={name if one.endswith('NAME') else address}" for one in known]
        alone = (f"HOME={self.root}", "GIT_CONFIG_NOSYSTEM=1", "GIT_CEILING_DIRECTORIES=/")
        ended = run(Command(("env", *variables, *alone, "git", *arguments), self.work, _SECONDS))
        if ended.status:
            raise TreeError(f"git {arguments[0]} failed in {self.work}: {ended.output.strip() or ended.status}")


def mails(series: PatchSeries, known: Repository, recipients: Recipients) -> tuple[PatchFile, ...]:
    """The files of ``git format-patch``, with the commit of ``known`` that they are based on.

    Raises ``TreeError`` when git fails.
    """
    with scratch("linesmith-series-") as folder:
        work = _Scratch(folder, author(known))
        _begin(work, series, known)
        based = known.head if _as_committed(work, series, known) else ""
        for step in series.steps:
            for change in step.changes:
                _put(work, known, change.file, change.after)
            _commit(work, step.message)
        work.git(*_FORMAT, *_addressed(recipients), *(["--cover-letter"] if series.cover else []), "base..series")
        return tuple(_read(work.root / "mails", based))


def author(known: Repository) -> tuple[str, str]:
    """Name and address of the user as git knows them for this tree; a stand-in where it does not."""
    found = _IDENTITY.fullmatch(known.answer("var", "GIT_AUTHOR_IDENT"))
    return (found[1], found[2]) if found else _UNKNOWN


def _begin(scratch: _Scratch, series: PatchSeries, known: Repository) -> None:
    """The repository with the files as they are."""
    scratch.work.mkdir()
    scratch.git("init", "-q", "--template=", "--initial-branch=series")
    (scratch.work / ".git" / "info").mkdir()
    (scratch.work / ".git" / "info" / "attributes").write_text(_ATTRIBUTES, encoding="utf-8")
    first = {change.file: change.before for step in reversed(series.steps) for change in step.changes}
    for file, content in first.items():
        _put(scratch, known, file, content)
    _commit(scratch, "The tree as it is\n")
    scratch.git("tag", "base")
    if series.cover:
        scratch.git("config", "branch.series.description", series.cover)


def _put(scratch: _Scratch, known: Repository, file: str, content: bytes | None) -> None:
    """Write ``file``, relative to the tree, as executable as it is there; ``None`` removes it."""
    path = scratch.work / file
    if content is None:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    original = known.tree / file
    if original.is_file():
        path.chmod(original.stat().st_mode & 0o777 | 0o600)


def _commit(scratch: _Scratch, message: str) -> None:
    (scratch.root / "message").write_bytes(_bytes(message))
    scratch.git("add", "-A", "-f", ".")
    options = ("-q", "--allow-empty", "--no-verify", "--no-gpg-sign", "--cleanup=verbatim")
    scratch.git("commit", *options, "-F", str(scratch.root / "message"))


def _as_committed(scratch: _Scratch, series: PatchSeries, known: Repository) -> bool:
    """Whether the commit that is checked out has the files that change as the tree has them."""
    files = {change.file for step in series.steps for change in step.changes if change.before is not None}
    return bool(known.head) and all(known.holds(file, scratch.work / file) for file in files)


def _addressed(recipients: Recipients) -> Iterator[str]:
    yield from (f"--to={one}" for one in recipients.to)
    yield from (f"--cc={one}" for one in recipients.copies)


def _read(folder: Path, based: str) -> Iterator[PatchFile]:
    """The files; the first one names the commit they are based on, as ``git format-patch --base`` writes it."""
    for number, path in enumerate(sorted(folder.iterdir())):
        base = f"\nbase-commit: {based}\n" if based and not number else ""
        yield PatchFile(path.name, path.read_bytes().rstrip(b"\n") + b"\n" + base.encode())


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
