# SPDX-License-Identifier: GPL-2.0-or-later
"""Unified diffs, read: which files they change, and the lines of each hunk. See git-apply(1) and diffutils' manual.

Patches come from anywhere: a path that leaves the tree, and a file that is no plain one, are refused. They are applied
in memory: every line of a hunk must be there as it says, though lines may have moved. ``check_fit`` looks only at the
files that they name.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.base.errors import PatchRefused, TreeError
from linesmith.plugins.builders.sources import sources

_RANGE = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))? @@")
_BOTH_NAMES = re.compile(r"diff --git (a/(?P<name>.+)) b/(?P=name)$")
_GIT = "diff --git "
_PLAIN = {"100644": False, "100755": True}
_NOTHING = "/dev/null"


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines ``before``, expected from line ``start`` on (counted from 1), become ``after``.

    Each line has its end of line, unless the file ends without one. ``leading`` and ``trailing`` lines are context.
    """

    start: int
    before: tuple[str, ...]
    after: tuple[str, ...]
    leading: int
    trailing: int


@dataclass(frozen=True, slots=True)
class FileDiff:
    """What becomes of one file; ``old`` is none where it is new, ``new`` where it is removed.

    ``renamed`` says that the patch means two names, ``stays`` that the file of the old name stays (a copy);
    ``executable`` is none where the patch does not tell.
    """

    old: str | None
    new: str | None
    hunks: tuple[Hunk, ...] = ()
    executable: bool | None = None
    renamed: bool = False
    stays: bool = False

    @property
    def name(self) -> str:
        """The file, for messages."""
        return self.new or self.old or "?"


def read(patch: str) -> tuple[FileDiff, ...]:
    """Every file diff of the text, in order; what stands around them is passed over. Raises ``PatchRefused``."""
    diffs = tuple(_diffs(patch.removesuffix("\n").split("\n")))
    if not diffs:
        raise PatchRefused("the patch holds no unified diff; give the output of `git diff` or `diff -u`")
    return diffs


def _diffs(lines: Sequence[str]) -> Iterator[FileDiff]:
    head: list[str] = []
    place = 0
    while place < len(lines):
        line = lines[place]
        if line.startswith("--- ") and place + 1 < len(lines) and lines[place + 1].startswith("+++ "):
            names = _name(line[4:]), _name(lines[place + 1][4:])
            hunks, place = _hunks(lines, place + 2, names[1] or names[0] or _NOTHING)
            yield _diff(head, names, hunks)
            head = []
            continue
        if line.startswith(_GIT):
            yield from _without_hunks(head)
            head = []
        head.append(line)
        place += 1
    yield from _without_hunks(head)


def _diff(head: Sequence[str], names: tuple[str | None, str | None], hunks: tuple[Hunk, ...]) -> FileDiff:
    headers = _headers(head)
    old, new = names
    if old is None and new is None:
        raise PatchRefused(f"the patch changes {_NOTHING}; it must name a file of the tree")
    return FileDiff(old, new, hunks, _executable(headers, new or old or ""), _renamed(headers), "copy from" in headers)


def _without_hunks(head: Sequence[str]) -> Iterator[FileDiff]:
    """The diff of a file that only got another name or mode, or of an empty one."""
    headers = _headers(head)
    if "binary" in headers:
        raise PatchRefused(f"the patch changes the binary file {headers['binary']}; only text can be patched")
    both = _BOTH_NAMES.match(head[0]) if headers else None
    name = _inside(both["name"]) if both else ""
    old = headers.get("rename from") or headers.get("copy from") or name
    new = headers.get("rename to") or headers.get("copy to") or name
    if not headers.keys() & {"rename from", "copy from", "new file mode", "deleted file mode", "new mode"}:
        return
    if not old or not new:
        raise PatchRefused(f"the patch does not say which file it changes: {head[0]}")
    made, removed = "new file mode" in headers, "deleted file mode" in headers
    yield FileDiff(
        None if made else _inside(old),
        None if removed else _inside(new),
        executable=_executable(headers, new),
        renamed=_renamed(headers),
        stays="copy from" in headers,
    )


def _headers(head: Sequence[str]) -> dict[str, str]:
    """What git says of a file before its hunks: the words of each line and the value behind them."""
    if not head or not head[0].startswith(_GIT):
        return {}
    headers = {"git": head[0]}
    for line in head[1:]:
        for word in ("rename from", "rename to", "copy from", "copy to"):
            if line.startswith(f"{word} "):
                headers[word] = _inside(_unquoted(line[len(word) + 1 :]))
        for word in ("new file mode", "deleted file mode", "new mode"):
            if line.startswith(f"{word} "):
                headers[word] = line[len(word) + 1 :].strip()
        if line.startswith(("GIT binary patch", "Binary files ")):
            headers["binary"] = head[0].removeprefix(_GIT)
    return headers


