# SPDX-License-Identifier: GPL-2.0-or-later
"""Every place of a tree that names an identifier in code, whatever the configuration or the machine."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from linesmith.analyzer.base.errors import DeclarationNotFound, EditRefused
from linesmith.analyzer.layouts.single_moves import is_user_abi
from linesmith.analyzer.model import Refusal, RefusalCode
from linesmith.patches.build.kbuild import is_kernel
from linesmith.patches.build.preparation import Progress
from linesmith.patches.source.declaration import Declared
from linesmith.patches.source.macros import LineCounter, without_comments
from linesmith.patches.source.records import records_named
from linesmith.patches.treewide.syntax import member_declarations

_SUFFIXES = (".c", ".h", ".S", ".inc", ".hh", ".def", ".lds", ".cc", ".cpp")
_SKIPPED = frozenset((".git", ".svn", ".hg", "node_modules", "__pycache__"))
_MOST_BYTES = 32 << 20
# What is shown of a line.
_MOST_OF_A_LINE = 1 << 12
# Files between two reports of progress.
_REPORT_EVERY = 10_000
# Bytes around a word that are read to tell what it is.
_CONTEXT = 400
_ACCESS = re.compile(rb"(?:->|(?<=[\w)\]])\s*\.)\s*\Z")
_DEFINE = re.compile(rb"^[ \t]*\#[ \t]*define[ \t]+(\w+)(?:\\\r?\n|[^\n])*", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Mention:
    """One place of a word; ``offset`` is its first byte in ``file``, ``line`` counts from 1, ``column`` from 0.

    ``text`` is the source line without the blanks at its ends. ``macro`` names the macro whose definition it is in.
    ``ahead`` and ``behind`` are some of the source around the word.
    """

    file: str
    line: int
    column: int
    offset: int
    text: str
    macro: str = ""
    ahead: bytes = field(default=b"", compare=False)
    behind: bytes = field(default=b"", compare=False)

    @property
    def place(self) -> str:
        """``file:line``."""
        return f"{self.file}:{self.line}"

    @property
    def is_access(self) -> bool:
        """Whether the word follows ``->`` or a dot behind an expression."""
        return _ACCESS.search(self.ahead) is not None

    @property
    def statement(self) -> bytes:
        """The text around the word up to the nearest semicolons."""
        return self.ahead.split(b";")[-1] + self.behind.split(b";")[0]


def mentions(tree: Path, word: str, progress: Progress) -> tuple[Mention, ...]:
    """The places of ``word`` outside of comments and strings, by file; links and build results are not entered."""
    files = files_naming(tree, (word,), progress)[word]
    return tuple(one for file in files for one in mentions_in(file, read_source(tree / file), word))


def mentions_in(file: str, source: bytes, word: str) -> Iterator[Mention]:
    """The places of ``word`` in the code of one file."""
    code = without_comments(source)
    lines = LineCounter(source)
    definitions = _DEFINE.finditer(code)
    definition = next(definitions, None)
    for match in re.finditer(rb"\b" + re.escape(word.encode()) + rb"\b", code):
        at, behind = match.span()
        while definition is not None and definition.end() <= at:
            definition = next(definitions, None)
        macro = definition[1].decode() if definition is not None and definition.start() <= at else ""
        start = source.rfind(b"\n", 0, at) + 1
        end = source.find(b"\n", at)
        text = source[start : end if end >= 0 else len(source)][:_MOST_OF_A_LINE].decode("utf-8", "replace").strip()
        around = source[max(0, at - _CONTEXT) : at], source[behind : behind + _CONTEXT]
        yield Mention(file, lines.number(start), at - start, at, text, macro, *around)


def files_naming(tree: Path, words: Sequence[str], progress: Progress) -> dict[str, list[str]]:
    """The files that have each word, be it in a comment, from one reading of the tree."""
    patterns = {word: re.compile(rb"\b" + re.escape(word.encode()) + rb"\b") for word in words}
    found: dict[str, list[str]] = {word: [] for word in words}
    for count, file in enumerate(source_files(tree), 1):
        if count % _REPORT_EVERY == 0:
            progress(f"looking for {', '.join(words)}: {count} files read")
        source = read_source(tree / file)
        for word, pattern in patterns.items():
            if word.encode() in source and pattern.search(source):
                found[word].append(file)
    return found


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


# Where a record is declared, and what it is called.

# Programs of a kernel tree that are built by themselves; they share headers with the rest only by chance.
_APART = ("tools/", "samples/", "scripts/", "Documentation/", "usr/", "rust/")
_NAME = rb"([A-Za-z_]\w*)"
_BEHIND = re.compile(rb"\s*" + _NAME + rb"\s*;")
_TYPEDEF = re.compile(rb"\btypedef\s+\Z")


def other_programs(tree: Path) -> tuple[str, ...]:
    """The folders of the tree whose programs are built apart from the rest."""
    return _APART if is_kernel(tree) else ()


def declared_with(
    tree: Path, record: str, member: str, naming: dict[str, list[str]]
) -> tuple[Declared, tuple[Refusal, ...]]:
    """The record with this tag or typedef that declares ``member``, and copies of it in other programs.

    ``naming`` are the files that name both. Raises ``DeclarationNotFound``; ``EditRefused`` where several records fit
    or the record is shared with user space.
    """
    found = [
        one
        for one in declared_in(tree, naming[member], record, naming[record])
        if any(member in names for _, names, _ in member_declarations(one.source, one.record))
    ]
    if not found:
        remedy = "check both names; the record may be named by its tag or a typedef"
        raise DeclarationNotFound(f"{tree} declares no record {record} with a member {member}; {remedy}")
    near = [one for one in found if not one.file.startswith(other_programs(tree))] or found
    # What a unit declares for itself is no concern of others.
    near = [one for one in near if not one.file.endswith(".c")] or near
    own = near[0]
    if len(near) > 1:
        places = ", ".join(one.place for one in near)
        reason = f"{own.record.title} with this member is declared {len(near)} times ({places})"
        lift = "name with --tree a folder that holds one of them and its users"
        raise EditRefused(Refusal(RefusalCode.AMBIGUOUS, own.place, reason, lift))
    if is_user_abi(own.file):
        reason = f"{record} is shared with user space, so its members must stay"
        raise EditRefused(Refusal(RefusalCode.USER_ABI, own.place, reason))
    lift = "change it by hand where it is compiled with files that were changed"
    copies = ((one, f"another program has a {one.record.title} with this member") for one in found if one is not own)
    return own, tuple(Refusal(RefusalCode.OTHER_PROGRAM, one.place, reason, lift) for one, reason in copies)


def declared_in(tree: Path, files: Iterable[str], name: str, naming: Iterable[str]) -> Iterator[Declared]:
    """The records of ``files`` with this tag or typedef; typedefs of a tag may be in any file of ``naming``."""
    pattern = re.compile(rb"\btypedef\s+struct\s+" + _NAME + rb"\s+" + re.escape(name.encode()) + rb"\s*;")
    tags = (tag.decode() for file in naming for tag in pattern.findall(read_source(tree / file)))
    names = dict.fromkeys((name, *tags))
    for file in files:
        source = read_source(tree / file)
        yield from (Declared(file, source, record, 1.0) for one in names for record in records_named(source, one))


def titles_of(declared: Declared, tree: Path, naming: Iterable[str]) -> tuple[str, ...]:
    """The record as C code may name it, its title first: ``struct _queue``, ``queue_t``.

    ``naming`` are the files that may have typedefs.
    """
    record = declared.record
    if record.typedef:
        # A record may have a tag besides its typedef.
        head = declared.source[record.start : record.opening].decode("utf-8", "replace").split()
        return (record.title, *([" ".join(head)] if len(head) > 1 else []))
    code = without_comments(declared.source)
    own = _BEHIND.match(code, record.closing + 1) if _TYPEDEF.search(code, 0, record.start) else None
    words = (record.kind.encode(), re.escape(record.name.encode()), _NAME)
    pattern = re.compile(rb"\btypedef\s+%s\s+%s\s+%s\s*;" % words)
    others = (name for file in naming for name in pattern.findall(read_source(tree / file)))
    return tuple(dict.fromkeys((record.title, *(one.decode() for one in (*(own.groups() if own else ()), *others)))))
