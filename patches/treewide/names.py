# SPDX-License-Identifier: GPL-2.0-or-later
"""The names that one record goes by in C, its tag and typedefs, and how a semantic patch declares a variable of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from linesmith.patches.build.kbuild import is_kernel
from linesmith.patches.source.declaration import Declared
from linesmith.patches.source.macros import closings, without_comments
from linesmith.patches.source.records import RecordSpan
from linesmith.patches.treewide.mentions import read_source, source_files

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


def typedefs_in_tree(tree: Path, record: RecordSpan) -> tuple[str, ...]:
    """The typedefs of ``record`` anywhere in the tree, by name.

    None for a kernel, which hardly has any: there it is left to Coccinelle to find them in headers.
    """
    if record.typedef or is_kernel(tree):
        return ()
    head = re.compile(rb"\btypedef\s+%s\s+%s\s*(\{)" % (record.kind.encode(), re.escape(record.name.encode())))
    names: set[str] = set()
    for source in (read_source(tree / file) for file in source_files(tree)):
        if b"typedef" in source and record.name.encode() in source:
            code = without_comments(source)
            names.update(_typedefs_in(source, record))
            ends = closings(code, (match.start(1) for match in head.finditer(code))).values()
            names.update(behind[1].decode() for end in ends if (behind := _BEHIND.match(code, end + 1)))
    return tuple(sorted(names - {record.name}))


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


def titles_pattern(titles: Sequence[str]) -> bytes:
    """A pattern of the titles, however many blanks stand between their words."""
    return b"|".join(rb"\s+".join(map(re.escape, one.encode().split())) for one in titles)


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
