# SPDX-License-Identifier: GPL-2.0-or-later
"""Which rules are on, and how ``linesmith explain`` explains them."""

from __future__ import annotations

import re

import pytest
from linesmith_command import linesmith

from linesmith.analyzer.errors import RuleUnknown
from linesmith.analyzer.lint.rule_choice import chosen_rules
from linesmith.analyzer.model import LintChoice, Severity
from linesmith.analyzer.rules import Rule
from linesmith.analyzer.rules.rule import nothing

RULES = tuple(
    Rule(name, "", Severity.NOTE, nothing, default=default)
    for name, default in (("lock-moved", True), ("group-left", True), ("group-docs", False))
)


def chosen(*choices: tuple[str, str]) -> str:
    """The rules that are on where each choice selects and ignores these."""
    every = [LintChoice(tuple(select.split()), tuple(ignore.split())) for select, ignore in choices]
    return " ".join(one.name for one in chosen_rules(every, RULES))


@pytest.mark.parametrize(
    ("choices", "on"),
    [
        ([], "lock-moved group-left"),
        ([("group-docs", "")], "lock-moved group-left group-docs"),
        ([("", "lock-moved")], "group-left"),
        ([("", "group-*")], "lock-moved"),
        ([("all", "lock-moved")], "group-left group-docs"),
        ([("lock-moved", "all")], "lock-moved"),
        ([("group-left", "group-*")], "lock-moved group-left"),  # a name wins over a pattern
        ([("all", "all")], ""),  # ignore wins where both say the same
        ([("", "lock-moved"), ("lock-moved", "")], "lock-moved group-left"),  # the last choice has the last word
    ],
)
def test_rules_are_turned_on_and_off_by_names_and_patterns(choices: list[tuple[str, str]], on: str) -> None:
    assert chosen(*choices) == on


@pytest.mark.parametrize(("choice", "name"), [(("", "lock-mooved"), "lock-mooved"), (("x*", ""), "x*")])
def test_a_name_or_a_pattern_of_no_rule_is_refused(choice: tuple[str, str], name: str) -> None:
    with pytest.raises(RuleUnknown, match=re.escape(f"no rule is called '{name}'")):
        chosen(choice)


def test_a_rule_is_explained_by_its_page_and_without_one_all_are_listed() -> None:
    listed = linesmith("explain").stdout
    assert re.search(r"^alignment-lost .* a record or member is no longer aligned to cache lines", listed, re.MULTILINE)
    page = linesmith("explain", "alignment-lost").stdout
    assert page.startswith("alignment-lost\n\n  A record, or one of its members, asked for an alignment")
    assert "\nWhat to do\n\n  Keep the attribute." in page


@pytest.mark.parametrize(
    ("word", "step"),
    [
        ("alignmentlost", "did you mean alignment-lost?"),
        ("isolaton-broken", "did you mean isolation-broken?"),
        ("xyzzy", "`linesmith explain` lists the rules"),
    ],
)
def test_a_rule_nobody_knows_is_told_with_the_one_that_is_near(word: str, step: str) -> None:
    done = linesmith("explain", word)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"linesmith: no rule is called '{word}'; {step}\n"
