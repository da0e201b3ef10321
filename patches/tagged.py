# SPDX-License-Identifier: GPL-2.0-or-later
"""Parts that a record is given by another one (``struct head;`` among the members), as -fms-extensions allows.

Source: https://gcc.gnu.org/onlinedocs/gcc/Unnamed-Fields.html. Linux is built so since 6.19.
"""

from __future__ import annotations

from collections.abc import Iterator

from linesmith.patches.grammar import Node, body, declarators, inner_names, names
from linesmith.patches.records import records_named


def given_names(node: Node, source: bytes) -> tuple[str, ...]:
    """The members that a declaration without a name of its own takes over from a record of the same file.

    Empty where the record is declared elsewhere: its members are not known then.
    """
    return tuple(dict.fromkeys(_given(node, source, set())))


def _given(node: Node, source: bytes, entered: set[str]) -> Iterator[str]:
    """The names, those of each record once: one may hold another twice, or itself where it is no C."""
    tag = _tag(node)
    found = records_named(source, tag) if tag and tag not in entered else ()
    if len(found) != 1:
        return
    entered.add(tag)
    for inner in body(source, found[0])[0]:
        yield from (*names(inner), *inner_names(inner), *_given(inner, source, entered))


def _tag(node: Node) -> str:
    """The name behind ``struct`` or ``union`` where there is neither a body nor a declarator, else empty."""
    if not node.is_declaration or declarators(node):
        return ""
    for child in node.syntax.children:
        if child.type in ("struct_specifier", "union_specifier") and child.child_by_field_name("body") is None:
            tag = child.child_by_field_name("name")
            return (tag.text or b"").decode("ascii", "replace") if tag is not None else ""
    return ""
