# SPDX-License-Identifier: GPL-2.0-or-later
"""What a function does with a variable of its own that has taken the pointer."""

from __future__ import annotations

from collections.abc import Iterator

import tree_sitter

from linesmith.patches.inline.syntax import NULL, bare, callee, compact, inside, outermost, text

_TRUTH = frozenset(("!", "&&", "||"))
_TESTING = frozenset(("likely", "unlikely", "IS_ERR_OR_NULL", "WARN_ON", "WARN_ON_ONCE", "BUG_ON", "assert"))


def is_local(function: tree_sitter.Node, name: str) -> bool:
    """Whether the function declares the variable, as a parameter or in its body."""
    declared = (*inside(function, "parameter_declaration"), *inside(function, "declaration"))
    parts = (part for one in declared for part in one.children_by_field_name("declarator"))
    return any(_declared_name(part) == name for part in parts)


def kept_in(function: tree_sitter.Node, name: str) -> Iterator[tree_sitter.Node]:
    """What other than a variable the function assigns the variable to."""
    for one in inside(function, "assignment_expression"):
        left, right = one.child_by_field_name("left"), one.child_by_field_name("right")
        if left is not None and right is not None and left.type != "identifier" and compact(bare(right)) == name:
            yield left


def is_tested(node: tree_sitter.Node) -> bool:
    """Whether the expression is asked to be NULL or not, be it as an operand."""
    whole = outermost(node)
    above = whole.parent
    if above is None:
        return False
    operator = text(above.child_by_field_name("operator"))
    if above.type in ("unary_expression", "binary_expression") and operator in _TRUTH:
        return True
    if above.type == "binary_expression" and operator in ("==", "!="):
        return any(text(above.child_by_field_name(side)) in NULL for side in ("left", "right"))
    if above.type == "conditional_expression":
        return above.child_by_field_name("condition") == whole
    if above.type == "argument_list" and above.parent is not None:
        return callee(above.parent) in _TESTING
    return above.type == "parenthesized_expression"


def _declared_name(declarator: tree_sitter.Node | None) -> str:
    while declarator is not None and declarator.type != "identifier":
        declarator = declarator.child_by_field_name("declarator")
    return text(declarator)
