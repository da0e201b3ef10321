# SPDX-License-Identifier: GPL-2.0-or-later
"""What a tree's own ``scripts/checkpatch.pl --strict`` says of patches, but for the sign-off that a person adds."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path

from linesmith.analyzer.errors import LinesmithError
from linesmith.patches.child import Command, run
from linesmith.patches.confinement import Confinement
from linesmith.patches.scratch import scratch
from linesmith.patches.series.patch_file import PatchFile
from linesmith.patches.visible_files import visible

_SCRIPT = Path("scripts") / "checkpatch.pl"
_OPTIONS = ("--strict", "--terse", "--no-summary", "--show-types", "--emacs")
_SECONDS = 120
_SIGN_OFF = re.compile(r"(ERROR|WARNING):(MISSING_SIGN_OFF|NO_AUTHOR_SIGN_OFF)\b")
# The name is that of the patch, which may have any character.
_COMPLAINT = re.compile(r".*?:(\d+): ((?:ERROR|WARNING|CHECK):.*)")


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
            ended = run(Command(argv, folder, _SECONDS, Confinement(visible(tree), (folder,))))
        except LinesmithError as error:
            yield 1, str(error)
            return
        found = [_COMPLAINT.fullmatch(line) for line in ended.output.splitlines() if not _SIGN_OFF.search(line)]
        yield from ((int(one[1]), one[2]) for one in found if one)
