# SPDX-License-Identifier: GPL-2.0-or-later
"""What makes a record hard to rewrite."""

from __future__ import annotations

import re
from collections.abc import Iterator

from linesmith.patches.atoms import Atom, AtomKind, scope
from linesmith.patches.masking import without_comments
from linesmith.patches.records import Record

_MACRO = re.compile(rb"^[ \t]*[A-Z_]{4,}\w*[ \t]*\(", re.MULTILINE)
_ENTRY = re.compile(rb"^[ \t]*\*[ \t]*@\w+[:\s]", re.MULTILINE)


def traits(source: bytes, record: Record) -> Iterator[str]:
    """Names of what is in the record, or above it."""
    atoms = scope(source, record)[0].atoms
    kinds = {atom.kind for atom in _all(atoms)}
    code = without_comments(source[record.opening : record.closing])
    above = source[source.rfind(b"/*", 0, record.start) : record.start]
    present = {
        "`#if` blocks": AtomKind.CONDITIONAL in kinds,
        "bit-fields": AtomKind.BIT_FIELDS in kinds,
        "several names in one declaration": any(atom.declarations and len(atom.names) > 1 for atom in _all(atoms)),
        "anonymous records": any(atom.inner for atom in atoms),
        "`struct_group()`": b"struct_group" in code,
        "members made by macros": bool(_MACRO.search(code)),
        "cacheline groups": AtomKind.GROUP in kinds,
        "marks that members must not pass": AtomKind.FENCE in kinds,
        "a name by `typedef` only": record.typedef,
        "entries in the comment above": b";" not in above and bool(_ENTRY.search(above)),
    }
    return (name for name, there in present.items() if there)


def _all(atoms: tuple[Atom, ...]) -> Iterator[Atom]:
    for atom in atoms:
        yield atom
        for inner in atom.scopes:
            yield from _all(inner.atoms)
