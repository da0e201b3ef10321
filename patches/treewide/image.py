# SPDX-License-Identifier: GPL-2.0-or-later
"""A scratch image of a source tree: links to the tree, but for the files that are changed.

A folder is one link until a file in it is changed; then it becomes a folder of links. Relative includes lead to the
changed files wherever both are reached through folders of the image.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path, PurePosixPath

from linesmith.analyzer.base.errors import TreeError
from linesmith.analyzer.model import ConfigurationCheck, FileChange, PatchSeries, Refusal, RefusalCode
from linesmith.patches.build.overlay import scratch
from linesmith.patches.build.preparation import Progress
from linesmith.patches.edit.unified import edit_script
from linesmith.patches.matrix.check import names
from linesmith.patches.source.macros import LineCounter, without_comments
from linesmith.patches.source.tree import Tree, source_bytes, visible_files


class TreeImage:
    """The tree ``tree`` as it is to become, below ``root``; files are named relative to both."""

    def __init__(self, tree: Path, root: Path) -> None:
        self.tree = tree.resolve()
        self.root = root.resolve()
        self.readable = visible_files(self.tree)
        self._committed: dict[str, bytes | None] = {}
        _open_folder(self.tree, self.root)

    def make_own(self, files: Iterable[str]) -> None:
        """Put copies in place of links, so that programs can change the files."""
        for file in files:
            if file not in self._committed:
                self.put(file, self.read(file))

    def put(self, file: str, content: bytes | None) -> None:
        """Give ``file`` this content; ``None`` takes the file away."""
        place = self.root / file
        if file not in self._committed:
            self._committed[file] = source_bytes(self.tree, file)
        self._open(PurePosixPath(file).parent)
        place.unlink(missing_ok=True)
        if content is not None:
            place.write_bytes(content)

    def read(self, file: str) -> bytes:
        """The content of ``file`` as it is now; raises ``OSError`` for what is no file of the tree.

        No link of the tree, and none that a program has put into the image, leads elsewhere.
        """
        return _content(self._place(file), file)

    def original(self, file: str) -> bytes:
        """The content of ``file`` in the tree; raises ``OSError`` likewise."""
        return _content(self.tree, file)

    def has(self, file: str) -> bool:
        """Whether there is a file of this name that can be read."""
        return source_bytes(self._place(file), file) is not None

    def _place(self, file: str) -> Path:
        """Where the file lies: what may have changed is in the image, all else is in the tree."""
        return self.root if file in self._committed else self.tree

    def commit(self) -> tuple[FileChange, ...]:
        """What has changed since the last commit, by name of file."""
        changes = tuple(self._changes())
        self._committed.update({change.file: change.after for change in changes})
        return changes

    def _changes(self) -> Iterator[FileChange]:
        for file, before in sorted(self._committed.items()):
            after = source_bytes(self.root, file)
            if after != before:
                yield FileChange(file, before, after)

    def _open(self, folder: PurePosixPath) -> None:
        """Make each folder on the way to ``folder`` one of links."""
        for part in (*reversed(folder.parents), folder):
            place = self.root / part
            if place.is_symlink():
                place.unlink()
                place.mkdir()
                _open_folder(self.tree / part, place)
            place.mkdir(exist_ok=True)


@contextmanager
def tree_image(tree: Path) -> Iterator[TreeImage]:
    """An image that lasts as long as the block; raises ``TreeError`` where ``tree`` cannot be read."""
    if not tree.is_dir():
        raise TreeError(f"{tree} is no directory; --tree takes the root of the sources")
    with scratch() as made:
        yield TreeImage(tree, made / "tree")


def _content(root: Path, file: str) -> bytes:
    found = source_bytes(root, file)
    if found is None:
        raise FileNotFoundError(errno.ENOENT, "it is no file of the tree, or larger than 32 MiB", file)
    return found


def _open_folder(origin: Path, place: Path) -> None:
    place.mkdir(exist_ok=True)
    with os.scandir(origin) as found:
        for entry in found:
            (place / entry.name).symlink_to(entry.path)


# Every place of a tree that names an identifier in code, whatever the configuration or the machine.

_SUFFIXES = (".c", ".h", ".S", ".inc", ".hh", ".def", ".lds", ".cc", ".cpp")
_SKIPPED = frozenset((".git", ".svn", ".hg", "node_modules", "__pycache__"))
_MOST_BYTES = 32 << 20
# What is shown of a line.
_MOST_OF_A_LINE = 1 << 12
_TELL_EVERY = 10_000
_DEFINE = re.compile(rb"^[ \t]*\#[ \t]*define[ \t]+(\w+)(?:\\\r?\n|[^\n])*", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Mention:
    """One place of a word; ``offset`` is its first byte in ``file``, ``line`` counts from 1, ``column`` from 0.

    ``text`` is the source line without the blanks at its ends. ``macro`` names the macro whose definition it is in.
    """

    file: str
    line: int
    column: int
    offset: int
    text: str
    macro: str = ""

    @property
    def place(self) -> str:
        """``file:line``."""
        return f"{self.file}:{self.line}"


def mentions(tree: Path, word: str, progress: Progress) -> tuple[Mention, ...]:
    """The places of ``word`` outside of comments and strings, by file; links and build results are not entered."""
    return mentions_of(tree, (word,), progress)[word]


def mentions_of(tree: Path, words: Collection[str], progress: Progress) -> dict[str, tuple[Mention, ...]]:
    """The places of each word, as ``mentions`` gives them, found in one reading of the tree."""
    found: dict[str, list[Mention]] = {word: [] for word in words}
    for seen, file in enumerate(source_files(tree), 1):
        if seen % _TELL_EVERY == 0:
            progress(f"looking for {', '.join(words)}: {seen} files read")
        source = read_source(tree / file)
        for word in words:
            if word.encode() in source:
                found[word] += mentioned(file, source, word)
    return {word: tuple(places) for word, places in found.items()}


def mentioned(file: str, source: bytes, word: str) -> Iterator[Mention]:
    """The places of ``word`` in the code of one file."""
    code = without_comments(source)
    lines, macros = LineCounter(source), _Macros(code)
    for match in re.finditer(rb"\b" + re.escape(word.encode()) + rb"\b", code):
        start = source.rfind(b"\n", 0, match.start()) + 1
        end = source.find(b"\n", match.start())
        text = source[start : end if end >= 0 else len(source)][:_MOST_OF_A_LINE].decode("utf-8", "replace").strip()
        number = lines.number(start)
        yield Mention(file, number, match.start() - start, match.start(), text, macros.around(match.start()))


class _Macros:
    """The macros that a text defines; asked for places in rising order, it reads them once."""

    def __init__(self, code: bytes) -> None:
        self._coming = _DEFINE.finditer(code)
        self._last = next(self._coming, None)

    def around(self, offset: int) -> str:
        """The macro whose definition is at the place; empty where none is."""
        while self._last is not None and self._last.end() <= offset:
            self._last = next(self._coming, None)
        return self._last[1].decode() if self._last is not None and self._last.start() <= offset else ""


def source_files(tree: Path) -> Iterator[str]:
    """C, header and assembly files below ``tree``, relative to it, in the order of their names."""
    for place, folders, files in os.walk(tree):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        for name in sorted(files):
            if name.endswith(_SUFFIXES):
                yield os.path.relpath(os.path.join(place, name), tree)  # noqa: PTH118 - a path per file of 80,000


def unread_files(tree: Path) -> Iterator[Refusal]:
    """The files below ``tree`` that are left out because of their size."""
    for file in source_files(tree):
        status = (tree / file).lstat()
        if stat.S_ISREG(status.st_mode) and status.st_size > _MOST_BYTES:
            reason = f"this file is larger than {_MOST_BYTES >> 20} MiB and was not read"
            yield Refusal(RefusalCode.NOT_PARSED, f"{file}:1", reason, "change it by hand")


def read_source(path: Path) -> bytes:
    """The bytes of a regular file; none of what is a link, cannot be read, or is no source for its size."""
    try:
        # A pipe is opened without waiting for somebody who writes into it.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_size > _MOST_BYTES:
                return b""
            return file.read()
    except OSError:
        return b""


# Lines that ``spatch`` broke, as a person breaks them: tabs as the neighbours have them, arguments filled up.

WIDTH = 80
_TAB = 8
_LEADING = re.compile(rb"[ \t]*")


def tidy(before: bytes, after: bytes) -> bytes:
    """``after`` with the lines that are not in ``before`` laid out anew; all others stay."""
    script = edit_script(before.splitlines(keepends=True), after.splitlines(keepends=True))
    lines: list[bytes] = []
    waiting = False
    for changed, group in groupby(script, key=lambda line: line.sign != b" "):
        hunk = list(group)
        if changed:
            old = [line.text for line in hunk if line.sign == b"-"]
            new = [line.text for line in hunk if line.sign == b"+"]
            lines += _laid_out(old, new)
            waiting = len(new) > len(old) > 0
            continue
        kept = [line.text for line in hunk]
        if waiting and lines and _belong(lines[-1], kept[0], beside=True):
            lines[-1] = _joined(lines[-1], kept.pop(0))
        lines += kept
    return b"".join(lines)


def _laid_out(old: Sequence[bytes], new: Sequence[bytes]) -> list[bytes]:
    tabs = any(line.startswith(b"\t") for line in old)
    lines = [_indented(line) for line in new] if tabs else list(new)
    return list(_filled(lines, one=len(old) == 1)) if len(new) > len(old) > 0 else lines


def _indented(line: bytes) -> bytes:
    """The line with tabs in place of eight columns each."""
    text = line.lstrip(b" \t")
    columns = _columns(line[: len(line) - len(text)])
    return b"\t" * (columns // _TAB) + b" " * (columns % _TAB) + text


def _filled(lines: Sequence[bytes], *, one: bool) -> Iterator[bytes]:
    """Arguments that go on one line put there; ``one`` tells that all come from one line, so any break may go."""
    current, depth = lines[0], 0
    for line in lines[1:]:
        inside = depth + _opened(current) > 0
        if inside and _belong(current, line, beside=not one):
            current = _joined(current, line)
            continue
        depth += _opened(current)
        yield current
        current = line
    yield current


def _belong(line: bytes, following: bytes, *, beside: bool) -> bool:
    """Whether both fit on one line; ``beside`` asks that they begin in the same column."""
    if not line.rstrip().endswith(b",") or not following.strip():
        return False
    aligned = _columns(_LEADING.match(line)[0]) == _columns(_LEADING.match(following)[0])  # type: ignore[index]
    return (aligned or not beside) and _columns(_joined(line, following).rstrip(b"\r\n")) <= WIDTH


def _joined(line: bytes, following: bytes) -> bytes:
    return line.rstrip() + b" " + following.lstrip(b" \t")


def _opened(line: bytes) -> int:
    return line.count(b"(") - line.count(b")")


def _columns(text: bytes) -> int:
    return len(text.expandtabs(_TAB))


# What the series that change a whole tree have in common: all they change, where they are compiled, what breaks.

# Configurations of a kernel that are compiled where the user names none.
_USUAL = ("tree", "arm64")
# Warnings that tell of code that was given another record; they are errors to newer compilers.
_WRONG_TYPE = ("-Wincompatible-pointer-types", "-Wint-conversion")


def from_first_to_last(series: PatchSeries) -> tuple[FileChange, ...]:
    """Every file that the series changes, once: as it is in the tree and as it is after the last step."""
    files: dict[str, FileChange] = {}
    for change in (change for step in series.steps for change in step.changes):
        first = files.get(change.file, change)
        files[change.file] = FileChange(change.file, first.before, change.after)
    return tuple(files.values())


def usual_configurations(tree: Tree, file: str) -> tuple[str, ...]:
    """The tree's own configuration of ``file``, and that of another machine where the tree has one."""
    known = names(tree, file)
    return tuple(name for name in _USUAL if name in known) or known[:1]


