# SPDX-License-Identifier: GPL-2.0-or-later
"""A series as the files that a person sends or applies: mails where the tree is a repository, plain diffs elsewhere.

The tree's own ``scripts/checkpatch.pl --strict`` says what it dislikes of them, but for the sign-off.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

from linesmith.analyzer.base.child import Command, run
from linesmith.analyzer.base.errors import LinesmithError, TreeError
from linesmith.analyzer.base.text import visible
from linesmith.analyzer.model import Patch, PatchSeries, SeriesStep
from linesmith.patches.build.confinement import Confinement
from linesmith.patches.build.overlay import scratch
from linesmith.patches.edit.patch import Confirmed
from linesmith.patches.edit.unified import diffstat, files_diff
from linesmith.patches.series.mails import NOBODY, PatchFile, Recipients, mails, repository
from linesmith.patches.source.tree import visible_files

_SCRIPT = Path("scripts") / "checkpatch.pl"
_OPTIONS = ("--strict", "--terse", "--no-summary", "--show-types", "--emacs")
_SECONDS = 120
_SIGN_OFF = re.compile(r"(ERROR|WARNING):(MISSING_SIGN_OFF|NO_AUTHOR_SIGN_OFF)\b")
# The name is that of the patch, which may have any character.
_COMPLAINT = re.compile(r".*?:(\d+): ((?:ERROR|WARNING|CHECK):.*)")
# Lines at which programs that apply a mail would end its message.
_ENDS_A_MESSAGE = re.compile(r"^(?=---|diff -|Index: |From )", re.MULTILINE)
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9._]+")
_LONGEST_NAME = 52


def complaints(tree: Path, files: Sequence[PatchFile], whole: str = "") -> tuple[str, ...]:
    """What is said of each patch, as ``name:line: text``; nothing where the tree has no such script, or no perl.

    The line is that of the patch. Where the patches are written one behind the other, with an empty line between, name
    and line are those of that text, which is called ``whole``.
    """
    if not (tree / _SCRIPT).is_file() or shutil.which("perl") is None:
        return ()
    ahead = (0, *accumulate(file.content.count(b"\n") + 1 for file in files))
    places = [(whole, lines) if whole else (file.name, 0) for file, lines in zip(files, ahead, strict=False)]
    patches = [(file, place) for file, place in zip(files, places, strict=True) if b"\n+++ " in file.content]
    return tuple(
        f"{name}:{before + line}: {text}"
        for file, (name, before) in patches
        for line, text in _said(tree.resolve(), file)
    )


def _said(tree: Path, file: PatchFile) -> Iterator[tuple[int, str]]:
    """The script keeps notes where it runs, so it runs in a folder that is gone afterwards."""
    with scratch("linesmith-checkpatch-") as folder:
        (folder / file.name).write_bytes(file.content)
        argv = ("perl", str(tree / _SCRIPT), f"--root={tree}", *_OPTIONS, file.name)
        try:
            ended = run(Command(argv, folder, _SECONDS, Confinement(visible_files(tree), (folder,))))
        except LinesmithError as error:
            yield 1, str(error)
            return
        found = [_COMPLAINT.fullmatch(line) for line in ended.output.splitlines() if not _SIGN_OFF.search(line)]
        yield from ((int(one[1]), one[2]) for one in found if one)


def patch_files(series: PatchSeries, tree: Path, recipients: Recipients = NOBODY) -> tuple[PatchFile, ...]:
    """The files in the order in which they apply.

    The tree and its repository are only read. Raises ``TreeError`` where the tree is not as the series expects it, or
    where git fails.
    """
    _check(series.steps, tree)
    steps = []
    for step in series.steps:
        message = visible(_ENDS_A_MESSAGE.sub(" ", step.message).strip("\n"))
        below = visible(_ENDS_A_MESSAGE.sub(" ", step.below))
        steps.append(replace(step, message=f"{message}\n", below=below))
    known = repository(tree)
    # Of a folder in a repository, names from the root would not apply in the tree, others not with `git am`.
    if known and not known.folder:
        return mails(steps, known, recipients)
    return tuple(_plain_file(number, step) for number, step in enumerate(steps, start=1))


def _check(steps: Sequence[SeriesStep], tree: Path) -> None:
    """Raise ``TreeError`` where a step does not begin with what the one before it, or the tree, has."""
    if not steps or not all(step.changes for step in steps):
        raise TreeError(f"nothing to change in {tree}")
    known: dict[str, bytes | None] = {}
    for change in (change for step in steps for change in step.changes):
        if change.file not in known:
            path = tree / change.file
            known[change.file] = path.read_bytes() if path.is_file() else None
        if known[change.file] != change.before:
            raise TreeError(f"{tree / change.file} has changed meanwhile; run the command again")
        known[change.file] = change.after


def _plain_file(number: int, step: SeriesStep) -> PatchFile:
    """Message, diffstat, diff: what ``git apply`` and ``patch -p1`` take."""
    subject = step.message.partition("\n")[0]
    short = _NOT_IN_A_NAME.sub("-", subject)[:_LONGEST_NAME].strip("-.")
    below = f"{step.below}\n\n" if step.below else ""
    diff = files_diff(step.changes)
    stat = _bytes(visible(f"---\n{below}{diffstat(diff)}\n"))
    return PatchFile(f"{number:04}-{short}.patch", _bytes(step.message) + stat + diff)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def whole(patch: Patch, confirmed: Confirmed) -> PatchSeries:
    """A confirmed candidate as one patch."""
    step = SeriesStep(str(patch.message), (confirmed.change,), patch.message.below)
    return PatchSeries((step,), notes=patch.notes)
