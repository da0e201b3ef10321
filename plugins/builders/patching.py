# SPDX-License-Identifier: GPL-2.0-or-later
"""Applies unified diffs in memory: every line of a hunk must be there as it says, though lines may have moved."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from linesmith.analyzer.errors import PatchRefused
from linesmith.plugins.builders.unified import FileDiff, Hunk, read


@dataclass(frozen=True, slots=True)
class Plain:
    """A plain file: its content, and whether it may be run."""

    content: bytes
    executable: bool = False


Reader = Callable[[str], Plain | None]


def changes(patches: Sequence[str], tree: Reader) -> Mapping[str, Plain | None]:
    """What every file that the patches touch becomes, applied in order; none for a file that is removed.

    ``tree`` gives the file of a path, or none; it raises ``PatchRefused`` for what is no plain file.
    """
    changed: dict[str, Plain | None] = {}
    for patch in patches:
        for diff in read(patch):
            _apply(diff, changed, tree)
    return changed


def check_unlinked(path: str, is_link: Callable[[str], bool]) -> None:
    """Raise ``PatchRefused`` where the path, or a folder on the way to it, is a link by what ``is_link`` says of it."""
    parts = path.split("/")
    if any(is_link("/".join(parts[:depth])) for depth in range(1, len(parts) + 1)):
        raise PatchRefused(f"the patch changes {path}, which is behind a symbolic link; patch the file itself")


def _apply(diff: FileDiff, changed: dict[str, Plain | None], tree: Reader) -> None:
    def current(path: str) -> Plain | None:
        return changed[path] if path in changed else tree(path)

    old = _original(diff, current)
    before = current(old) if old else None
    if old and before is None:
        raise PatchRefused(f"the patch changes {old}, which the tree does not have; give the tree that it is for")
    if diff.new and diff.new != old and current(diff.new) is not None:
        raise PatchRefused(f"the patch makes {diff.new}, which the tree has already; is it applied there?")
    content = _patched(before.content if before else b"", diff)
    if diff.new is None and content:
        raise PatchRefused(f"the patch removes {old}, which has more lines than it names; make the patch again")
    if old and old != diff.new and not diff.stays:
        changed[old] = None
    if diff.new:
        kept = before is not None and before.executable
        changed[diff.new] = Plain(content, kept if diff.executable is None else diff.executable)


def _original(diff: FileDiff, current: Reader) -> str | None:
    """The file that the diff starts from: ``x.orig`` as the old name often stands for the new name's own file."""
    if diff.old and diff.new and diff.old != diff.new and not diff.renamed and current(diff.new) is not None:
        return diff.new
    return diff.old


def _patched(content: bytes, diff: FileDiff) -> bytes:
    if not diff.hunks:
        # A file that is removed without a hunk has to be empty.
        return content
    lines = content.decode("utf-8", "surrogateescape").split("\n")
    lines = [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    result: list[str] = []
    used = moved = 0
    for number, hunk in enumerate(diff.hunks, 1):
        expected = hunk.start + moved - (1 if hunk.before else 0)
        place = _place(lines, hunk, expected, used)
        if place is None:
            raise PatchRefused(
                f"hunk {number} of {diff.name} (line {hunk.start}) does not apply: its lines are not there; "
                "make the patch for this state of the tree"
            )
        result += lines[used:place]
        result += hunk.after
        used, moved = place + len(hunk.before), moved + place - expected
    return "".join(result + lines[used:]).encode("utf-8", "surrogateescape")


def _place(lines: Sequence[str], hunk: Hunk, expected: int, first: int) -> int | None:
    """Where the hunk's lines stand, nearest to where they are expected, not before ``first``.

    As for git, a hunk of a file's first lines begins the file, one without context behind it ends the file; one
    without any context stands just where it says.
    """
    last = len(lines) - len(hunk.before)
    places: Iterable[int] = range(first, last + 1)
    if not (hunk.leading or hunk.trailing):
        places = (expected,)
    elif hunk.start <= 1:
        places = (0,) if hunk.trailing or last == 0 else ()
    elif not hunk.trailing:
        places = (last,)
    for place in sorted(places, key=lambda place: abs(place - expected)):
        if first <= place <= last and tuple(lines[place : place + len(hunk.before)]) == hunk.before:
            return place
    return None
