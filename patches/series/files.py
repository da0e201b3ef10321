# SPDX-License-Identifier: GPL-2.0-or-later
"""A series as the files that a person sends or applies: mails where the tree is a repository, plain diffs elsewhere."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from linesmith.analyzer.base.visible import visible
from linesmith.analyzer.errors import TreeError
from linesmith.analyzer.model import PatchSeries, SeriesStep
from linesmith.patches.series.mails import mails
from linesmith.patches.series.patch_file import PatchFile
from linesmith.patches.series.recipients import NOBODY, Recipients
from linesmith.patches.series.repository import repository
from linesmith.patches.series.trailers import NO_TRAILERS, Trailers
from linesmith.patches.unified import files_diff, files_stat

__all__ = ["PatchFile", "patch_files"]

# Lines at which programs that apply a mail would end its message.
_ENDS_A_MESSAGE = re.compile(r"^(?=---|diff -|Index: |From )", re.MULTILINE)
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9._]+")
_LONGEST_NAME = 52


def patch_files(
    series: PatchSeries, tree: Path, trailers: Trailers = NO_TRAILERS, recipients: Recipients = NOBODY
) -> tuple[PatchFile, ...]:
    """The files in the order in which they apply, the cover letter first where there is one.

    The tree and its repository are only read. Raises ``TreeError`` where the tree is not as the series expects it, or
    where git fails.
    """
    _check(series.steps, tree)
    last = len(series.steps) - 1
    steps = [
        replace(step, message=_complete(step.message, trailers, last=number == last))
        for number, step in enumerate(series.steps)
    ]
    complete = replace(series, steps=tuple(steps), cover=visible(_ENDS_A_MESSAGE.sub(" ", series.cover)))
    known = repository(tree)
    # Of a folder in a repository, names from the root would not apply in the tree, others not with `git am`.
    return mails(complete, known, recipients) if known and not known.folder else _plain(complete)


def _complete(message: str, trailers: Trailers, *, last: bool) -> str:
    body = visible(_ENDS_A_MESSAGE.sub(" ", message).strip("\n"))
    under = visible(trailers.under(last=last))
    return f"{body}\n\n{under}\n" if under else f"{body}\n"


def _check(steps: Sequence[SeriesStep], tree: Path) -> None:
    """Raise ``TreeError`` where a step does not begin with what the one before it, or the tree, has."""
    if not steps or not all(step.changes for step in steps):
        raise TreeError(f"there is nothing to change in {tree}, so there is no patch to write")
    known: dict[str, bytes | None] = {}
    for change in (change for step in steps for change in step.changes):
        if change.file not in known:
            known[change.file] = _content(tree / change.file)
        if known[change.file] != change.before:
            raise TreeError(f"{tree / change.file} has changed meanwhile; run the command again")
        known[change.file] = change.after


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _plain(series: PatchSeries) -> tuple[PatchFile, ...]:
    cover = [PatchFile("0000-cover-letter.txt", _bytes(series.cover.rstrip("\n") + "\n"))] if series.cover else []
    return (*cover, *(_plain_file(number, step) for number, step in enumerate(series.steps, start=1)))


def _plain_file(number: int, step: SeriesStep) -> PatchFile:
    """Message, diffstat, diff: what ``git apply`` and ``patch -p1`` take."""
    subject = step.message.partition("\n")[0]
    short = _NOT_IN_A_NAME.sub("-", subject)[:_LONGEST_NAME].strip("-.")
    content = (
        _bytes(step.message) + b"---\n" + _bytes(visible(files_stat(step.changes))) + b"\n" + files_diff(step.changes)
    )
    return PatchFile(f"{number:04}-{short}.patch", content)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
