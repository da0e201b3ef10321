# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether an expression is 0 or 1 follows from the operator that is applied last."""

from __future__ import annotations

import pytest

from linesmith.patches.encapsulation.truth import is_truth, opposite


@pytest.mark.parametrize(
    "expression", ["!a", "((a == b))", "a & b && c", "a < b || c", "!list_empty(&a->b)", "!!(a & 4)"]
)
def test_a_truth_value(expression: str) -> None:
    assert is_truth(expression)


@pytest.mark.parametrize(
    "expression", ["a & b == c", "!a + 1", "a ? b == c : d", "f(a)", "a - b", "(long)(a == b)", "a = !b"]
)
def test_any_other_value(expression: str) -> None:
    assert not is_truth(expression)


@pytest.mark.parametrize(
    ("expression", "negated"),
    [
        ("!list_empty(&a->b)", "list_empty(&a->b)"),
        ("!(a == b)", "a == b"),
        ("!f(a)", ""),
        ("!a && b", ""),
        ("a != b", ""),
    ],
)
def test_what_is_negated(expression: str, negated: str) -> None:
    assert opposite(expression) == negated
