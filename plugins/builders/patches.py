# SPDX-License-Identifier: GPL-2.0-or-later
"""Patches on source files: ``git apply`` applies them to copies of the files that they name, in a scratch folder.

Every line of a hunk must be there as it says, though lines may have moved. Patches come from anywhere: git refuses a
path that leaves the folder, and we refuse what is behind a link or would be no plain file. ``check_fit`` looks only at
the files that the patches name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from linesmith.analyzer.base.child import Command, run_apart
from linesmith.analyzer.base.errors import PatchRefused, TreeError
from linesmith.plugins.builders.sources import sources

_GIT = ("git", "apply", "--whitespace=nowarn")
_SECONDS = 120
# Where the content of a file comes from, which `git apply --numstat` does not tell.
_ORIGIN = re.compile(r"^(?:rename|copy) from ([^\"\n].*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Plain:
    """A plain file: its content, and whether it may be run."""

    content: bytes
    executable: bool = False


Reader = Callable[[str], Plain | None]


def changes(patches: Sequence[str], tree: Reader) -> Mapping[str, Plain | None]:
    """What every file that the patches touch becomes, applied in order; none for a file that is removed.

    ``tree`` gives the file of a path, or none; it raises ``PatchRefused`` for what is behind a link.
    """
    before: dict[str, Plain | None] = {}
    with TemporaryDirectory(prefix="linesmith-patch-") as place:
        folder = Path(place).resolve()
        for patch in patches:
            for name in _names(patch, folder):
                if name not in before:
                    before[name] = tree(name)
                    _write(folder / name, before[name])
            _git(("-",), patch, folder)
            for name in before:
                if (folder / name).is_symlink() or (folder / name).is_dir():
                    raise PatchRefused(f"the patch makes {name} something else than a regular file; leave that out")
        after = {name: _read(folder / name) for name in before}
    return {name: plain for name, plain in after.items() if plain != before[name]}


def _names(patch: str, folder: Path) -> tuple[str, ...]:
    """The files that the patch names; raises ``PatchRefused`` for text that is no patch, and for binary files."""
    listed = _git(("--numstat", "-z", "-"), patch, folder)
    rows = [row.split("\t", 2) for row in listed.split("\0") if row]
    if binary := next((name for added, _, name in rows if added == "-"), None):
        raise PatchRefused(f"the patch changes the binary file {binary}; only text can be patched")
    names = (*_ORIGIN.findall(patch), *(name for _, _, name in rows))
    for name in names:
        if any(part in ("", ".", "..", ".git") for part in name.split("/")):
            raise PatchRefused(f"the patch names {name!r}, which is not a path within the tree; leave it out")
    return names


def _git(options: tuple[str, ...], patch: str, folder: Path) -> str:
    """What ``git apply`` says of the patch in ``folder``; raises ``PatchRefused`` in git's words."""
    ours = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "LC_ALL": "C"}
    # A temporary folder may lie in a repository, whose rules are not those of the tree.
    variables = os.environ | ours | {"GIT_CEILING_DIRECTORIES": str(folder.parent)}
    content = patch.encode("utf-8", "surrogateescape")
    ended = run_apart(Command((*_GIT, *options), folder, _SECONDS, variables=variables, input=content))
    if ended.status:
        complaint = ended.errors.partition("\n")[0].removeprefix("error: ").partition(" (allow")[0]
        raise PatchRefused(f"git does not apply the patch ({complaint}); rebase it on these sources")
    return os.fsdecode(ended.output)


def _write(path: Path, plain: Plain | None) -> None:
    if plain is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(plain.content)
        path.chmod(0o755 if plain.executable else 0o644)


def _read(path: Path) -> Plain | None:
    if not path.exists():
        return None
    return Plain(path.read_bytes(), os.access(path, os.X_OK))


def check_unlinked(path: str, is_link: Callable[[str], bool]) -> None:
    """Raise ``PatchRefused`` where the path, or a folder on the way to it, is a link by what ``is_link`` says of it."""
    parts = path.split("/")
    if any(is_link("/".join(parts[:depth])) for depth in range(1, len(parts) + 1)):
        raise PatchRefused(f"the patch changes {path}, which is behind a symbolic link; patch the file itself")


def check_fit(tree: Path, patches: Sequence[str]) -> None:
    """Raise ``PatchRefused`` for patches that the sources in ``tree`` do not take, ``TreeError`` for what is no tree.

    A build judges by the same rules, so that what is refused there is refused here at once.
    """
    if not patches:
        return
    files = frozenset(sources(tree))

    def plain(path: str) -> Plain | None:
        check_unlinked(path, lambda part: part in files and (tree / part).is_symlink())
        if path not in files:
            return None
        try:
            return Plain((tree / path).read_bytes())
        except OSError as error:
            raise TreeError(f"{tree / path} cannot be read ({error.strerror})") from error

    changes(patches, plain)
