# SPDX-License-Identifier: GPL-2.0-or-later
"""A patch that somebody else wrote, as the files it changes, before and after: it is applied to copies of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from linesmith.analyzer.errors import PatchRefused
from linesmith.analyzer.model import FileChange
from linesmith.patches.child import Command, run
from linesmith.patches.scratch import scratch

_FILE = re.compile(rb"^(?:---|\+\+\+) [ab]/([^\t\r\n]+)", re.MULTILINE)
_APPLY = ("git", "apply", "--whitespace=nowarn")
_SECONDS = 60

Files = Mapping[str, bytes | None]


def incoming(patch: bytes, tree: Path, called: str) -> tuple[FileChange, ...]:
    """The changes of a patch that its user ``called`` so, whether the tree has it applied already or not.

    Raises ``PatchRefused`` where it applies neither way, or names files outside of the tree.
    """
    names = tuple(dict.fromkeys(name.decode("utf-8", "surrogateescape") for name in _FILE.findall(patch)))
    if not names or any(PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts for name in names):
        raise PatchRefused(f"{called} is no patch of files in {tree}; give one as `git format-patch` writes it")
    now = {name: _content(tree / name) for name in names}
    for options, forward in (((), True), (("--reverse",), False)):
        other = _applied(patch, now, options)
        if other is not None:
            before, after = (now, other) if forward else (other, now)
            return tuple(FileChange(name, before[name], after[name]) for name in names)
    message = f"{called}, of {', '.join(names)}, applies to {tree} neither forwards nor backwards"
    raise PatchRefused(f"{message}; name the tree it is for")


def _applied(patch: bytes, files: Files, options: tuple[str, ...]) -> Files | None:
    """The files with the patch applied in a scratch folder; ``None`` where it does not."""
    with scratch("linesmith-patch-") as made:
        folder = made / "tree"
        folder.mkdir()
        for name, content in files.items():
            if content is not None:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(content)
        (made / "patch").write_bytes(patch)
        ended = run(Command((*_APPLY, *options, str(made / "patch")), folder, _SECONDS))
        return None if ended.status else {name: _content(folder / name) for name in files}


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None
