# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a file declares a record, and its body as tree-sitter-c sees it, with offsets of the file.

A record is found by bracket pairs, so that the rest of the file may be anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache

import tree_sitter
import tree_sitter_c

from linesmith.patches.source.macros import LineCounter, closings, plain, without_comments, without_directives

# In front of a body; deeper ones are found by ``is_obscure``.
MOST_PARENTHESES = 6


def _parentheses(levels: int) -> bytes:
    """Parentheses with others in them; possessive, so that long rows are read in one way only."""
    inner = rb"|" + _parentheses(levels - 1) if levels > 1 else b""
    return rb"\((?:[^(){};]" + inner + rb")*+\)"


PARENTHESIS = _parentheses(MOST_PARENTHESES)
_WORD = re.compile(rb"(\w++)\s*+(" + PARENTHESIS + rb")?+\s*+")
_OPENED = re.compile(rb"\b(struct|union)\s++((?:(?!(?:struct|union)\b)\w++\s*+(?:" + PARENTHESIS + rb")?+\s*+)++)\{")
_ROUND = re.compile(rb"[()]")
_PACKED = re.compile(rb"packed", re.IGNORECASE)
_PRAGMA = re.compile(rb"^[ \t]*+#[ \t]*+pragma[ \t]++pack[ \t]*+\(([^)\n]*+)\)", re.MULTILINE)
# The whole statement, so that none of its words begins another look at the rest.
_TYPEDEF = re.compile(rb"\btypedef\b[^;{}]*+(?P<brace>\{)?")
_ANONYMOUS = re.compile(rb"\btypedef\s++(?:const\s++)?(struct|union)\b")
_NOT_PLAIN = re.compile(rb"[^\w\s()]")
_BEHIND = re.compile(rb"\}([^;{}]*+);")
_NAME = re.compile(rb"\w+")
_TEXTS_AT_HAND = 8
# What ends a declaration behind its body; no byte is read for two bodies.
_END = re.compile(rb"[;{}]")
# Words that belong together on two lines, and brackets spelt otherwise (C11, 6.4.6): such a text is not looked through.
_OTHERWISE = re.compile(rb"\\\r?\n|<%|%>|<:|:>|%:|\?\?[<>()=/]")
_HEAD = re.compile(rb"\b(?:struct|union)\b(?P<words>[^;{}]*+)(?P<brace>\{)?")


@dataclass(frozen=True, slots=True)
class RecordSpan:
    """A record with a body, as byte offsets in its file.

    ``start`` is the keyword, ``opening`` and ``closing`` are the braces; ``line`` counts from 1. ``typedef`` tells
    that ``name`` is no tag.
    """

    name: str
    kind: str
    start: int
    opening: int
    closing: int
    line: int
    typedef: bool = False

    @property
    def title(self) -> str:
        """The type as C code names it."""
        return self.name if self.typedef else f"{self.kind} {self.name}"


def records_named(source: bytes, name: str) -> tuple[RecordSpan, ...]:
    """Every record with this tag, or with this typedef name and a body of its own, in file order."""
    return all_records(source).get(name, ()) if name.encode() in source else ()


def is_packed(source: bytes, record: RecordSpan) -> bool:
    """Whether the declaration says ``packed``, by an attribute, a macro of that name, or ``#pragma pack`` above it."""
    code = without_comments(source)
    head, tail = code[record.start : record.opening], code[record.closing : code.find(b";", record.closing)]
    if _PACKED.search(head) or _PACKED.search(tail):
        return True
    pragmas = _PRAGMA.findall(code, 0, record.start)
    return bool(pragmas) and bool(re.search(rb"\d", pragmas[-1]))


def declaration_end(code: bytes, closing: int) -> int:
    """Where the declaration ends whose body ends at ``closing``: at its semicolon, behind the attributes.

    ``code`` has no comments.
    """
    end = _END.search(code, closing + 1)
    return end.start() if end else len(code)


def is_obscure(source: bytes) -> bool:
    """Whether the text may hold a record that is not found in it, because of how it is written.

    So it is where the brackets of a record do not pair, as arms of ``#if`` may have them, lie deeper in each other than
    people write, or are spelt otherwise.
    """
    code = without_directives(without_comments(source))
    tagged = (match.end() - 1 for match in _OPENED.finditer(code) if _tags(match[2]))
    openings = frozenset((*tagged, *dict(_typedefs(code))))
    if is_spelt_otherwise(code) or not openings <= closings(code, openings).keys():
        return True
    return any(match["brace"] and _depth(match["words"]) > MOST_PARENTHESES for match in _HEAD.finditer(code))


def is_spelt_otherwise(code: bytes) -> bool:
    """Whether a word of ``code``, which has no directives, may go on on the next line, or a bracket be of two signs."""
    return _OTHERWISE.search(code) is not None


def heads(source: bytes) -> Iterator[frozenset[str]]:
    """The words between ``struct`` or ``union`` and each body that follows, be it of the record or of a function."""
    for match in _HEAD.finditer(without_directives(without_comments(source))):
        if match["brace"]:
            yield frozenset(name.decode("ascii") for name in _NAME.findall(match["words"]))


