# SPDX-License-Identifier: GPL-2.0-or-later
"""The space of a record: what its dimensions hold, what its points give, and what is refused with which reason."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import pairwise

import pytest
from hand_made import bits, finding, flexible, held, hot, lock, meeting, offsets, scalar, struct, table
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from linesmith.analyzer.base.errors import NothingToSuggest
from linesmith.analyzer.layouts.gaps import line_of
from linesmith.analyzer.layouts.placement import refusal
from linesmith.analyzer.model import (
    CACHE_LINE_BYTES,
    Candidate,
    ConflictPair,
    Finding,
    Layout,
    LineMember,
    LineObject,
    MemberFunction,
    MoveKind,
    Outcome,
    Searching,
)
from linesmith.tuner.propose.candidates import propose
from linesmith.tuner.space.proposals import RecordProposals, proposals


def record(name: str, *members: str, cold: int = 14, align: int | None = 64) -> Layout:
    """A record of words, ``cold`` ones behind those named."""
    return struct(name, *(scalar(one) for one in (*members, *(f"cold{n}" for n in range(cold)))), align=align)


# Lookups read table and mask, writers take the lock and leave their name in holder.
ROUTES = struct(
    "routes",
    *(scalar("table"), scalar("mask"), scalar("lock", 4), scalar("holder", 4)),
    *(scalar(f"cold{number}") for number in range(9)),
    align=64,
)
LOOKUPS = [
    hot("table", 0, 8, 1000),
    hot("mask", 8, 8, 1000),
    hot("lock", 16, 4, 0, 1000),
    hot("holder", 20, 4, 0, 1000),
]
DISTURBED = [ConflictPair(read, write, write, 500) for read in ("table", "mask") for write in ("lock", "holder")]
CONTENDED = finding(ROUTES, LOOKUPS, DISTURBED)


def searched(
    layout: Layout, *findings: Finding, growth: int = 0, type_: str = "", around: Layout | None = None
) -> RecordProposals:
    layouts = table(layout, around) if around else table(layout)
    return proposals(findings, layouts, Searching(type=type_, growth=growth))


def legal(proposed: RecordProposals) -> list[Candidate]:
    """The candidate of each legal point."""
    return [candidate for point in proposed.legality.options for candidate in proposed.candidates(point)]


def best(proposed: RecordProposals) -> Candidate:
    """What is predicted to cost least."""
    (candidate,) = proposed.candidates(min(proposed.legality.options, key=proposed.estimate))
    return candidate


def lines_of(candidate: Candidate) -> dict[str, int]:
    return {name: line_of(offset, CACHE_LINE_BYTES) for name, offset in offsets(candidate.after).items()}


def names(proposed: RecordProposals) -> list[str]:
    return [dimension.name for dimension in proposed.space.dimensions]


def choices(proposed: RecordProposals, name: str) -> tuple[str, ...]:
    return next(one.choices for one in proposed.space.dimensions if one.name == name)


def test_members_that_do_not_disturb_each_other_are_moved_together() -> None:
    proposed = searched(ROUTES, CONTENDED)
    assert names(proposed)[:2] == ["place of lock, holder", "place of table, mask"]
    lines = lines_of(best(proposed))
    assert lines["table"] == lines["mask"] != lines["lock"] == lines["holder"]
    assert min(map(proposed.estimate, proposed.legality.options)) < 0.2


def test_each_layout_is_one_point_and_the_first_choice_is_what_is_now() -> None:
    proposed = searched(ROUTES, CONTENDED, growth=64)
    keys = [proposed.key(point) for point in proposed.legality.options]
    assert len(set(keys)) == len(keys)
    reasons = [reason for point, reason in proposed.legality.refused.items() if any(point)]
    assert any(reason.startswith("the layout is the same as with place of ") for reason in reasons)
    assert {dimension.choices[0] for dimension in proposed.space.dimensions} == {"as it is"}
    with pytest.raises(NothingToSuggest, match="the layout stays as it is"):
        proposed.candidates(proposed.space.start)
    with pytest.raises(NothingToSuggest, match="no such point"):
        proposed.estimate((9, 9, 9, 9))


def test_the_candidates_of_suggest_are_the_priors() -> None:
    layout = record("s", "lock", "read")
    line = meeting(layout, "lock", "read")
    proposed = searched(layout, line)
    suggested = [
        one.after
        for one in propose(line, table(layout))
        if one.moves[0].kind is not MoveKind.SWAP and one.after.size <= layout.size
    ]
    assert suggested
    assert [proposed.candidates(prior)[0].after for prior in proposed.space.priors] == suggested


def test_what_is_larger_than_allowed_tells_both_sizes() -> None:
    layout = record("s", "lock", "read")
    proposed = searched(layout, meeting(layout, "lock", "read"), growth=64)
    said = "struct s would grow from 128 to 256 bytes, but may grow by 64 bytes"
    assert said in proposed.legality.refused.values()


def test_no_point_breaks_a_rule_of_the_record() -> None:
    around = struct("packed", scalar("tag", 1), held("routes", ROUTES))
    packed = replace(around, members=(around.members[0], replace(around.members[1], offset=1)), size=1 + ROUTES.size)
    inside = searched(ROUTES, CONTENDED, growth=64, around=packed)
    assert {one.after.size for one in legal(inside)} == {128}
    fields, words = (bits("a", 3), bits("b", 5)), (scalar(f"c{n}") for n in range(8))
    layout = struct("packet", scalar("lock"), scalar("read"), *fields, *words, flexible("data"))
    orders = [
        [member.name for member in one.after.members]
        for one in legal(searched(layout, meeting(layout, "lock", "read")))
    ]
    assert len(orders) > 1
    assert all(order[-1] == "data" and order.index("b") == order.index("a") + 1 for order in orders)


def test_alone_on_its_line_means_that_the_next_member_is_aligned_too() -> None:
    layout = record("s", "read", "lock", cold=6)
    proposed = searched(layout, meeting(layout, "lock", "read"), growth=128)
    choice = choices(proposed, "alignment of lock").index("64 bytes, alone there")
    point = tuple(choice if name == "alignment of lock" else 0 for name in names(proposed))
    assert proposed.describe(point) == ("align lock to 64 bytes", "align cold0 to 64 bytes")
    (candidate,) = proposed.candidates(point)
    assert (offsets(candidate.after)["lock"], offsets(candidate.after)["cold0"]) == (64, 128)


def test_a_member_on_two_lines_is_put_on_one_although_suggest_knows_no_pair() -> None:
    message = struct("message", *(scalar(name) for name in ("turn", "kind", "amount", "sum")))
    cold, more = ((scalar(f"{name}{n}") for n in range(count)) for name, count in (("cold", 6), ("more", 3)))
    layout = replace(struct("mailbox", *cold, held("message", message), *more), alignment=64, size=128)
    words = [[("turn", 48), ("kind", 56)], [("amount", 64), ("sum", 72)]]
    lines = [
        finding(layout, [hot(f"message.{name}", at, 8, 900, 900) for name, at in pair], rank=rank)
        for rank, pair in enumerate(words, 1)
    ]
    proposed = searched(layout, *lines, around=message)
    assert "32 bytes" in choices(proposed, "alignment of message")
    starts = [offsets(one.after)["message"] for one in legal(proposed)]
    assert any(line_of(start, CACHE_LINE_BYTES) == line_of(start + 31, CACHE_LINE_BYTES) for start in starts)


def test_neighbours_in_an_array_can_be_parted() -> None:
    layout = struct("tally", scalar("done"), *(scalar(f"cold{number}") for number in range(10)), scalar("bytes"))
    seen = [hot("bytes", 88, 8, 500, 500), hot("done", 0, 8, 500, 500)]
    line = finding(layout, seen[:1], [ConflictPair("bytes", "done", "bytes", 500)])
    objects = (replace(line.objects[0], start=start) for start in (-64, 32))
    members = (replace(seen[0], offset=24), replace(seen[1], offset=32))
    line = replace(line, objects=tuple(objects), members=members, contended=500)
    assert any(one.after.size == 128 for one in legal(searched(layout, line, growth=32))), "each begins with a line"


def test_what_is_searched_is_the_hottest_known_type_or_the_one_asked_for() -> None:
    hotter, colder = record("hotter", "lock", "read"), record("colder", "lock", "read")
    lines = [meeting(hotter, "lock", "read"), meeting(colder, "lock", "read")]
    unknown = replace(lines[0], objects=(LineObject("", None, 0, 0.0, Outcome.NO_TYPE),))
    for found, type_, chosen in (
        (lines, "", "hotter"),
        (lines, "struct colder", "colder"),
        ([unknown, *lines], "", "hotter"),
    ):
        assert searched(hotter, *found, type_=type_, around=colder).record.subject.type == chosen


def test_what_cannot_be_searched_is_refused_with_what_to_do() -> None:
    with pytest.raises(NothingToSuggest, match="no line of the profile holds inode; `linesmith hot` lists its records"):
        searched(ROUTES, CONTENDED, type_="inode")
    _, semaphore = lock("sem", 40)
    with pytest.raises(NothingToSuggest, match="rw_semaphore, a lock itself"):
        searched(semaphore, finding(semaphore, [hot("word1", 8, 8, 900, 900)]))
    layout = struct("pair", scalar("one"))
    with pytest.raises(NothingToSuggest, match="allow more bytes with growth in \\[search\\]"):
        searched(layout, finding(layout, [hot("one", 0, 8, 10, 10)]))


@pytest.mark.parametrize(
    ("members", "growth"), [(40, 64), pytest.param(300, 512, marks=pytest.mark.study)], ids=("dozens", "hundreds")
)
def test_a_record_with_many_members_has_no_more_points_than_can_be_looked_at(members: int, growth: int) -> None:
    layout = struct("giant", *(scalar(f"m{number}") for number in range(members)), align=64)
    seen = [hot(f"m{number}", 8 * number, 8, 100, 100) for number in range(8)]
    pairs = [ConflictPair(f"m{number}", f"m{number + 1}", f"m{number}", 100) for number in range(7)]
    proposed = searched(layout, finding(layout, seen, pairs), growth=growth)
    assert 20 < proposed.space.size <= 600


def room(layout: Layout, growth: int = 0, around: Layout | None = None) -> str | None:
    """Why no alignment is searched."""
    line = meeting(layout, "sent", "received")
    found = searched(layout, line, growth=growth, around=around).record.room_wanted(growth)
    return found.reason("struct counters", growth) if found else None


def test_a_record_that_may_not_grow_wants_room_for_an_alignment() -> None:
    small, whole = (record("counters", "sent", "received", cold=cold, align=None) for cold in (9, 14))
    told = "no alignment was searched, for struct counters"
    sent = "sent at the start of a line needs"
    assert room(small) == f"{told} may not grow: {sent} 40 bytes more (growth = 40 in [search])"
    assert room(small, growth=40) is None
    wide = searched(small, meeting(small, "sent", "received"), growth=40)
    assert any(name.startswith("alignment of ") for name in names(wide))
    device = struct("device", scalar("id"), held("counters", whole))
    assert room(whole) is None, "a record of whole lines has room"
    more = f"{sent} 56 bytes more of struct device (growth = 56 in [search])"
    assert room(whole, 8, device) == f"{told} and what holds it may grow by no more than 8 bytes: {more}"
    assert room(whole, 56, device) is None


def used_by(functions: str, member: LineMember) -> LineMember:
    """The member as these functions use it alike."""
    named = functions.split()
    uses = (MemberFunction(name, member.reads // len(named), member.writes // len(named)) for name in named)
    return replace(member, functions=tuple(uses))


def shared(pairs: list[ConflictPair], **members: tuple[str, int, int]) -> RecordProposals:
    """A record whose members are each used by functions, with reads and writes."""
    layout = record("shared", *members, cold=12)
    uses = enumerate(members.items())
    seen = [used_by(by, hot(name, 8 * at, 8, reads, writes)) for at, (name, (by, reads, writes)) in uses]
    return searched(layout, finding(layout, seen, pairs))


def test_what_both_sides_read_goes_with_neither() -> None:
    receive, send = ("receive", 1000, 1000), ("send", 1000, 1000)
    members = {"in_": receive, "out": send, "more_in": receive, "more_out": send, "limit": ("receive send", 2000, 0)}
    pairs = [ConflictPair("in_", "out", "out", 2000)]
    pairs += [ConflictPair("in_", one, "in_", 1000) for one in ("more_out", "limit")]
    pairs += [ConflictPair("out", one, "out", 1000) for one in ("more_in", "limit")]
    found = names(shared(pairs, **members))
    assert found[:3] == ["place of in_, more_in", "place of out, more_out", "place of limit"]


@dataclass(frozen=True)
class Case:
    """A record, a line on which some of its members meet, and how many bytes it may grow."""

    layout: Layout
    line: Finding
    growth: int


@st.composite
def cases(draw: st.DrawFn) -> Case:
    sizes = draw(st.lists(st.sampled_from([1, 2, 4, 8, 8, 16, 40, 72]), min_size=2, max_size=12))
    layout = struct("s", *(scalar(f"m{n}", size) for n, size in enumerate(sizes)), align=draw(st.sampled_from([8, 64])))
    names = draw(st.permutations([member.name for member in layout.members]))[: draw(st.integers(1, 6))]
    at, counts = offsets(layout), st.integers(0, 500)
    seen = [hot(name, at[name], min(sizes[int(name[1:])], 8), draw(counts) + 1, draw(counts)) for name in names]
    pairs = [ConflictPair(one, other, one, draw(counts) + 1) for one, other in pairwise(names) if draw(st.booleans())]
    phase = 0 if layout.alignment == 64 else draw(st.sampled_from(range(0, 64, 8)))
    return Case(layout, finding(layout, seen, pairs, phase), draw(st.sampled_from([0, 8, 64, 192])))


@settings(max_examples=15)
@given(cases())
def test_each_point_is_a_layout_and_each_layout_is_one_point(case: Case) -> None:
    try:
        proposed = proposals([case.line], table(case.layout), Searching(growth=case.growth))
    except NothingToSuggest:
        assume(False)
        raise
    names = Counter(member.name for member in case.layout.members)
    for point in proposed.legality.options:
        (candidate,) = proposed.candidates(point)
        assert Counter(member.name for member in candidate.after.members) == names
        assert refusal(candidate.after) is None
        assert candidate.after.size <= case.layout.size + case.growth
        assert proposed.estimate(point) > 0
        assert proposed.describe(point)
    keys = [proposed.key(point) for point in proposed.legality.options]
    assert len(set(keys)) == len(keys)
    assert proposed.space.size <= 600
    assert set(proposed.space.priors) <= set(proposed.legality.options)
