# SPDX-License-Identifier: GPL-2.0-or-later
"""Which rules are on: the default ones, less and more what ``linesmith.toml`` and then the command line say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from linesmith.analyzer.model import LintChoice
from linesmith.analyzer.rules import RULES, Rule, rule

ALL = "all"
_SIGNS = "*?["


def chosen_rules(choices: Sequence[LintChoice], rules: Sequence[Rule] = RULES) -> tuple[Rule, ...]:
    """The rules that are on when every choice was heard, the last one having the last word.

    Within one choice the more exact word wins: a rule's name over a pattern, a pattern over ``all``; ``ignore`` wins
    where both are alike. Raises ``RuleUnknown`` for a word that means no rule.
    """
    for choice in choices:
        for word in (*choice.select, *choice.ignore):
            _refuse_unknown(word, rules)
    return tuple(one for one in rules if _on(one, choices))


def _refuse_unknown(word: str, rules: Iterable[Rule]) -> None:
    if not any(_exactness(word, one.name) for one in rules):
        rule(word)


def _on(one: Rule, choices: Iterable[LintChoice]) -> bool:
    on = one.default
    for choice in choices:
        wanted = max((_exactness(word, one.name) for word in choice.select), default=0)
        unwanted = max((_exactness(word, one.name) for word in choice.ignore), default=0)
        if wanted or unwanted:
            on = wanted > unwanted
    return on


def _exactness(word: str, name: str) -> int:
    """3 for the name itself, 2 for a pattern of it, 1 for ``all``, 0 where the rule is not meant."""
    if word == name:
        return 3
    if word == ALL:
        return 1
    return 2 if any(sign in word for sign in _SIGNS) and fnmatchcase(name, word) else 0
