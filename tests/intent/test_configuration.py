# SPDX-License-Identifier: GPL-2.0-or-later
"""Intents that hold in some configurations only."""

from __future__ import annotations

import pytest

from linesmith.analyzer.intent import applies, symbols_in, undecided
from linesmith.analyzer.model import Intent, TypeIntent


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
