# SPDX-License-Identifier: GPL-2.0-or-later
"""Parentheses that a call makes needless go, all others stay."""

from __future__ import annotations

import pytest

from linesmith.patches.encapsulation.calls import in_style, plain_calls, spaced


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


def test_calls_are_written_as_the_file_has_them() -> None:
    assert spaced(b"f (a); if (b) g (c); /* h(i) h(i) h(i) */")
    assert not spaced(b"if (a) f(b); g(c);")
    assert in_style(b"#define m(x) (&(x)->m)\ny = m(x);\n", "m", blank=True) == b"#define m(x) (&(x)->m)\ny = m (x);\n"
