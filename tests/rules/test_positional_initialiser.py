# SPDX-License-Identifier: GPL-2.0-or-later
"""``positional-initialiser``: an initialiser without names that means other members than before."""

from __future__ import annotations

from dataclasses import replace

from hand_made import held, scalar, struct, union
from rule_cases import before_and_now, broken

from linesmith.analyzer.model import FactKind, Layout, SourceFact, Violation

EITHER = union("", scalar("word"), scalar("count"))


def record(names: str) -> Layout:
    """Members of these names; ``?`` is a union without one."""
    return struct("ops", *(held("", EITHER) if name == "?" else scalar(name) for name in names))


def given(members: str, place: str = "init.c:7", kind: FactKind = FactKind.POSITIONAL) -> SourceFact:
    return SourceFact(kind, tuple(members), "given by position", place)


def told(old: str, new: str, *facts: SourceFact) -> list[Violation]:
    subject = before_and_now((record(old), EITHER), (record(new), EITHER))
    return broken("positional-initialiser", replace(subject, facts=facts))


def test_the_first_member_that_came_to_another_position_is_told() -> None:
    (one,) = told("abc", "acb", given("abc"))
    assert one.message == "is member 2 now instead of b, and init.c:7 gives the first 3 members by position"
    assert (one.member, one.subject) == ("c", "init.c")


def test_of_one_member_no_number_is_told() -> None:
    (one,) = told("ab", "xab", given("x"))
    assert one.message == "is member 1 now instead of a, and init.c:7 gives the first member by position"


def test_behind_the_members_that_are_given_any_order_will_do() -> None:
    assert told("abcd", "abdc", given("ab")) == []
    assert told("abcd", "abdc", given("abc")) != []


def test_a_part_without_a_name_counts_as_one() -> None:
    (one,) = told("a?b", "ab?", given("ab"))
    assert (one.member, "instead of (an anonymous union)" in one.message) == ("b", True)


def test_a_file_is_told_once() -> None:
    facts = (given("abc"), given("abc", "init.c:9"), given("abc", "other.c:3"))
    assert [one.subject for one in told("abc", "acb", *facts)] == ["init.c", "other.c"]


def test_other_reasons_to_keep_an_order_are_no_initialisers() -> None:
    assert told("abc", "acb", given("abc", kind=FactKind.RANGE)) == []


def test_members_that_are_gone_are_given_by_nobody() -> None:
    assert told("abc", "cb", given("a")) == []
