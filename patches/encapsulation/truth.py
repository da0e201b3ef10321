# SPDX-License-Identifier: GPL-2.0-or-later
"""Expressions of C that are either 0 or 1 whatever the types in them, so that a function can stand for them."""

from __future__ import annotations

from functools import cache

import tree_sitter
import tree_sitter_c

_OPERATORS = frozenset(("==", "!=", "<", ">", "<=", ">=", "&&", "||"))
# Functions and macros that compare something.
_CALLED = frozenset(
    ("RB_EMPTY_ROOT", "RB_EMPTY_NODE", "list_empty", "list_empty_careful", "list_is_singular", "hlist_empty")
)


def is_truth(expression: str) -> bool:
    """Whether the operator that is applied last gives 0 or 1."""
    node = _parsed(expression)
    return node is not None and _gives_truth(node)


def opposite(expression: str) -> str:
    """What ``expression`` negates, where that is 0 or 1 itself; else empty."""
    node = _parsed(expression)
    inner = None if node is None or not _is_negation(node) else node.child_by_field_name("argument")
    inner = None if inner is None else _within(inner)
    return (inner.text or b"").decode() if inner is not None and _gives_truth(inner) else ""


@cache
def _parser() -> tree_sitter.Parser:
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_c.language()))


def _parsed(expression: str) -> tree_sitter.Node | None:
    """The expression without parentheses around it; none where it is not taken for one."""
    root = _parser().parse(f"int v = ({expression});".encode()).root_node
    declarator = root.named_children[0].child_by_field_name("declarator") if root.named_children else None
    value = declarator.child_by_field_name("value") if declarator is not None else None
    return None if value is None or root.has_error else _within(value)


def _within(node: tree_sitter.Node) -> tree_sitter.Node:
    while node.type == "parenthesized_expression" and len(node.named_children) == 1:
        node = node.named_children[0]
    return node


def _gives_truth(node: tree_sitter.Node) -> bool:
    if node.type == "call_expression":
        called = node.child_by_field_name("function")
        return called is not None and (called.text or b"").decode() in _CALLED
    return _is_negation(node) or (node.type == "binary_expression" and _operator(node) in _OPERATORS)


def _is_negation(node: tree_sitter.Node) -> bool:
    return node.type == "unary_expression" and _operator(node) == "!"


def _operator(node: tree_sitter.Node) -> str:
    operator = node.child_by_field_name("operator")
    return (operator.text or b"").decode() if operator is not None else ""
