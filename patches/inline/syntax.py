# SPDX-License-Identifier: GPL-2.0-or-later
"""C files as tree-sitter-c sees them, for questions about single expressions."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import tree_sitter
import tree_sitter_c

from linesmith.patches.masking import without_comments

_TRANSPARENT = frozenset(("parenthesized_expression", "cast_expression"))
# What a pointer that leads nowhere is compared with.
NULL = frozenset(("NULL", "0", "nullptr"))
_CALLED_FOR_TRUTH = frozenset(("likely", "unlikely", "__builtin_expect"))


@cache
def _parser() -> tree_sitter.Parser:
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_c.language()))


def parsed(source: bytes) -> tree_sitter.Node:
    """The root of the whole file; text that is no C is held by nodes of type ``ERROR``."""
    return _parser().parse(_closed(source)).root_node


def _closed(source: bytes) -> bytes:
    """The text with blanks for a comment without an end, which the grammar would look for from each of its words."""
    last = source.find(b"/*", source.rfind(b"*/") + 1)
    if last < 0:
        return source
    code = without_comments(source)
    blank = len(code.rstrip())  # a comment without an end goes on to the end of the text
    begin = source.find(b"/*", max(last, blank))
    return source if begin < 0 else source[:begin] + code[begin:]


def text(node: tree_sitter.Node | None) -> str:
    """The source of a node in one line, blanks joined."""
    return " ".join((node.text or b"").decode("utf-8", "replace").split()) if node is not None else ""


def compact(node: tree_sitter.Node | None) -> str:
    """The source of an expression without any blanks, to compare it with another."""
    return "".join(text(node).split())


def member_expression(root: tree_sitter.Node, offset: int) -> tree_sitter.Node | None:
    """The ``x->p`` or ``x.p`` whose member's name begins at ``offset``."""
    leaf = root.descendant_for_byte_range(offset, offset + 1)
    above = leaf.parent if leaf is not None and leaf.type == "field_identifier" else None
    return above if above is not None and above.type == "field_expression" else None


def outermost(node: tree_sitter.Node) -> tree_sitter.Node:
    """The node with the parentheses and casts around it."""
    while node.parent is not None and node.parent.type in _TRANSPARENT and node.parent.type != "if_statement":
        if node.parent.type == "parenthesized_expression" and _is_condition(node.parent):
            break
        node = node.parent
    return node


def bare(node: tree_sitter.Node) -> tree_sitter.Node:
    """The expression within parentheses, casts and ``likely()``/``unlikely()``."""
    while True:
        inner = node.named_children
        if node.type == "parenthesized_expression" and len(inner) == 1:
            node = inner[0]
        elif node.type == "call_expression" and callee(node) in _CALLED_FOR_TRUTH:
            node = arguments(node)[0]
        elif node.type == "cast_expression" and node.child_by_field_name("value") is not None:
            node = node.child_by_field_name("value") or node
        else:
            return node


def callee(call: tree_sitter.Node) -> str:
    """The name of the function or macro that is called; empty for a call through a pointer."""
    function = call.child_by_field_name("function")
    return text(function) if function is not None and function.type == "identifier" else ""


def arguments(call: tree_sitter.Node) -> tuple[tree_sitter.Node, ...]:
    """The arguments of a call, comments left out."""
    found = call.child_by_field_name("arguments")
    return tuple(child for child in found.named_children if child.type != "comment") if found is not None else ()


def enclosing(node: tree_sitter.Node, *kinds: str) -> tree_sitter.Node | None:
    """The nearest node around ``node`` of one of the kinds."""
    above = node.parent
    while above is not None and above.type not in kinds:
        above = above.parent
    return above


def function_name(node: tree_sitter.Node) -> str:
    """The function around the node; empty outside of all."""
    definition = enclosing(node, "function_definition")
    declarator = definition.child_by_field_name("declarator") if definition is not None else None
    while declarator is not None and declarator.type != "identifier":
        declarator = declarator.child_by_field_name("declarator")
    return text(declarator)


def following(statement: tree_sitter.Node) -> tree_sitter.Node | None:
    """The next statement of the same block, comments left out."""
    after = statement.next_named_sibling
    while after is not None and after.type == "comment":
        after = after.next_named_sibling
    return after


def preceding(statement: tree_sitter.Node) -> tree_sitter.Node | None:
    """The statement in front of this one in the same block, comments left out."""
    before = statement.prev_named_sibling
    while before is not None and before.type == "comment":
        before = before.prev_named_sibling
    return before


def inside(node: tree_sitter.Node, kind: str) -> Iterator[tree_sitter.Node]:
    """All nodes of one kind within ``node``, in the order of the source."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if one.type == kind:
            yield one
        waiting.extend(reversed(one.children))


def _is_condition(node: tree_sitter.Node) -> bool:
    above = node.parent
    statements = ("if_statement", "while_statement", "do_statement", "switch_statement", "for_statement")
    return above is not None and above.type in statements
