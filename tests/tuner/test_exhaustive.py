# SPDX-License-Identifier: GPL-2.0-or-later
"""No cheaper single move is missed, and no candidate breaks a rule: small random structs, judged by brute force.

The judge here shares no code with the product: it lays bytes out one by one and looks at each phase.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest
from hand_made import meeting, scalar, struct, table
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from linesmith.analyzer.errors import NothingToSuggest
from linesmith.analyzer.model import Layout, MoveKind
from linesmith.tuner.candidates import propose
from linesmith.tuner.search import options
from linesmith.tuner.subject import subject

SAMPLES = 100


@dataclass(frozen=True)
class Case:
    """A struct, which member is written, and which are read."""

    layout: Layout
    writer: str
    readers: tuple[str, ...]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    sizes = draw(st.lists(st.sampled_from([1, 2, 4, 8, 8, 16, 24, 40]), min_size=3, max_size=7))
    layout = struct("s", *(scalar(f"m{number}", size) for number, size in enumerate(sizes)), align=8)
    names = draw(st.permutations([member.name for member in layout.members]))
    return Case(layout, names[0], tuple(names[1 : draw(st.integers(2, min(3, len(names))))]))


def byte_ranges(case: Case, order: Sequence[str]) -> tuple[dict[str, range], int]:
    """Bytes of each member in this order, and the size."""
    members = {member.name: member for member in case.layout.members}
    end, found = 0, {}
    for name in order:
        while end % members[name].natural_alignment:
            end += 1
        found[name] = range(end, end + members[name].size)
        end += members[name].size
    while end % 8:
        end += 1
    return found, end


def judged(case: Case, order: Sequence[str]) -> tuple[float, float, int]:
    """Samples in phase 0, samples over all phases, and the size."""
    ranges, size = byte_ranges(case, order)
    met = {
        phase: sum(
            bool({(at + phase) // 64 for at in ranges[case.writer]} & {(at + phase) // 64 for at in ranges[name]})
            for name in case.readers
        )
        for phase in range(0, 64, 8)
    }
    return SAMPLES * met[0], SAMPLES * sum(met.values()) / 8, size


def single_moves(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for name in names:
        rest = [other for other in names if other != name]
        for place in range(len(names)):
            yield (*rest[:place], name, *rest[place:])


def judged_moves(case: Case) -> list[tuple[float, float, int]]:
    """Every single move that lowers the cost, in phase 0 and over all phases."""
    names = [member.name for member in case.layout.members]
    now = judged(case, names)
    tried = (judged(case, order) for order in single_moves(names))
    return [one for one in tried if one[0] < now[0] and one[1] < now[1]]


def in_one_line(case: Case) -> bool:
    """Whether phase 0 shows all the pairs: else no profile would have them."""
    return judged(case, [member.name for member in case.layout.members])[0] == SAMPLES * len(case.readers)


@settings(max_examples=150)
@given(cases())
def test_no_single_move_that_helps_is_missed(case: Case) -> None:
    assume(in_one_line(case))
    target = subject(meeting(case.layout, case.writer, *case.readers), table(case.layout))
    found = {
        (option.cost.here, option.cost.anywhere, option.size)
        for option in options(target)
        if [move.kind for move in option.arrangement.moves] == [MoveKind.MOVE]
    }
    assert {tuple(map(float, one)) for one in judged_moves(case)} == {
        tuple(round(float(value), 6) for value in one) for one in found
    }


@settings(max_examples=150)
@given(cases())
def test_every_candidate_does_what_it_says(case: Case) -> None:
    assume(in_one_line(case))
    try:
        found = propose(meeting(case.layout, case.writer, *case.readers), table(case.layout))
    except NothingToSuggest:
        assert not judged_moves(case)
        return
    for candidate in found:
        if any(move.kind is MoveKind.ALIGN for move in candidate.moves):
            continue
        order = [member.name for member in candidate.after.members]
        ranges, size = byte_ranges(case, order)
        assert {member.name: member.offset for member in candidate.after.members} == {
            name: places.start for name, places in ranges.items()
        }
        assert candidate.after.size == size
        assert candidate.predicted.after == pytest.approx(judged(case, order)[0])
        assert candidate.predicted.after < candidate.predicted.before


@settings(max_examples=150)
@given(cases())
def test_the_recommended_candidate_is_first_and_the_others_smallest_change_first(case: Case) -> None:
    assume(in_one_line(case))
    try:
        found = propose(meeting(case.layout, case.writer, *case.readers), table(case.layout))
    except NothingToSuggest:
        return
    effort = [(one.after.size > one.before.size, one.churn.members) for one in found]
    others = effort[1:] if found[0].recommended else effort
    assert others == sorted(others)
    assert not any(one.recommended for one in found[1:])
