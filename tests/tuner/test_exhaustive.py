# SPDX-License-Identifier: GPL-2.0-or-later
"""No cheaper single move is missed, and no candidate breaks a rule: small random structs, judged by brute force.

The judge here shares no code with the product: it lays bytes out one by one and looks at each phase.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest
from hand_made import meeting, offsets, scalar, struct, table
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from linesmith.analyzer.errors import NothingToSuggest
from linesmith.analyzer.model import Finding, Layout, MoveKind
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

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(member.name for member in self.layout.members)

    def line(self) -> Finding:
        return meeting(self.layout, self.writer, *self.readers)

    def places(self, order: Sequence[str]) -> tuple[dict[str, range], int]:
        """Bytes of each member in this order, and the size."""
        members = {member.name: member for member in self.layout.members}
        end, found = 0, {}
        for name in order:
            while end % members[name].natural_alignment:
                end += 1
            found[name] = range(end, end + members[name].size)
            end += members[name].size
        while end % 8:
            end += 1
        return found, end

    def judged(self, order: Sequence[str]) -> tuple[float, float, int]:
        """Samples in phase 0, samples over all phases, and the size."""
        ranges, size = self.places(order)
        met: list[int] = []
        for phase in range(0, 64, 8):
            lines = {name: {(at + phase) // 64 for at in bytes_} for name, bytes_ in ranges.items()}
            met.append(sum(bool(lines[self.writer] & lines[name]) for name in self.readers))
        return SAMPLES * met[0], SAMPLES * sum(met) / 8, size

    def moves_that_help(self) -> list[tuple[float, float, int]]:
        """Every single move that lowers the cost, in phase 0 and over all phases."""
        now = self.judged(self.names)
        tried = (self.judged(order) for order in self._single_moves())
        return [one for one in tried if one[0] < now[0] and one[1] < now[1]]

    def _single_moves(self) -> Iterator[tuple[str, ...]]:
        for name in self.names:
            rest = [other for other in self.names if other != name]
            for place in range(len(self.names)):
                yield (*rest[:place], name, *rest[place:])


@st.composite
def cases(draw: st.DrawFn) -> Case:
    sizes = draw(st.lists(st.sampled_from([1, 2, 4, 8, 8, 16, 24, 40]), min_size=3, max_size=7))
    layout = struct("s", *(scalar(f"m{number}", size) for number, size in enumerate(sizes)), align=8)
    names = draw(st.permutations([member.name for member in layout.members]))
    case = Case(layout, names[0], tuple(names[1 : draw(st.integers(2, min(3, len(names))))]))
    # Phase 0 shows all the pairs: else no profile would have them.
    assume(case.judged(case.names)[0] == SAMPLES * len(case.readers))
    return case


@settings(max_examples=40)
@given(cases())
def test_no_single_move_that_helps_is_missed(case: Case) -> None:
    found = {
        (option.cost.here, round(option.cost.anywhere, 6), option.size)
        for option in options(subject(case.line(), table(case.layout)))
        if [move.kind for move in option.arrangement.moves] == [MoveKind.MOVE]
    }
    assert found == set(case.moves_that_help())


@settings(max_examples=40)
@given(cases())
def test_every_candidate_does_what_it_says_and_the_smallest_change_comes_first(case: Case) -> None:
    try:
        found = propose(case.line(), table(case.layout))
    except NothingToSuggest:
        assert not case.moves_that_help()
        return
    for candidate in found:
        if any(move.kind is MoveKind.ALIGN for move in candidate.moves):
            continue
        order = [member.name for member in candidate.after.members]
        ranges, size = case.places(order)
        assert offsets(candidate.after) == {name: places.start for name, places in ranges.items()}
        assert candidate.after.size == size
        assert candidate.predicted.after == pytest.approx(case.judged(order)[0])
        assert candidate.predicted.after < candidate.predicted.before
    effort = [(one.after.size > one.before.size, one.churn.members) for one in found]
    others = effort[1:] if found[0].recommended else effort
    assert others == sorted(others)
    assert not any(one.recommended for one in found[1:])
