# SPDX-License-Identifier: GPL-2.0-or-later
"""The body of a record as tree-sitter-c sees it, with offsets of the file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import tree_sitter
import tree_sitter_c

from linesmith.patches.source.macros import plain
from linesmith.patches.source.records import RecordSpan

# The longest body in Linux 6.1 has 25 KiB; the grammar, and what is made of it, take long for much more.
_MOST_BYTES = 1 << 16
_MOST_CONDITIONALS = 32
_CONDITIONAL = re.compile(rb"^[ \t]*+#[ \t]*+(?:(if)|endif)", re.MULTILINE)
_WIDTH = re.compile(rb":\s*\w+\s*\Z")
_CONDITIONALS = frozenset(("preproc_if", "preproc_ifdef"))
_ALTERNATIVES = frozenset(("preproc_elif", "preproc_elifdef", "preproc_else"))
_RECORDS = frozenset(("struct_specifier", "union_specifier"))


@dataclass(frozen=True, slots=True)
class Node:
    """A child of a record's body. ``start`` and ``end`` are offsets in the file; line ends are left out."""

    kind: str
    start: int
    end: int
    syntax: tree_sitter.Node
    origin: int

    @property
    def is_conditional(self) -> bool:
        """Whether the node is a whole ``#if`` … ``#endif``."""
        return self.kind in _CONDITIONALS

    @property
    def is_declaration(self) -> bool:
        """Whether the node declares members."""
        return self.kind == "field_declaration"


@dataclass(frozen=True, slots=True)
class Declarator:
    """One name of a declaration; the offsets in the file leave out commas."""

    name: str
    start: int
    end: int


@cache
def _parser() -> tree_sitter.Parser:
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_c.language()))


def syntax_root(text: bytes) -> tree_sitter.Node:
    """The root of ``text`` as C; what is no C is held by nodes of type ``ERROR``."""
    return _parser().parse(text).root_node


def unreadable(source: bytes, record: RecordSpan) -> str:
    """Why the record's body is not given to the grammar, in a clause; empty where it is."""
    if record.closing - record.opening > _MOST_BYTES:
        return f"its body is longer than {_MOST_BYTES >> 10} KiB"
    depth = 0
    for match in _CONDITIONAL.finditer(source, record.opening, record.closing):
        depth += 1 if match[1] else -1
        if depth > _MOST_CONDITIONALS:
            return f"its body has more than {_MOST_CONDITIONALS} #if in each other"
    return ""


def body(source: bytes, record: RecordSpan) -> tuple[tuple[Node, ...], bool]:
    """The nodes of the record's body, and whether the grammar took it whole; no nodes where it is ``unreadable``."""
    if unreadable(source, record):
        return (), False
    # Between keyword and brace stand a name and attributes, which tell nothing of the body.
    head = record.kind.encode().ljust(record.opening - record.start)
    text = head + plain(source[record.start : record.closing + 1])[len(head) :] + b";"
    root = syntax_root(text)
    found = _first_list(root, record.opening - record.start)
    if found is None:
        return (), False
    return _children(found, record.start, text), not root.has_error


def nested_bodies(node: Node, source: bytes) -> Iterator[tuple[int, int, tuple[Node, ...]]]:
    """Braces and nodes of each anonymous struct that a declaration holds without a name."""
    if node.is_declaration and not declarators(node):
        for child in node.syntax.children:
            inner = child.child_by_field_name("body") if child.type == "struct_specifier" else None
            if inner is not None:
                first, last = node.origin + inner.start_byte, node.origin + inner.end_byte - 1
                yield first, last, _children(inner, node.origin, source[node.origin :])


def arms(node: Node, source: bytes) -> Iterator[tuple[int, int, tuple[Node, ...]]]:
    """The arms of an ``#if`` … ``#endif``: last byte of the directive above, first of that below, nodes between."""
    part: tree_sitter.Node | None = node.syntax
    while part is not None:
        below = next((child for child in part.children if child.type in _ALTERNATIVES), None)
        # The condition may go on over several lines.
        condition = part.child_by_field_name("condition") or part.child_by_field_name("name") or part.children[0]
        first = node.origin + condition.end_byte
        last = node.origin + (below or node.syntax.children[-1]).start_byte
        inside = _children(part, node.origin, source[node.origin :])
        # What belongs to the arm begins on a line of its own.
        yield (
            first,
            last,
            tuple(one for one in inside if one.start < last and source.find(b"\n", first, one.start) >= 0),
        )
        part = below


def declarators(node: Node) -> tuple[Declarator, ...]:
    """What a declaration declares, in order; an anonymous record declares nothing itself."""
    found = ((_identifier(child), child) for child in node.syntax.children_by_field_name("declarator"))
    return tuple(
        Declarator(name, node.origin + one.start_byte, node.origin + one.end_byte) for name, one in found if name
    )


def names(node: Node) -> tuple[str, ...]:
    """Members declared by the node, on every arm of a conditional, each once."""
    return tuple(dict.fromkeys(_names(node.syntax, into_records=False)))


def inner_names(node: Node) -> tuple[str, ...]:
    """Members of anonymous records in the node: what ``object->name`` reaches without being a direct member."""
    return tuple(dict.fromkeys(_names(node.syntax, into_records=True)))


def is_bit_field(node: Node, source: bytes) -> bool:
    """Whether the declaration has a width, be it of no name (``unsigned int : 4;``)."""
    if not node.is_declaration:
        return False
    widths = any(child.type == "bitfield_clause" for child in node.syntax.children)
    return widths or (not declarators(node) and bool(_WIDTH.search(source[node.start : node.end - 1])))


def _first_list(root: tree_sitter.Node, opening: int) -> tree_sitter.Node | None:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.type == "field_declaration_list" and node.start_byte == opening:
            return node
        waiting.extend(child for child in node.children if child.start_byte <= opening < child.end_byte)
    return None


def _children(body_list: tree_sitter.Node, origin: int, text: bytes) -> tuple[Node, ...]:
    inside = (child for child in body_list.children if child.type not in "{}" and child.end_byte > child.start_byte)
    found = []
    for child in inside:
        start = origin + child.start_byte
        # Directives include their line end.
        end = start + len(text[child.start_byte : child.end_byte].rstrip(b"\r\n"))
        found.append(Node(child.type, start, end, child, origin))
    return tuple(found)


def _identifier(node: tree_sitter.Node) -> str | None:
    if node.type == "field_identifier":
        return (node.text or b"").decode("ascii", "replace") or None
    parts = [child for child in node.named_children if "declarator" in child.type or child.type == "field_identifier"]
    return next((name for part in parts if (name := _identifier(part))), None)


def _names(node: tree_sitter.Node, *, into_records: bool) -> Iterator[str]:
    if node.type == "field_declaration":
        declared = [_identifier(child) for child in node.children_by_field_name("declarator")]
        own = [name for name in declared if name]
        if own or not into_records:
            yield from () if into_records else own
            return
    for child in node.children:
        if child.type not in _RECORDS:
            yield from _names(child, into_records=into_records)
        elif into_records and (inner := child.child_by_field_name("body")):
            for each in inner.children:
                yield from _names(each, into_records=False)
                yield from _names(each, into_records=True)
