# SPDX-License-Identifier: GPL-2.0-or-later
"""Which rules are on."""

from __future__ import annotations

import pytest

from linesmith.analyzer.errors import RuleUnknown
from linesmith.analyzer.lint.rule_choice import chosen_rules
from linesmith.analyzer.model import LintChoice, Severity
from linesmith.analyzer.rules import Rule
from linesmith.analyzer.rules.rule import nothing

RULES = tuple(
    Rule(name, "", Severity.NOTE, nothing, default=default)
    for name, default in (("lock-moved", True), ("group-left", True), ("group-docs", False))
)


def chosen(*choices: LintChoice) -> list[str]:
    return [one.name for one in chosen_rules(choices, RULES)]


def choice(select: str = "", ignore: str = "") -> LintChoice:
    return LintChoice(tuple(select.split()), tuple(ignore.split()))


def test_the_default_rules_are_on_in_their_order() -> None:
    assert chosen() == ["lock-moved", "group-left"]


def test_a_rule_is_turned_on_by_name() -> None:
    assert chosen(choice("group-docs")) == ["lock-moved", "group-left", "group-docs"]


def test_a_rule_is_turned_off_by_name() -> None:
    assert chosen(choice(ignore="lock-moved")) == ["group-left"]


def test_a_pattern_means_all_rules_called_so() -> None:
    assert chosen(choice(ignore="group-*")) == ["lock-moved"]


def test_all_but_one_and_one_but_no_other() -> None:
    assert chosen(choice("all", "lock-moved")) == ["group-left", "group-docs"]
    assert chosen(choice("lock-moved", "all")) == ["lock-moved"]


def test_a_name_wins_over_a_pattern() -> None:
    assert chosen(choice("group-left", "group-*")) == ["lock-moved", "group-left"]


def test_ignore_wins_where_both_say_the_same() -> None:
    assert chosen(choice("all", "all")) == []


def test_the_command_line_has_the_last_word() -> None:
    assert chosen(choice(ignore="lock-moved"), choice("lock-moved")) == ["lock-moved", "group-left"]


def test_a_rule_nobody_knows_is_refused() -> None:
    with pytest.raises(RuleUnknown, match="no rule is called 'lock-mooved'"):
        chosen(choice(ignore="lock-mooved"))


def test_a_pattern_that_means_no_rule_is_refused() -> None:
    with pytest.raises(RuleUnknown, match=r"no rule is called 'x\*'"):
        chosen(choice("x*"))
