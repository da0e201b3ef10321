# SPDX-License-Identifier: GPL-2.0-or-later
"""What a tree's own ``scripts/checkpatch.pl --strict`` says of patches, but for the sign-off that a person adds."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from linesmith.analyzer.errors import LinesmithError
from linesmith.patches.child import Command, run
from linesmith.patches.series.patch_file import PatchFile

_SCRIPT = Path("scripts") / "checkpatch.pl"
_OPTIONS = ("--strict", "--terse", "--no-summary", "--show-types", "--showfile")
_SECONDS = 120
_SIGN_OFF = re.compile(r"(ERROR|WARNING):(MISSING_SIGN_OFF|NO_AUTHOR_SIGN_OFF)\b")
_COMPLAINT = re.compile(r":?(\S*: (?:ERROR|WARNING|CHECK):.*)")


def complaints(tree: Path, files: Iterable[PatchFile]) -> tuple[str, ...]:
    """What is said of each patch, as ``name: place: text``; nothing where the tree has no such script, or no perl."""
    if not (tree / _SCRIPT).is_file() or shutil.which("perl") is None:
        return ()
    return tuple(said for file in files if b"\n+++ " in file.content for said in _said(tree.resolve(), file))


def _said(tree: Path, file: PatchFile) -> Iterator[str]:
    """The script keeps notes where it runs, so it runs in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="linesmith-checkpatch-") as folder:
        (Path(folder) / file.name).write_bytes(file.content)
        argv = ("perl", str(tree / _SCRIPT), f"--root={tree}", *_OPTIONS, file.name)
        try:
            ended = run(Command(argv, Path(folder), _SECONDS))
        except LinesmithError as error:
            yield f"{file.name}: {error}"
            return
        found = [_COMPLAINT.fullmatch(line) for line in ended.output.splitlines() if not _SIGN_OFF.search(line)]
        yield from (f"{file.name}: {one[1]}" for one in found if one)
