# SPDX-License-Identifier: GPL-2.0-or-later
"""Conditions of the preprocessor, held against what a preprocessor makes of them."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linesmith.analyzer.intent.condition import UNKNOWN, condition, needed, negated, value

NAMES = ("CONFIG_A", "CONFIG_B", "CONFIG_C")
LEAVES = st.sampled_from((*(f"defined({name})" for name in NAMES), "defined CONFIG_A", "0", "1", "2UL"))
EXPRESSIONS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        inner.map(lambda one: f"!({one})"),
        st.tuples(inner, st.sampled_from(("&&", "||")), inner).map(lambda parts: f"({' '.join(parts)})"),
        st.tuples(inner, st.sampled_from(("&&", "||")), inner).map(" ".join),
    ),
    max_leaves=8,
)


@given(st.lists(EXPRESSIONS, min_size=1, max_size=40), st.sets(st.sampled_from(NAMES)))
def test_a_configuration_gives_what_the_preprocessor_says(expressions: list[str], defined: set[str]) -> None:
    code = "".join(f"#if {one}\nyes\n#else\nno\n#endif\n" for one in expressions)
    argv = ["gcc", "-E", "-P", *(f"-D{name}" for name in defined), "-x", "c", "-"]
    said = subprocess.run(argv, input=code, capture_output=True, text=True, check=True, timeout=300).stdout.split()

    found = [value(condition(one.encode()), defined) for one in expressions]

    assert found == [word == "yes" for word in said]


@given(EXPRESSIONS, st.sets(st.sampled_from(NAMES)))
def test_what_holds_has_the_symbols_that_it_needs(expression: str, defined: set[str]) -> None:
    one = condition(expression.encode())
    if value(one, defined):
        assert all((name.removeprefix("!") in defined) is not name.startswith("!") for name in needed(one))
    assert value(negated(one), defined) is not value(one, defined)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "(",
        ")",
        "1 +",
        "CONFIG_A == 2",
        "defined(",
        "defined(CONFIG_A",
        "!",
        "f(CONFIG_A)",
        "&&",
        "0x0",
        "1.5",
        "a ? b : c",
    ],
)
def test_what_is_no_plain_condition_is_not_known(text: str) -> None:
    assert value(condition(text.encode()), {"CONFIG_A"}) is None


def test_what_nobody_writes_is_not_known() -> None:
    assert condition(b" && ".join([b"CONFIG_A"] * 1000)) == UNKNOWN
    assert value(condition(b"!" * 200 + b"CONFIG_A"), {"CONFIG_A"}) is None
    assert value(condition(b"(" * 200 + b"CONFIG_A" + b")" * 200), {"CONFIG_A"}) is None
