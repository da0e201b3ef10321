# SPDX-License-Identifier: GPL-2.0-or-later
"""Conditions of the preprocessor and of intents: what holds in a configuration."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linesmith.analyzer.intent import applies, symbols_in, undecided
from linesmith.analyzer.intent.condition import UNKNOWN, condition, needed, negated, value
from linesmith.analyzer.model import Intent, TypeIntent

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


@settings(max_examples=15)
@given(st.lists(EXPRESSIONS, min_size=1, max_size=40), st.sets(st.sampled_from(NAMES)))
def test_a_configuration_gives_what_the_preprocessor_says(expressions: list[str], defined: set[str]) -> None:
    code = "".join(f"#if {one}\nyes\n#else\nno\n#endif\n" for one in expressions)
    argv = ["gcc", "-E", "-P", *(f"-D{name}" for name in defined), "-x", "c", "-"]
    said = subprocess.run(argv, input=code, capture_output=True, text=True, check=True).stdout.split()
    conditions = [condition(one.encode()) for one in expressions]
    assert [value(one, defined) for one in conditions] == [word == "yes" for word in said]
    for one in conditions:
        assert value(negated(one), defined) is not value(one, defined)
        if value(one, defined):
            assert all((name.removeprefix("!") in defined) is not name.startswith("!") for name in needed(one))


@pytest.mark.parametrize(
    "text",
    ["", "(", ")", "1+", "CONFIG_A==2", "defined(", "defined(CONFIG_A", "!", "f(CONFIG_A)", "&&", "0x0", "a ? b"],
)  # fmt: skip
def test_what_is_no_plain_condition_is_not_known(text: str) -> None:
    assert value(condition(text.encode()), {"CONFIG_A"}) is None


def test_what_nobody_writes_is_not_known() -> None:
    assert condition(b" && ".join([b"CONFIG_A"] * 1000)) == UNKNOWN
    assert value(condition(b"!" * 200 + b"CONFIG_A"), {"CONFIG_A"}) is None
    assert value(condition(b"(" * 200 + b"CONFIG_A" + b")" * 200), {"CONFIG_A"}) is None


def wanted(*conditions: str) -> TypeIntent:
    return TypeIntent("inode", "path walk", configuration=conditions, place="linesmith.toml:3")


def test_symbols_of_a_configuration_are_those_that_are_set() -> None:
    text = '# CONFIG_A is not set\nCONFIG_B=y\nCONFIG_C=m\nCONFIG_D=""\nCONFIG_E=n\nCONFIG_F=0x1000\n'
    assert symbols_in(text) == {"CONFIG_B", "CONFIG_C", "CONFIG_D", "CONFIG_F"}


@pytest.mark.parametrize(
    ("conditions", "held"),
    [
        ((), True),
        (("CONFIG_SMP",), True),
        (("!CONFIG_SMP",), False),
        (("CONFIG_SMP", "CONFIG_NUMA"), False),
        (("CONFIG_SMP", "!CONFIG_NUMA"), True),
    ],
)
def test_an_intent_holds_where_all_its_conditions_do(conditions: tuple[str, ...], held: bool) -> None:
    assert applies(frozenset({"CONFIG_SMP"}))(wanted(*conditions)) is held


def test_without_a_configuration_only_what_always_holds_does_and_the_rest_is_told() -> None:
    intent = Intent("linesmith.toml", (wanted(), wanted("CONFIG_SMP", "!CONFIG_NUMA")))
    assert [applies(None)(one) for one in intent.types] == [True, False]
    (told,) = undecided(intent, None)
    assert told == (
        "linesmith.toml:3: what is wanted of inode where CONFIG_SMP is set and CONFIG_NUMA is not set was not checked, "
        "because the configuration of the build is not known; name its .config"
    )
    assert undecided(intent, frozenset()) == ()