def never_compiled(series: PatchSeries, checks: Sequence[ConfigurationCheck]) -> tuple[str, ...]:
    """The changed units that no configuration compiles, sorted."""
    compiled = {user.unit for check in checks for user in check.users}
    changed = {change.file for step in series.steps for change in step.changes if change.file.endswith(".c")}
    return tuple(sorted(changed - compiled))


def broken(checks: Sequence[ConfigurationCheck]) -> Iterator[Refusal]:
    """A refusal for every unit that does not compile any more, or is given another type than it takes."""
    for check in checks:
        for user in check.users:
            wrong = (one for one in user.warnings if any(kind in one for kind in _WRONG_TYPE))
            said = user.failed or next(wrong, "")
            if said:
                reason = f"it does not compile any more under {check.title}: {said}"
                lift = "run the semantic patch (--rules) and complete it by hand"
                yield Refusal(RefusalCode.NOT_COMPILED, f"{user.unit}:1", reason, lift)


def notes(checks: Sequence[ConfigurationCheck]) -> tuple[str, ...]:
    """What is to be said of configurations under which nothing was compiled, or not all in time."""
    return (
        *(f"under {one.title} nothing was compiled: {one.failed}" for one in checks if one.failed),
        *(f"under {one.title}: {one.left_out[-1]}" for one in checks if one.unjudged and not one.failed),
    )
