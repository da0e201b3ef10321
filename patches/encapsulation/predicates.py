# SPDX-License-Identifier: GPL-2.0-or-later
"""Functions near a record that return whether something is so of its member, which others may spell out.

A function can stand for an expression that is 0 or 1 whatever the types in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import tree_sitter

from linesmith.patches.encapsulation.member import DeclaredMember
from linesmith.patches.encapsulation.rules import Target
from linesmith.patches.source.grammar import syntax_root
from linesmith.patches.source.macros import without_comments, without_directives
from linesmith.patches.treewide.spatch import SemanticPatch
from linesmith.patches.treewide.syntax import callee, inside, operator_of, text

_OPERATORS = frozenset(("==", "!=", "<", ">", "<=", ">=", "&&", "||"))
# Functions and macros that compare something.
_COMPARING_CALLS = frozenset(
    ("RB_EMPTY_ROOT", "RB_EMPTY_NODE", "list_empty", "list_empty_careful", "list_is_singular", "hlist_empty")
)
_BLANKS = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Predicate:
    """``name(parameter)`` returns ``expression``, which names the member and is 0 or 1."""

    name: str
    parameter: str
    expression: str

    def may_be_spelt_out(self, source: bytes) -> bool:
        """Whether ``source`` has all words of the expression."""
        words = set(re.findall(r"[A-Za-z_]\w*", self.expression)) - {self.parameter}
        return all(word.encode() in source for word in words)


def predicates_of(declared: DeclaredMember) -> Iterator[Predicate]:
    """The inline functions of the record's own file that return a truth value.

    Others may return another type than their expression has, and so another value.
    """
    code = without_directives(without_comments(declared.source)).decode("utf-8", "surrogateescape")
    title = re.escape(declared.title).replace("\\ ", r"\s+")
    pattern = re.compile(
        r"\bstatic\s++(?:__always_)?inline\s++(?P<result>bool|int|_Bool)\s++(?P<name>\w++)\s*+"
        rf"\(\s*+(?:const\s++)?+{title}\s*+\*\s*+(?:const\s++)?+(?P<parameter>\w++)\s*+\)\s*+"
        r"\{\s*+return\b(?P<expression>[^;{}]++);\s*+\}"
    )
    for match in pattern.finditer(code):
        expression = _BLANKS.sub(" ", match["expression"]).strip()
        access = re.compile(rf"\b{re.escape(match['parameter'])}\s*->\s*{re.escape(declared.name)}\b")
        if access.search(expression) and is_truth(expression):
            yield Predicate(match["name"], match["parameter"], expression)


def calling(target: Target, predicates: Sequence[Predicate]) -> SemanticPatch:
    """Rules that call the functions where their expressions are spelt out; the functions themselves stay."""
    rules = []
    member = re.compile(rf"->\s*{re.escape(target.member)}\b")
    for number, one in enumerate(predicates):
        expression = re.sub(rf"\b{re.escape(one.parameter)}\b", "P", one.expression)
        negated = opposite(expression)
        edits = [(expression, f"{one.name}(P)"), *([(negated, f"!{one.name}(P)")] if negated else [])]
        # The position is that of the first mention of the member.
        lines = "\n|\n".join(f"- {member.sub(f'->{target.word}@p', old, count=1)}\n+ {new}" for old, new in edits)
        # Without this the function would call itself.
        outside = f' : script:python() {{ p[0].current_element != "{one.name}" }}'
        rules.append(target.rule(f"predicate{number}", f"(\n{lines}\n)", position=outside))
    return SemanticPatch("\n".join(rules))


def is_truth(expression: str) -> bool:
    """Whether the operator that is applied last gives 0 or 1."""
    node = _parsed(expression)
    return node is not None and _gives_truth(node)


def opposite(expression: str) -> str:
    """What ``expression`` negates, where that is 0 or 1 itself; else empty."""
    node = _parsed(expression)
    inner = node.child_by_field_name("argument") if node is not None and _is_negation(node) else None
    inner = None if inner is None else _unwrapped(inner)
    return text(inner) if inner is not None and _gives_truth(inner) else ""


def _parsed(expression: str) -> tree_sitter.Node | None:
    """The expression without parentheses around it; none where it is not taken for one."""
    root = syntax_root(f"int v = ({expression});".encode())
    value = next((one.child_by_field_name("value") for one in inside(root, "init_declarator")), None)
    return None if value is None or root.has_error else _unwrapped(value)


def _unwrapped(node: tree_sitter.Node) -> tree_sitter.Node:
    while node.type == "parenthesized_expression" and len(node.named_children) == 1:
        node = node.named_children[0]
    return node


def _gives_truth(node: tree_sitter.Node) -> bool:
    if node.type == "call_expression":
        return callee(node) in _COMPARING_CALLS
    return _is_negation(node) or (node.type == "binary_expression" and operator_of(node) in _OPERATORS)


def _is_negation(node: tree_sitter.Node) -> bool:
    return node.type == "unary_expression" and operator_of(node) == "!"
