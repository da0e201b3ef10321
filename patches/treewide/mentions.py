# SPDX-License-Identifier: GPL-2.0-or-later
"""Every place of a tree that names an identifier in code, whatever the configuration or the machine."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.base.errors import DeclarationNotFound, EditRefused
from linesmith.analyzer.layouts.single_moves import is_user_abi
from linesmith.analyzer.model import Refusal, RefusalCode
from linesmith.patches.build.kbuild import is_kernel
from linesmith.patches.build.preparation import Progress
from linesmith.patches.source.declaration import Declared
from linesmith.patches.source.macros import LineCounter, without_comments
from linesmith.patches.source.records import RecordSpan, records_named
from linesmith.patches.treewide.syntax import member_declarations

_SUFFIXES = (".c", ".h", ".S", ".inc", ".hh", ".def", ".lds", ".cc", ".cpp")
_SKIPPED = frozenset((".git", ".svn", ".hg", "node_modules", "__pycache__"))
_MOST_BYTES = 32 << 20
# What is shown of a line.
_MOST_OF_A_LINE = 1 << 12
# Files between two reports of progress.
_REPORT_EVERY = 10_000
# Bytes in front of a word that are read to tell what it is.
_CONTEXT = 400
_ACCESS = re.compile(rb"(?:->|(?<=[\w)\]])\s*\.)\s*\Z")
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

    def ahead(self, source: bytes) -> bytes:
        """Some of ``source``, the text of the file, right in front of the word."""
        return source[max(0, self.offset - _CONTEXT) : self.offset]

    def is_access(self, source: bytes) -> bool:
        """Whether the word follows ``->`` or a dot behind an expression."""
        return _ACCESS.search(self.ahead(source)) is not None


def mentions(tree: Path, word: str, progress: Progress) -> tuple[Mention, ...]:
    """The places of ``word`` outside of comments and strings, by file; links and build results are not entered."""
    return mentions_of(tree, (word,), progress)[word]


def mentions_of(tree: Path, words: Collection[str], progress: Progress) -> dict[str, tuple[Mention, ...]]:
    """The places of each word, as ``mentions`` gives them, from one reading of the tree."""
    places: dict[str, list[Mention]] = {word: [] for word in words}
    for count, file in enumerate(source_files(tree), 1):
        if count % _REPORT_EVERY == 0:
            progress(f"looking for {', '.join(words)}: {count} files read")
        source = read_source(tree / file)
        for word in words:
            if word.encode() in source:
                places[word] += mentions_in(file, source, word)
    return {word: tuple(group) for word, group in places.items()}


def mentions_in(file: str, source: bytes, word: str) -> Iterator[Mention]:
    """The places of ``word`` in the code of one file."""
    code = without_comments(source)
    lines = LineCounter(source)
    definitions = _DEFINE.finditer(code)
    definition = next(definitions, None)
    for match in re.finditer(rb"\b" + re.escape(word.encode()) + rb"\b", code):
        at = match.start()
        while definition is not None and definition.end() <= at:
            definition = next(definitions, None)
        macro = definition[1].decode() if definition is not None and definition.start() <= at else ""
        start = source.rfind(b"\n", 0, at) + 1
        end = source.find(b"\n", at)
        text = source[start : end if end >= 0 else len(source)][:_MOST_OF_A_LINE].decode("utf-8", "replace").strip()
        yield Mention(file, lines.number(start), at - start, at, text, macro)


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


# Where a record is declared.

# Programs of a kernel tree that are built by themselves; they share headers with the rest only by chance.
_APART = ("tools/", "samples/", "scripts/", "Documentation/", "usr/", "rust/")


def other_programs(tree: Path) -> tuple[str, ...]:
    """The folders of the tree whose programs are built apart from the rest."""
    return _APART if is_kernel(tree) else ()


def declared_with(
    tree: Path, record: str, member: str, named: Sequence[Mention], progress: Progress
) -> tuple[Declared, tuple[Declared, ...]]:
    """The record that declares ``member`` at one of the places ``named``, and copies of it in other programs.

    ``record`` is its tag or a typedef. Raises ``DeclarationNotFound``; ``EditRefused`` where several records fit or the
    record is shared with user space.
    """
    files = dict.fromkeys(one.file for one in named)
    found = list(_declaring(tree, files, (record,), member))
    if not found:
        naming = dict.fromkeys(one.file for one in mentions(tree, record, progress))
        found = list(_declaring(tree, files, tags_of(record, (read_source(tree / file) for file in naming)), member))
    if not found:
        remedy = "check both names; the record may be named by its tag or a typedef"
        raise DeclarationNotFound(f"{tree} declares no record {record} with a member {member}; {remedy}")
    apart = other_programs(tree)
    near = [one for one in found if not one.file.startswith(apart)] or found
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
    return own, tuple(one for one in found if one is not own)


def _declaring(tree: Path, files: Iterable[str], names: Iterable[str], member: str) -> Iterator[Declared]:
    for file in files:
        source = read_source(tree / file)
        for record in (one for name in names for one in records_named(source, name)):
            if any(member in declarators for _, declarators, _ in member_declarations(source, record)):
                yield Declared(file, source, record, 1.0)


def of_other_program(copy: Declared) -> Refusal:
    """That another program declares the record, too."""
    reason = f"another program has a {copy.record.title} with this member"
    lift = "change it by hand where it is compiled with files that were changed"
    return Refusal(RefusalCode.OTHER_PROGRAM, copy.place, reason, lift)


# The names that one record goes by in C, its tag and typedefs, and how a semantic patch declares a variable of it.

_NAME = rb"([A-Za-z_]\w*)"
_BEHIND = re.compile(rb"\s*" + _NAME + rb"\s*;")
_TYPEDEF = re.compile(rb"\btypedef\s+\Z")


def names_of(declared: Declared, sources: Iterable[bytes]) -> tuple[str, ...]:
    """The record as C code may name it, its title first: ``struct _queue``, ``queue_t``."""
    record = declared.record
    if record.typedef:
        return (record.title,)
    code = without_comments(declared.source)
    own = _BEHIND.match(code, record.closing + 1) if _TYPEDEF.search(code, 0, record.start) else None
    others = (name for source in sources if record.name.encode() in source for name in _typedefs_in(source, record))
    return tuple(dict.fromkeys((record.title, *([own[1].decode()] if own else []), *others)))


def typedefs_in_tree(tree: Path, declared: Declared) -> tuple[str, ...]:
    """The typedefs of the record anywhere in the tree, by name.

    None for a kernel, which hardly has any: there it is left to Coccinelle to find them in headers.
    """
    if declared.record.typedef or is_kernel(tree):
        return ()
    names = names_of(declared, (read_source(tree / file) for file in source_files(tree)))
    return tuple(sorted({*names} - {declared.record.title, declared.record.name}))


def _typedefs_in(source: bytes, record: RecordSpan) -> Iterator[str]:
    """The names that ``typedef struct tag name;`` gives the record."""
    tag = re.escape(record.name.encode())
    pattern = re.compile(rb"\btypedef\s+%s\s+%s\s+%s\s*;" % (record.kind.encode(), tag, _NAME))
    return (name.decode() for name in pattern.findall(without_comments(source)))


def tags_of(name: str, sources: Iterable[bytes]) -> tuple[str, ...]:
    """The tags of structs that a typedef calls ``name``."""
    pattern = re.compile(rb"\btypedef\s+struct\s+" + _NAME + rb"\s+" + re.escape(name.encode()) + rb"\s*;")
    tags = (pattern.findall(without_comments(one)) for one in sources if name.encode() in one)
    return tuple(dict.fromkeys(tag.decode() for group in tags for tag in group))


def typedef_lines(titles: Sequence[str]) -> tuple[str, ...]:
    """What declares to SmPL which of the names are those of typedefs."""
    return tuple(f"typedef {title};" for title in titles if " " not in title)


def any_of(types: Sequence[str]) -> str:
    """The type of an SmPL metavariable that is of any of ``types``."""
    return types[0] if len(types) == 1 else f"{{{', '.join(types)}}}"


def metavariable(type_: str, name: str) -> str:
    """The line that declares a metavariable."""
    return f"{type_}{'' if type_.endswith('*') else ' '}{name};"


def pointer_variable(titles: Sequence[str], name: str) -> str:
    """The metavariable ``name``, a pointer to a record of any of these names."""
    return metavariable(any_of([f"{title} *" for title in titles]), name)
