# SPDX-License-Identifier: GPL-2.0-or-later
"""Small random structs by brute force: no cheaper move is missed, and packed orders cost what the solver says.

The judge here shares no code with the product: it lays bytes out one by one and looks at each phase.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

import pytest
from hand_made import bits, finding, flexible, held, hot, meeting, offsets, scalar, struct, table
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from linesmith.analyzer.base.errors import NothingToSuggest
from linesmith.analyzer.layouts.placement import BYTE, place
from linesmith.analyzer.model import (
    ConflictPair,
    FactKind,
    Finding,
    Layout,
    Member,
    MoveKind,
    SourceFact,
    SourceFacts,
)
from linesmith.tuner.constraints.freedom import NO_PREMISES, Premises
from linesmith.tuner.propose.arrangement import Arrangement, price, prices
from linesmith.tuner.propose.candidates import options, propose
from linesmith.tuner.propose.packing import packed
from linesmith.tuner.propose.subject import ContendedRecord, subject

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
            for at in range(len(self.names)):
                yield (*rest[:at], name, *rest[at:])


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
def test_every_candidate_does_what_it_says(case: Case) -> None:
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
        assert case.judged(order)[0] < case.judged(case.names)[0]
        assert not candidate.recommended, "nothing was replayed"


@st.composite
def members_of_any_shape(draw: st.DrawFn) -> tuple[Member, ...]:
    """Two numbers, and others: numbers and bit-fields, some with an alignment of their own."""
    found = [scalar("m0"), scalar("m1", draw(st.sampled_from([1, 4, 8])))]
    for number in range(2, draw(st.integers(3, 9))):
        size, align = draw(st.sampled_from([1, 2, 4, 8])), draw(st.sampled_from([None, None, 1, 2, 8, 16, 64]))
        width = draw(st.none() | st.integers(1, size * 8))
        made = bits(f"m{number}", width, size) if width else scalar(f"m{number}", size * draw(st.integers(1, 3)))
        found.append(replace(made, alignment=align))
    return tuple(draw(st.permutations(found)))


@settings(max_examples=60)
@given(members_of_any_shape(), st.sampled_from([None, 16, 64]), st.data())
def test_orders_that_are_placed_at_once_are_placed_as_each_alone(
    members: tuple[Member, ...], align: int | None, data: st.DataObject
) -> None:
    layout = struct("s", *members, align=align)
    target = of(layout, "m0", "m1")
    atoms = range(len(target.parts))
    plain = [atom for atom in atoms if not target.parts[atom].members[0].is_bit_field]
    orders = [tuple(data.draw(st.permutations(atoms))) for _ in range(3)]
    aligned = [data.draw(st.sets(st.sampled_from(plain))) for _ in orders]
    made = [Arrangement(order, dict.fromkeys(to_lines, 64)) for order, to_lines in zip(orders, aligned, strict=True)]
    for option in prices(target, made):
        ordered = option.arrangement.members(target.parts)
        alone = place(ordered, layout.alignment)
        starts = {member.name: start // BYTE for member, start in zip(ordered, alone.starts, strict=True)}
        assert option.starts == tuple(starts[member.name] for member in layout.members)
        assert option.size == alone.size
        assert option.granule == (alone.alignment if option.arrangement.aligned else target.heat.granule)


COLD = tuple(scalar(f"cold{number}") for number in range(14))
QUEUE = struct("s", scalar("head"), scalar("tail"), scalar("flags", 4), scalar("mode", 1), *COLD)


def of(layout: Layout, writer: str, *readers: str, apart: tuple[str, str] | None = None) -> ContendedRecord:
    """The record of a line, of which two members may have to be apart."""
    facts = SourceFacts((("s", (SourceFact(FactKind.APART, apart, "so it is"),)),)) if apart else None
    premises = Premises(facts) if facts else NO_PREMISES
    return subject(meeting(layout, writer, *readers), table(layout), (), premises)


def total(target: ContendedRecord, arrangement: Arrangement) -> float | None:
    """What an order costs, ``None`` if it is not legal."""
    option = price(target, arrangement)
    if option.size > target.layout.size or target.freedom.refuses(arrangement.order, option.starts, option.size):
        return None
    return option.cost.here + option.cost.anywhere


@settings(max_examples=25)
@given(cases(), st.booleans())
def test_the_last_answer_is_the_cheapest_of_all_orders(case: Case, bound: bool) -> None:
    assume(len(case.names) <= 6)
    facts = SourceFacts((("s", (SourceFact(FactKind.OFFSET, case.names[:1], "so it is"),)),)) if bound else None
    target = subject(case.line(), table(case.layout), (), Premises(facts) if facts else NO_PREMISES)
    present = tuple(range(len(target.parts)))
    every = (total(target, Arrangement(order)) for order in permutations(present))
    cheapest = min(cost for cost in every if cost is not None)
    answers = packed(target)
    if not answers:
        assert total(target, Arrangement(present)) == pytest.approx(cheapest, abs=1e-6)
        return
    assert total(target, answers[-1]) == pytest.approx(cheapest, abs=1e-6)
    efforts = [len(answer.moved) for answer in answers]
    assert efforts == sorted(set(efforts)), "one more move only where it saves something"


def test_the_pair_that_costs_most_comes_to_lie_farthest_apart() -> None:
    layout = struct("s", scalar("writer"), scalar("light"), scalar("heavy"), *COLD[:6])
    seen = [hot("writer", 0, 8, 0, 300), hot("light", 8, 8, 100), hot("heavy", 16, 8, 200)]
    pairs = [ConflictPair("light", "writer", "writer", 100), ConflictPair("heavy", "writer", "writer", 200)]
    target = subject(finding(layout, seen, pairs), table(layout))
    order = [target.parts[atom].name for atom in packed(target)[-1].order]
    assert (order[0], order[-1]) == ("heavy", "writer")


def test_the_moves_lead_from_the_present_order_to_the_new_one() -> None:
    target = of(QUEUE, "head", "tail", "flags")
    answers = packed(target)
    assert answers
    for answer in answers:
        order = [part.name for part in target.parts]
        for move in answer.moves:
            order.remove(move.member)
            order.insert(order.index(move.after) + 1 if move.after else 0, move.member)
        assert order == [target.parts[atom].name for atom in answer.order]


def test_what_cannot_be_packed_anew() -> None:
    three = struct("s", scalar("a"), scalar("b"), scalar("c"))
    assert packed(of(struct("pair", scalar("a"), scalar("b")), "a", "b")) == (), "what cannot be better"
    assert packed(of(three, "a", "b", apart=("a", "c"))) == (), "where no order is legal"


def test_a_base_and_a_flexible_array_stay_where_they_are() -> None:
    base = struct("base", scalar("next"), scalar("refs"))
    layout = struct("node", held("base", base), *QUEUE.members, flexible("data"))
    target = subject(meeting(layout, "head", "tail"), table(layout, base))
    (only,) = packed(target)
    assert (only.order[0], only.order[-1]) == (0, len(target.parts) - 1)


def legal(target: ContendedRecord) -> int:
    """How many answers there are; each is legal and costs less than the one before."""
    last = float("inf")
    answers = packed(target)
    for answer in answers:
        option = price(target, answer)
        assert sorted(answer.order) == list(range(len(target.parts)))
        assert target.freedom.refuses(answer.order, option.starts, option.size) is None
        assert option.size <= target.layout.size
        assert option.cost.here + option.cost.anywhere < last
        last = option.cost.here + option.cost.anywhere
    return len(answers)


def test_what_the_source_keeps_apart_stays_apart() -> None:
    """The member that would move alone may not come to the line of the last one; then the other one moves."""
    layout = struct("s", scalar("a"), scalar("b"), *COLD, align=64)
    (free,) = packed(of(layout, "a", "b"))
    (move,) = free.moves
    assert legal(of(layout, "a", "b", apart=(move.member, "cold13")))
