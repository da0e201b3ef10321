# SPDX-License-Identifier: GPL-2.0-or-later
"""Functions beside a record that return whether something is so of its member: others may spell the same out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from linesmith.patches.encapsulation.member import DeclaredMember
from linesmith.patches.encapsulation.rules import Target
from linesmith.patches.encapsulation.truth import is_truth, opposite
from linesmith.patches.masking import without_comments, without_directives
from linesmith.patches.semantic.spatch import SemanticPatch

_BLANKS = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Predicate:
    """``name(parameter)`` returns ``expression``, which names the member and is 0 or 1."""

    name: str
    parameter: str
    expression: str


def predicates(declared: DeclaredMember) -> tuple[Predicate, ...]:
    """The inline functions of the record's own file that return a truth value.

    Others may return another type than their expression has, and so another value.
    """
    code = without_directives(without_comments(declared.source)).decode("utf-8", "surrogateescape")
    return tuple(_found(code, declared))


def _found(code: str, declared: DeclaredMember) -> Iterator[Predicate]:
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


def using(target: Target, found: Sequence[Predicate]) -> SemanticPatch:
    """Rules that call the functions where their expressions are spelt out; the functions themselves stay."""
    rules = []
    for number, one in enumerate(found):
        expression = re.sub(rf"\b{re.escape(one.parameter)}\b", "P", one.expression)
        negated = opposite(expression)
        edits = [(expression, f"{one.name}(P)"), *([(negated, f"!{one.name}(P)")] if negated else [])]
        lines = "\n|\n".join(f"- {_marked(old, target)}\n+ {new}" for old, new in edits)
        # Without this the function would call itself.
        outside = f': script:python() {{ p[0].current_element != "{one.name}" }}'
        rules.append(target.rule(f"predicate{number}", f"(\n{lines}\n)", position=outside))
    return SemanticPatch("\n".join(rules))


def _marked(expression: str, target: Target) -> str:
    """The expression with the position at the first mention of the member."""
    return re.sub(rf"->\s*{re.escape(target.member)}\b", f"->{target.word}@p", expression, count=1)
