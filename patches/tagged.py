# SPDX-License-Identifier: GPL-2.0-or-later
"""Parts that a record is given by another one (``struct head;`` among the members), as -fms-extensions allows.

Source: https://gcc.gnu.org/onlinedocs/gcc/Unnamed-Fields.html. Linux is built so since 6.19.
"""

from __future__ import annotations

from functools import lru_cache

from linesmith.patches.grammar import Node, body, declarators, inner_names, names
from linesmith.patches.records import records_named

# A record is made of fewer, and a header that declares any is shorter; each part takes a look by the grammar.
_MOST_RECORDS = 16
_MOST_BYTES = 1 << 20
_RECORDS_AT_HAND = 256


def given_names(node: Node, source: bytes) -> tuple[str, ...]:
    """The members that a declaration without a name of its own takes over from a record of the same file.

    Empty where the record is declared elsewhere: its members are not known then.
    """
    tag = _tag(node)
    return _given(source, tag) if tag and len(source) <= _MOST_BYTES else ()


@lru_cache(maxsize=_RECORDS_AT_HAND)
def _given(source: bytes, tag: str) -> tuple[str, ...]:
    """The names, those of each record once: one may hold another twice, or itself where it is no C."""
    found: dict[str, None] = {}
    entered, waiting = {tag}, [tag]
    while waiting and len(entered) <= _MOST_RECORDS:
        own, tags = _parts(source, waiting.pop())
        found.update(dict.fromkeys(own))
        fresh = [one for one in tags if one not in entered]
        entered.update(fresh)
        waiting += fresh
    return tuple(found)


@lru_cache(maxsize=_RECORDS_AT_HAND)
def _parts(source: bytes, tag: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The members of a record of the file, and the tags of the records that give it further ones."""
    records = records_named(source, tag)
    nodes = body(source, records[0])[0] if len(records) == 1 else ()
    try:
        own = dict.fromkeys(name for one in nodes for name in (*names(one), *inner_names(one)))
    except RecursionError:
        return (), ()
    return tuple(own), tuple(dict.fromkeys(filter(None, map(_tag, nodes))))


def _tag(node: Node) -> str:
    """The name behind ``struct`` or ``union`` where there is neither a body nor a declarator, else empty."""
    if not node.is_declaration or declarators(node):
        return ""
    for child in node.syntax.children:
        if child.type in ("struct_specifier", "union_specifier") and child.child_by_field_name("body") is None:
            tag = child.child_by_field_name("name")
            return (tag.text or b"").decode("ascii", "replace") if tag is not None else ""
    return ""
