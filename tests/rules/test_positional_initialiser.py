# SPDX-License-Identifier: GPL-2.0-or-later
"""``positional-initialiser``: an initialiser without names that means other members than before."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hand_made import held, scalar, struct, union
from rule_cases import before_and_now, broken

from linesmith.analyzer.model import FactKind, Layout, SourceFact, Violation

EITHER = union("", scalar("word"), scalar("count"))


def record(names: str) -> Layout:
    """Members of these names; ``?`` is a union without one."""
    return struct("ops", *(held("", EITHER) if name == "?" else scalar(name) for name in names))


def judged(old: str, new: str, *given: str, kind: FactKind = FactKind.POSITIONAL) -> list[Violation]:
    """What is said where the members are ``given`` by position, or by position and place."""
    facts = []
    for one in given:
        members, _, place = one.partition("@")
        facts.append(SourceFact(kind, tuple(members), "given by position", place or "init.c:7"))
    subject = before_and_now((record(old), EITHER), (record(new), EITHER))
    return broken("positional-initialiser", replace(subject, facts=tuple(facts)))


@pytest.mark.parametrize(
    ("old", "new", "given", "said"),
    [
        ("abc", "acb", "abc", "c is member 2 now instead of b, and init.c:7 gives the first 3 members by position"),
        ("ab", "xab", "x", "x is member 1 now instead of a, and init.c:7 gives the first member by position"),
        ("abcd", "abdc", "abcd", "d is member 3 now instead of c, and init.c:7 gives the first 4 members by position"),
        ("abcd", "abdc", "ab", ""),  # behind the members that are given any order will do
        ("abc", "cb", "a", ""),  # a member that is gone is given by nobody
        (
            "a?b",
            "ab?",
            "ab",
            "b is member 2 now instead of (an anonymous union), and init.c:7 gives the first 2 members by position",
        ),
    ],
)
def test_the_first_member_that_came_to_another_position_is_told(old: str, new: str, given: str, said: str) -> None:
    assert [f"{one.member} {one.message}" for one in judged(old, new, given)] == ([said] if said else [])


def test_a_file_is_told_once() -> None:
    found = judged("abc", "acb", "abc", "abc@init.c:9", "abc@other.c:3")
    assert [one.subject for one in found] == ["init.c", "other.c"]


def test_other_reasons_to_keep_an_order_are_no_initialisers() -> None:
    assert judged("abc", "acb", "abc", kind=FactKind.RANGE) == []
