# SPDX-License-Identifier: GPL-2.0-or-later
"""What statements and declarations leave behind when they go: labels, code that nothing reaches, empty conditionals."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import tree_sitter

from linesmith.patches.source.macros import without_comments
from linesmith.patches.treewide.syntax import function_name, inside, parsed, preceding, text

_DIRECTIVE = re.compile(rb"^[ \t]*\#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b(?:\\\r?\n|[^\n])*\n?", re.MULTILINE)
_EMPTY = re.compile(
    rb"^[ \t]*\#[ \t]*if(?:def|ndef)?\b[^\n]*\n(?:[ \t]*\r?\n)*[ \t]*\#[ \t]*endif\b[^\n]*\n", re.MULTILINE
)


def without_unused_labels(before: bytes, after: bytes) -> bytes:
    """``after`` without the labels on lines of their own whose last ``goto`` has gone since ``before``.

    Behind a ``return`` or ``goto`` the statements up to the next label go too.
    """
    was = set(_jumps(parsed(before)))
    root = parsed(after)
    now = set(_jumps(root))
    for statement in reversed(list(inside(root, "labeled_statement"))):
        label = statement.child_by_field_name("label")
        key = (function_name(statement), text(label))
        if label is not None and key in was and key not in now:
            after = _without(after, statement, label)
    return after


def _jumps(root: tree_sitter.Node) -> Iterator[tuple[str, str]]:
    """Function and label of each ``goto``."""
    for one in inside(root, "goto_statement"):
        yield function_name(one), text(one.child_by_field_name("label"))


def _without(source: bytes, statement: tree_sitter.Node, label: tree_sitter.Node) -> bytes:
    start, end = source.rfind(b"\n", 0, label.start_byte) + 1, source.find(b"\n", label.end_byte) + 1
    if source[start:end].strip() != (label.text or b"") + b":":
        return source
    dead = _end_of_dead(source, statement)
    if dead is None:
        return source[:start] + source[end:]
    ends_block = source[dead:].lstrip().startswith(b"}")
    return (source[:start].rstrip() + b"\n" if ends_block else source[:start]) + source[dead:]


def _end_of_dead(source: bytes, statement: tree_sitter.Node) -> int | None:
    """Where what only the label led to ends: at the next label or the end of the block; ``None`` if it is reached."""
    before = preceding(statement)
    if before is None or before.type not in ("return_statement", "goto_statement"):
        return None
    last: tree_sitter.Node | None = statement
    while last is not None and (last == statement or last.type != "labeled_statement"):
        if last != statement and any(inside(last, "labeled_statement")):
            return None
        behind, last = last, last.next_named_sibling
    edge = last if last is not None else behind.next_sibling
    return source.rfind(b"\n", 0, edge.start_byte) + 1 if edge is not None else None


@dataclass(frozen=True, slots=True)
class Conditional:
    """An open ``#if``: its lines as written, and whether the place is behind an ``#else`` or ``#elif`` of it."""

    opening: bytes
    alternative: bool = False


def conditionals(source: bytes, offset: int, start: int = 0) -> tuple[Conditional, ...]:
    """The conditionals that begin behind ``start`` and are open at ``offset``, outermost first."""
    open_: list[Conditional] = []
    code = without_comments(source)
    for match in _DIRECTIVE.finditer(code, start, offset):
        if match[1].startswith(b"if"):
            open_.append(Conditional(source[match.start() : match.end()]))
        elif match[1] == b"endif":
            open_ = open_[:-1]
        elif open_:
            open_[-1] = Conditional(open_[-1].opening, alternative=True)
    return tuple(open_)


def without_emptied(before: bytes, after: bytes) -> bytes:
    """``after`` without conditionals that hold nothing; those that held nothing ``before`` stay."""
    held = set(_EMPTY.findall(before))
    return _EMPTY.sub(lambda match: match[0] if match[0] in held else b"", after)
