# SPDX-License-Identifier: GPL-2.0-or-later
"""C files as tree-sitter-c sees them, for questions about single expressions."""

from __future__ import annotations

from collections.abc import Iterator

import tree_sitter

from linesmith.patches.source.macros import without_comments
from linesmith.patches.source.records import RecordSpan, body, syntax_root

_TRANSPARENT = frozenset(("parenthesized_expression", "cast_expression"))
# What a pointer that leads nowhere is compared with.
NULL = frozenset(("NULL", "0", "nullptr"))
# Like names of macros that read or write a variable which others change at the same time.
PUBLISHERS = (
    "READ_ONCE", "WRITE_ONCE", "ACCESS_ONCE", "smp_load_acquire", "smp_store_release", "rcu_dereference[a-z_0-9]*",
    "rcu_access_pointer", "rcu_assign_pointer", "rcu_replace_pointer", "RCU_INIT_POINTER", "rtnl_dereference",
    "srcu_dereference[a-z_0-9]*",
)  # fmt: skip
_WITH_CONDITION = ("if_statement", "while_statement", "do_statement", "switch_statement", "for_statement")
_CALLED_FOR_TRUTH = frozenset(("likely", "unlikely", "__builtin_expect"))


def parsed(source: bytes) -> tree_sitter.Node:
    """The root of the whole file; text that is no C is held by nodes of type ``ERROR``."""
    last = source.find(b"/*", source.rfind(b"*/") + 1)
    if last >= 0:
        # The grammar would look for the end of a comment without one from each of its words: it goes to the text's end.
        code = without_comments(source)
        begin = source.find(b"/*", max(last, len(code.rstrip())))
        source = source if begin < 0 else source[:begin] + code[begin:]
    return syntax_root(source)


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
    while node.parent is not None and node.parent.type in _TRANSPARENT:
        above = node.parent.parent
        if node.parent.type == "parenthesized_expression" and above is not None and above.type in _WITH_CONDITION:
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


def operator_of(node: tree_sitter.Node) -> str:
    """The operator of an expression; empty where it has none."""
    return text(node.child_by_field_name("operator"))


def callee(call: tree_sitter.Node) -> str:
    """The name of the function or macro that is called; empty for a call through a pointer."""
    function = call.child_by_field_name("function")
    return text(function) if function is not None and function.type == "identifier" else ""


def arguments(call: tree_sitter.Node) -> tuple[tree_sitter.Node, ...]:
    """The arguments of a call, comments left out."""
    listed = call.child_by_field_name("arguments")
    return tuple(one for one in listed.named_children if one.type != "comment") if listed is not None else ()


def statements(body: tree_sitter.Node) -> list[tree_sitter.Node]:
    """What is in a block, comments left out."""
    return [one for one in body.named_children if one.type != "comment"]


def line_of(node: tree_sitter.Node) -> int:
    """The line on which the node begins, counted from 1."""
    return node.start_point[0] + 1


def assigned_value(assignment: tree_sitter.Node) -> tree_sitter.Node:
    """What an assignment assigns, within its parentheses and casts."""
    return bare(assignment.child_by_field_name("right") or assignment)


def enclosing(node: tree_sitter.Node, *kinds: str) -> tree_sitter.Node | None:
    """The nearest node around ``node`` of one of the kinds."""
    above = node.parent
    while above is not None and above.type not in kinds:
        above = above.parent
    return above


def function_name(node: tree_sitter.Node) -> str:
    """The function around the node; empty outside of all."""
    definition = enclosing(node, "function_definition")
    return declared_name(definition.child_by_field_name("declarator") if definition is not None else None)


def declared_name(declarator: tree_sitter.Node | None) -> str:
    """The variable or function that is declared; empty where it has no name."""
    while declarator is not None and declarator.type != "identifier":
        declarator = declarator.child_by_field_name("declarator")
    return text(declarator)


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


def member_declarations(
    source: bytes, record: RecordSpan
) -> Iterator[tuple[tree_sitter.Node, dict[str, tree_sitter.Node], int]]:
    """Every declaration in the body, those of anonymous records and of all arms of conditionals included.

    With the names that it declares, each with its outermost declarator, and the offset in ``source`` of the syntax.
    """
    for node in body(source, record)[0]:
        waiting = [node.syntax]
        while waiting:
            one = waiting.pop()
            names: dict[str, tree_sitter.Node] = {}
            if one.type == "field_declaration":
                for declarator in one.children_by_field_name("declarator"):
                    name = next(inside(declarator, "field_identifier"), None)
                    names.update({text(name): declarator} if name is not None else {})
                yield one, names, node.origin
            if not names:
                waiting.extend(reversed(one.children))
