# SPDX-License-Identifier: GPL-2.0-or-later
"""Functions that take the object out of its record, to keep it or to free it later."""

from __future__ import annotations

import re

import tree_sitter

from linesmith.patches.inline.allocators import DEFERRED_RELEASES, RELEASES
from linesmith.patches.inline.syntax import (
    NULL,
    arguments,
    bare,
    callee,
    compact,
    enclosing,
    inside,
    outermost,
    text,
)

# What functions are called that end a record.
_ENDING = re.compile(r"(?:\A|_)k?v?(?:free|destroy|release|delete|dispose|put|unref)(?:\Z|_)")


def taken_out(node: tree_sitter.Node) -> tree_sitter.Node | None:
    """What shows that ``node`` (``x->p``), which is used as a value, outlives its record: where it is cleared or freed.

    An argument of a call may be freed there: it is taken out when the pointer is cleared behind the call and freed by
    nothing that is seen.
    """
    function = enclosing(node, "function_definition")
    if function is None:
        return None
    above = outermost(node).parent
    cleared = _cleared(node, function)
    if above is None or above.type != "argument_list":
        return cleared or _ended(node, function)
    if cleared is None or cleared.start_byte < node.start_byte or _is_freed(node, function):
        return None
    return cleared


def _cleared(node: tree_sitter.Node, function: tree_sitter.Node) -> tree_sitter.Node | None:
    """The last assignment of NULL to the member, of whatever record."""
    field = text(node.child_by_field_name("field"))
    found = None
    for one in inside(function, "assignment_expression"):
        left, right = one.child_by_field_name("left"), one.child_by_field_name("right")
        target = bare(left) if left is not None else None
        if target is None or right is None or target.type != "field_expression":
            continue
        if text(target.child_by_field_name("field")) == field and text(bare(right)) in NULL:
            found = one
    return found


def _ended(node: tree_sitter.Node, function: tree_sitter.Node) -> tree_sitter.Node | None:
    """The first call that frees the record."""
    holder = compact(node.child_by_field_name("argument"))
    for call in inside(function, "call_expression"):
        given = any(compact(bare(one)) == holder for one in arguments(call))
        if given and _ends(callee(call)):
            return call
    return None


def _ends(name: str) -> bool:
    return name in RELEASES or name in DEFERRED_RELEASES or _ENDING.search(name) is not None


def _is_freed(node: tree_sitter.Node, function: tree_sitter.Node) -> bool:
    spelled = compact(node)
    calls = (call for call in inside(function, "call_expression") if callee(call) in RELEASES)
    return any(compact(bare(one)) == spelled for call in calls for one in arguments(call))
