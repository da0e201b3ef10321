# SPDX-License-Identifier: GPL-2.0-or-later
"""The names that one record goes by in C, and how a semantic patch asks for a variable of such a type."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from linesmith.patches.declaration import Declared
from linesmith.patches.masking import without_comments

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
    found = [record.title] + ([own[1].decode()] if own else [])
    pattern = re.compile(rb"\btypedef\s+struct\s+" + re.escape(record.name.encode()) + rb"\s+" + _NAME + rb"\s*;")
    for source in sources:
        if record.name.encode() in source:
            found += [name.decode() for name in pattern.findall(without_comments(source))]
    return tuple(dict.fromkeys(found))


def tags_of(name: str, sources: Iterable[bytes]) -> tuple[str, ...]:
    """The tags of structs that a typedef calls ``name``."""
    pattern = re.compile(rb"\btypedef\s+struct\s+" + _NAME + rb"\s+" + re.escape(name.encode()) + rb"\s*;")
    found = (pattern.findall(without_comments(one)) for one in sources if name.encode() in one)
    return tuple(dict.fromkeys(tag.decode() for group in found for tag in group))


def pointer_variable(titles: Sequence[str], name: str) -> str:
    """The metavariable ``name``, a pointer to a record of any of these names."""
    return _variable([f"{title} *" for title in titles], name)


def record_variable(titles: Sequence[str], name: str) -> str:
    """The metavariable ``name``, a record of any of these names."""
    return _variable([f"{title} " for title in titles], name)


def typedefs(titles: Sequence[str]) -> tuple[str, ...]:
    """What tells SmPL which of the names are those of typedefs."""
    return tuple(f"typedef {title};" for title in titles if " " not in title)


def _variable(types: Sequence[str], name: str) -> str:
    return f"{types[0]}{name};" if len(types) == 1 else f"{{{', '.join(one.strip() for one in types)}}} {name};"
