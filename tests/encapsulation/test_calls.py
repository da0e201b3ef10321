# SPDX-License-Identifier: GPL-2.0-or-later
"""Parentheses that a call makes needless go, all others stay."""

from __future__ import annotations

import pytest

from linesmith.patches.encapsulation.calls import plain_calls


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"m((w))", b"m(w)"),
        (b"m((*w)) + m((&w[2]))", b"m(*w) + m(&w[2])"),
        (b"m(((struct wheel *)v))", b"m((struct wheel *)v)"),
        (b"m(&(*w))", b"m(w)"),
        (b"m(((struct wheel *)v)->x)", b"m(((struct wheel *)v)->x)"),
        (b"m((a) + (b)), m(&(*w).x), m(&(w)), am((w))", b"m((a) + (b)), m(&(*w).x), m(&(w)), am((w))"),
        (b"/* m((w)) */ m((w)", b"/* m((w)) */ m((w)"),
    ],
)
def test_parentheses(before: bytes, after: bytes) -> None:
    assert plain_calls(before, "m") == after