def _depth(words: bytes) -> int:
    """How many parentheses lie in each other at most."""
    deepest = depth = 0
    for mark in _ROUND.findall(words):
        depth += 1 if mark == b"(" else -1
        deepest = max(deepest, depth)
    return deepest


@lru_cache(maxsize=_TEXTS_AT_HAND)
def all_records(source: bytes) -> Mapping[str, tuple[RecordSpan, ...]]:
    """All records of a text, by name, those of one name in file order; a text is read once while it is at hand."""
    code = without_directives(without_comments(source))
    # By name and opening brace: keyword, where that is, and whether the name is a typedef.
    found: dict[bytes, dict[int, tuple[bytes, int, bool]]] = {}
    behind = {match.start(): match for match in _BEHIND.finditer(code)}
    heads = dict(_typedefs(code))
    for opening, end in closings(code, heads).items():
        for name in _NAME.findall(behind[end][1]) if end in behind else ():
            found.setdefault(name, {})[opening] = (heads[opening][1], heads[opening].start(1), True)
    for match in _OPENED.finditer(code):
        for name in _tags(match[2]):
            found.setdefault(name, {})[match.end() - 1] = (match[1], match.start(), False)
    ends = closings(code, {opening for places in found.values() for opening in places})
    lines = LineCounter(source)
    named = {}
    for name, places in found.items():
        title = name.decode("ascii")
        named[title] = tuple(
            RecordSpan(title, kind.decode(), start, opening, ends[opening], lines.number(start), typedef)
            for opening, (kind, start, typedef) in sorted(places.items())
            if opening in ends
        )
    return named


def _tags(head: bytes) -> Iterable[bytes]:
    """The words between keyword and brace that can be the tag: the others are attributes, which begin with ``__``."""
    words = [(one[1], one[2] is not None) for one in _WORD.finditer(head)]
    plain = [(name, called) for name, called in words if not name.startswith(b"__")]
    if len(plain) > 1:
        return ()
    return dict.fromkeys(name for name, called in plain or words if not called)


def _typedefs(code: bytes) -> Iterator[tuple[int, re.Match[bytes]]]:
    """The opening brace of each record that a typedef names, and its head."""
    for match in _TYPEDEF.finditer(code):
        if match["brace"]:
            brace = match.start("brace")
            # Nothing but words and parentheses may stand between the typedef and the brace.
            plain = max((one.end() for one in _NOT_PLAIN.finditer(code, match.start(), brace)), default=match.start())
            head = _ANONYMOUS.search(code, plain, brace)
            if head:
                yield brace, head


# The body of a record as tree-sitter-c sees it.

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

    def nested_bodies(self, source: bytes) -> Iterator[tuple[int, int, tuple[Node, ...]]]:
        """Braces and nodes of each anonymous struct that a declaration holds without a name."""
        if self.is_declaration and not self.declarators():
            for child in self.syntax.children:
                inner = child.child_by_field_name("body") if child.type == "struct_specifier" else None
                if inner is not None:
                    first, last = self.origin + inner.start_byte, self.origin + inner.end_byte - 1
                    yield first, last, _children(inner, self.origin, source[self.origin :])

    def arms(self, source: bytes) -> Iterator[tuple[int, int, tuple[Node, ...]]]:
        """The arms of an ``#if`` … ``#endif``: last byte of the directive above, first of that below, nodes between."""
        part: tree_sitter.Node | None = self.syntax
        while part is not None:
            below = next((child for child in part.children if child.type in _ALTERNATIVES), None)
            # The condition may go on over several lines.
            condition = part.child_by_field_name("condition") or part.child_by_field_name("name") or part.children[0]
            first = self.origin + condition.end_byte
            last = self.origin + (below or self.syntax.children[-1]).start_byte
            inside = _children(part, self.origin, source[self.origin :])
            # What belongs to the arm begins on a line of its own.
            yield (
                first,
                last,
                tuple(one for one in inside if one.start < last and source.find(b"\n", first, one.start) >= 0),
            )
            part = below

    def declarators(self) -> tuple[Declarator, ...]:
        """What a declaration declares, in order; an anonymous record declares nothing itself."""
        found = ((_identifier(child), child) for child in self.syntax.children_by_field_name("declarator"))
        return tuple(
            Declarator(name, self.origin + one.start_byte, self.origin + one.end_byte) for name, one in found if name
        )

    def names(self) -> tuple[str, ...]:
        """Members declared by the node, on every arm of a conditional, each once."""
        return tuple(dict.fromkeys(_names(self.syntax, into_records=False)))

    def inner_names(self) -> tuple[str, ...]:
        """Members of anonymous records in the node: what ``object->name`` reaches without being a direct member."""
        return tuple(dict.fromkeys(_names(self.syntax, into_records=True)))

    def is_bit_field(self, source: bytes) -> bool:
        """Whether the declaration has a width, be it of no name (``unsigned int : 4;``)."""
        if not self.is_declaration:
            return False
        widths = any(child.type == "bitfield_clause" for child in self.syntax.children)
        return widths or (not self.declarators() and bool(_WIDTH.search(source[self.start : self.end - 1])))


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