def _renamed(headers: dict[str, str]) -> bool:
    return "rename to" in headers or "copy to" in headers


def _executable(headers: dict[str, str], name: str) -> bool | None:
    modes = [headers[word] for word in ("new file mode", "new mode", "deleted file mode") if word in headers]
    if any(mode not in _PLAIN for mode in modes):
        raise PatchRefused(
            f"the patch makes {name} something other than a regular file; only regular files can be patched"
        )
    return _PLAIN[modes[0]] if modes else None


def _hunks(lines: Sequence[str], place: int, name: str) -> tuple[tuple[Hunk, ...], int]:
    hunks: list[Hunk] = []
    while place < len(lines) and (head := _RANGE.match(lines[place])):
        hunk, place = _hunk(lines, place + 1, head)
        if hunk is None:
            raise PatchRefused(f"hunk {len(hunks) + 1} of {name} is damaged; create the patch again")
        hunks.append(hunk)
    return tuple(hunks), place


def _hunk(lines: Sequence[str], place: int, head: re.Match[str]) -> tuple[Hunk | None, int]:
    """The hunk whose lines begin at ``place``, and where it ends; none if they are not those that its head counts."""
    olds, news = (1 if count is None else int(count) for count in (head[2], head[3]))
    before: list[str] = []
    after: list[str] = []
    kinds = previous = ""
    while place < len(lines):
        # Mail programs cut the blank of an empty line.
        kind, text = lines[place][:1] or " ", lines[place][1:]
        if kind == "\\":
            # The line before, of that kind, is the file's last and has no end of line.
            for side in (before if previous in " -" else [], after if previous in " +" else []):
                if side:
                    side[-1] = side[-1].removesuffix("\n")
        elif len(before) >= olds and len(after) >= news:
            break
        else:
            before += [f"{text}\n"] * (kind in " -")
            after += [f"{text}\n"] * (kind in " +")
            kinds += kind
        if kind not in " -+\\" or len(before) > olds or len(after) > news:
            return None, place
        previous = kind
        place += 1
    if (len(before), len(after)) != (olds, news):
        return None, place
    leading, trailing = len(kinds) - len(kinds.lstrip()), len(kinds) - len(kinds.rstrip())
    return Hunk(int(head[1]), tuple(before), tuple(after), leading, trailing), place


def _name(text: str) -> str | None:
    """The file of a ``---`` or ``+++`` line, without its first folder (``-p1``); none for no file."""
    name = _unquoted(text.partition("\t")[0].rstrip("\r"))
    if name == _NOTHING:
        return None
    if name.startswith("/"):
        raise PatchRefused(f"the patch names {name}, which is not in the tree; make it relative to the tree")
    return _inside(name.partition("/")[2])


def _inside(name: str) -> str:
    """The path, which stays within the tree."""
    if not name or "\0" in name or any(part in ("", ".", "..", ".git") for part in name.split("/")):
        raise PatchRefused(f"the patch names {name!r}, which is not a path within the tree; write a/PATH and b/PATH")
    return name


def _unquoted(name: str) -> str:
    """The name that git wrote as a string of C, because of unusual characters; any other as it is."""
    if not (name.startswith('"') and name.endswith('"')):
        return name
    try:
        return os.fsdecode(ast.literal_eval(f"b{name}"))
    except (SyntaxError, ValueError, TypeError) as error:
        raise PatchRefused(f"the patch has a damaged name: {name}") from error


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

    old = diff.old
    if old and diff.new and old != diff.new and not diff.renamed and current(diff.new) is not None:
        old = diff.new  # x.orig as the old name often stands for the new name's own file
    before = current(old) if old else None
    if old and before is None:
        raise PatchRefused(f"the patch changes {old}, which the tree does not have; give the tree that it applies to")
    if diff.new and diff.new != old and current(diff.new) is not None:
        raise PatchRefused(f"the patch creates {diff.new}, which already exists; is the patch applied?")
    content = _patched(before.content if before else b"", diff)
    if diff.new is None and content:
        raise PatchRefused(f"the patch removes {old}, which has more lines than it lists; create the patch again")
    if old and old != diff.new and not diff.stays:
        changed[old] = None
    if diff.new:
        was_executable = before is not None and before.executable
        changed[diff.new] = Plain(content, was_executable if diff.executable is None else diff.executable)


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
                f"hunk {number} of {diff.name} (line {hunk.start}) does not apply: the tree has other lines there;"
                " rebase the patch"
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
