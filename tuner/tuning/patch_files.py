# SPDX-License-Identifier: GPL-2.0-or-later
"""The patch of each variant as a file of the run directory."""

from __future__ import annotations

from linesmith.analyzer.base import durable
from linesmith.analyzer.errors import DiskFull, JournalError
from linesmith.tuner.tuning.run_directory import RunDirectory


def keep_patch_file(run: RunDirectory, variant: str, text: str) -> None:
    """Write ``patches/<variant>.patch``, whole or not at all; raises ``DiskFull`` or ``JournalError``.

    Bytes that are no UTF-8 are lone surrogates in ``text``, as in patches everywhere.
    """
    path = run.path / "patches" / f"{variant}.patch"
    try:
        path.parent.mkdir(exist_ok=True)
        durable.replace(path, text.encode("utf-8", "surrogateescape"))
    except OSError as error:
        if error.errno in durable.FULL:
            raise DiskFull(f"no room is left to write {path}; free some and go on with --resume") from error
        raise JournalError(f"cannot write {path}: {error.strerror}; look after the run directory") from error
