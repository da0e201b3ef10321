# SPDX-License-Identifier: GPL-2.0-or-later
"""The dimensions that are worth searching: where hot members go, alone or as a group, and how they are aligned.

Not every order: of all places for a member those count that differ in the line it comes to, in whom it meets there,
and in the size of the record. Of places that do not differ so, the one that is predicted cheapest stands for all. Hot
members may stay together where they do not disturb each other: a lock and what it protects, or what one thread writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise

from linesmith.analyzer.attribution.lock import is_lock
from linesmith.analyzer.base.errors import NothingToSuggest
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.placement import round_up
from linesmith.analyzer.model import ADJACENT_LINE_BYTES, CACHE_LINE_BYTES, Candidate, Finding, Move, MoveKind, Outcome
from linesmith.analyzer.sharing.parts import own_members
from linesmith.tuner.constraints.freedom import NO_PREMISES, Premises
from linesmith.tuner.propose.advice import refuse_hopeless
from linesmith.tuner.propose.arrangement import Option, moves, unchanged
from linesmith.tuner.propose.candidates import harmless_groups
from linesmith.tuner.propose.meetings import contention
from linesmith.tuner.propose.subject import ContendedRecord, subject
from linesmith.tuner.propose.tradeoff import exposures, left
from linesmith.tuner.space.composition import Choice, composed

# What one member without samples that newly meets a writer costs, as a share of all contended samples.
EXPOSED = 0.02
# What a record twice as large costs more: fewer of them fit a cache.
SIZE = 0.02
# What a step more costs, so that of layouts that promise the same the smaller change comes first.
STEP = 0.003
# No layout removes all contention.
LEAST = 0.02


@dataclass(frozen=True, slots=True)
class SearchedRecord:
    """``leading`` is the record's hottest line, ``lines`` are all of them, one for each of their objects of this type.

    ``subject`` carries the contacts of all of them; ``others`` are the profile's other findings. ``contended`` are the
    samples of the record's lines, at least those that the contacts explain.
    """

    leading: Finding
    lines: tuple[Finding, ...]
    others: tuple[Finding, ...]
    subject: ContendedRecord
    contended: float

    def estimate(self, option: Option) -> float:
        """What a layout is predicted to cost as a ratio to the layout as it is, below 1 when better.

        The ratio is that of contended samples as ``suggest`` counts them, not of time: it orders what is replayed.
        """
        target = self.subject
        before, after = left(target.now), left(option.cost)
        total = max(self.contended, before, 1.0)
        exposed = exposures(target, [option])[0]
        larger = option.size / max(target.layout.size, 1) - 1
        further = EXPOSED * exposed + SIZE * larger + STEP * len(option.arrangement.moves)
        return max((total - before + after) / total, LEAST) + further

    def groups(self) -> list[AtomGroup]:
        """The groups of the record's hot atoms, the hottest first; each atom is in one."""
        return harmless_groups(self.subject, self.hottest()[:MOST_ATOMS])[:MOST_GROUPS]

    def hottest(self) -> list[int]:
        """Atoms with hot members that may move, those that cost most first; of equal ones the written ones."""
        target = self.subject
        heat = {spot: [0.0, float(spot.written), float(spot.samples)] for spot in target.heat.spots}
        for contact in target.heat.sampled:
            for spot in (contact.first, contact.second):
                heat[spot][0] += contact.weight
        least = WORTHWHILE * self.contended
        worth = [spot for spot in heat if contention(spot.name, self.lines) >= least]
        ranked = sorted(worth, key=lambda spot: [-value for value in heat[spot]])
        atoms = dict.fromkeys(target.owners[spot.member] for spot in ranked)
        return [atom for atom in atoms if target.parts[atom].name and len(target.freedom.places(atom)) > 1]

    def dimensions(self, candidates: Sequence[Candidate], growth: int) -> tuple[SearchDimension, ...]:
        """The dimensions, each with all that ``candidates`` choose in it; they may grow by ``growth`` bytes only."""
        target = self.subject
        found: dict[str, list[Choice]] = {}
        for group in self.groups():
            found[_place_of(target, group)] = [AS_IT_IS, *self._places(group, growth)]
        for atom in self.hottest()[:MOST_ALIGNED] if target.may_resize else ():
            found[f"alignment of {target.parts[atom].members[0].name}"] = [AS_IT_IS, *self._alignments(atom, growth)]
        for name, choice in (one for candidate in candidates for one in self.assigned(candidate).items()):
            known = found.setdefault(name, [AS_IT_IS])
            if choice not in known:
                known.append(choice)
        return tuple(SearchDimension(name, tuple(choices)) for name, choices in found.items() if len(choices) > 1)

    def assigned(self, candidate: Candidate) -> dict[str, Choice]:
        """What a candidate chooses in which dimension."""
        target = self.subject
        places = {target.parts[atom].name: _place_of(target, group) for group in self.groups() for atom in group}
        moves: dict[str, list[Move]] = {}
        for move in candidate.moves:
            if move.kind is MoveKind.ALIGN:
                moves.setdefault(f"alignment of {move.member}", []).append(move)
            else:
                plain = replace(move, kind=MoveKind.MOVE) if move.kind is MoveKind.FILL_HOLE else move
                moves.setdefault(places.get(move.member, f"place of {move.member}"), []).append(plain)
        return {name: Choice(_words(name, made), tuple(made)) for name, made in moves.items()}

    def room_wanted(self, growth: int) -> Room | None:
        """The hot member that takes the fewest bytes more to begin a cache line.

        ``None`` where alignments are searched, as a record that is ``growth`` bytes larger can be of whole lines and
        what holds it has room for them, and where none would help.
        """
        target = self.subject
        if target.grown(round_up(target.layout.size, CACHE_LINE_BYTES), CACHE_LINE_BYTES) <= growth:
            return None
        return min(self._rooms(), key=lambda one: one.bytes, default=None)

    def _places(self, group: AtomGroup, growth: int) -> list[Choice]:
        """Places to put the group or its first atom at, each for all that amount to the same, predicted best first."""
        target = self.subject
        best: dict[tuple[object, ...], tuple[tuple[float, ...], Choice]] = {}
        for choice in _movements(target, group):
            try:
                option = composed(target, [choice], growth)
            except NothingToSuggest:
                continue
            disturbed = sum(1.0 for now, then in zip(target.starts, option.starts, strict=True) if now != then)
            rank = (round(self.estimate(option), 3), len(choice.moves), option.size, disturbed)
            effect = _effect(target, group, option)
            if disturbed and (effect not in best or rank < best[effect][0]):
                best[effect] = rank, choice
        ranked = sorted(best.values(), key=lambda one: one[0])[:MOST_PLACES]
        return [choice for _, choice in ranked]

    def _alignments(self, atom: int, growth: int) -> list[Choice]:
        """Alignments that the record has room for: to a line or a pair of lines, alone on either, and within a line."""
        target = self.subject
        first, size = target.parts[atom].members[0], target.layout.size
        own = self._own_size(atom)
        alignments = [(own, False)] if own else []
        alignments += [(CACHE_LINE_BYTES, False), (CACHE_LINE_BYTES, True), (ADJACENT_LINE_BYTES, True)]
        choices = []
        for align, alone in alignments:
            words = f"{align} bytes, alone there" if alone else f"{align} bytes"
            choice = Choice(words, (Move(MoveKind.ALIGN, first.name, align=align),), alone)
            if target.grown(round_up(size, align), align) <= growth:
                with suppress(NothingToSuggest):
                    # That it can be written and is more than there is, at whatever size.
                    if composed(target, [choice], growth=MOST_GROWTH).arrangement.aligned:
                        choices.append(choice)
        return choices

    def _own_size(self, atom: int) -> int:
        """The power of two that keeps a member of several hot parts within a line; 0 where there is nothing to keep."""
        target = self.subject
        names = target.parts[atom].names
        touched = {(one.top, one.object_offset) for line in self.lines for one in own_members(line) if one.top in names}
        parts = max((sum(top == name for top, _ in touched) for name in names), default=0)
        size = target.parts[atom].members[0].size
        return 1 << (size - 1).bit_length() if parts > 1 and 1 < size <= CACHE_LINE_BYTES // 2 else 0

    def _rooms(self) -> Iterator[Room]:
        """What each alignment to a line takes which the space would have, were there room."""
        target = self.subject
        for atom in self.hottest()[:MOST_ALIGNED] if target.may_resize else ():
            name = target.parts[atom].members[0].name
            choice = Choice(f"{CACHE_LINE_BYTES} bytes", (Move(MoveKind.ALIGN, name, align=CACHE_LINE_BYTES),))
            try:
                option = composed(target, [choice], growth=MOST_GROWTH)
            except NothingToSuggest:
                continue
            if option.arrangement.aligned:
                more = option.size - target.layout.size
                largest = target.holders.largest(option.granule, more)
                if largest is None or largest.after - largest.before <= more:
                    yield Room(name, target.title, more)
                else:
                    yield Room(name, largest.record, largest.after - largest.before)


def searched_records(
    findings: Sequence[Finding], layouts: Layouts, wanted: str, premises: Premises = NO_PREMISES
) -> Iterator[SearchedRecord]:
    """Records whose members may be rearranged, hottest first; those called ``wanted`` only, unless it is empty.

    Raises ``NothingToSuggest`` with the reason for the hottest line when there is none.
    """
    name = wanted.split()[-1] if wanted else ""
    holding = [one for one in findings if not name or any(it.type == name for it in one.objects)]
    # Each with its objects of that type first.
    chosen = [replace(one, objects=tuple(sorted(one.objects, key=lambda it: it.type != name))) for one in holding]
    if not chosen:
        held = f"no line of the profile holds {name}" if name else "The profile has no line with a record to rearrange"
        raise NothingToSuggest(f"{held}; `linesmith hot` lists its records")
    reasons: list[NothingToSuggest] = []
    done: set[int | None] = set()
    for leading in chosen:
        layout = leading.objects[0].layout if leading.objects else None
        if layout is None or layout not in done:
            try:
                yield _searched_record(leading, [one for one in chosen if one is not leading], layouts, premises)
                done.add(layout)
            except NothingToSuggest as reason:
                reasons.append(reason)
    if not done:
        raise reasons[0]


def _searched_record(
    leading: Finding, others: Sequence[Finding], layouts: Layouts, premises: Premises
) -> SearchedRecord:
    first = leading.objects[0] if leading.objects else None
    # Whose members could move has to be known, though it may not be known who meets whom.
    known = first is not None and first.layout is not None and first.outcome is Outcome.RESOLVED
    if not known or (first is not None and is_lock(first.type)):
        refuse_hopeless(leading, layouts)
    same = [one for one in (leading, *others) if any(it.layout == leading.objects[0].layout for it in one.objects)]
    lines = [line for finding in same for line in _by_object(finding, leading.objects[0].layout)]
    target = subject(lines[0], layouts, lines[1:], premises)
    contended = max(sum(contact.weight for contact in target.heat.sampled), sum(one.contended for one in same))
    return SearchedRecord(leading, tuple(lines), tuple(others), target, contended)


def _by_object(finding: Finding, layout: int | None) -> Iterator[Finding]:
    """The finding once for each object of this layout, which comes first, with the pairs that meet inside it."""
    for target in finding.objects:
        if target.layout == layout:
            rest = (one for one in finding.objects if one is not target)
            own = replace(finding, objects=(target, *rest))
            names = {member.top for member in own_members(own)}
            pairs = tuple(pair for pair in own.triage.pairs if pair.first in names and pair.second in names)
            yield replace(own, triage=replace(own.triage, pairs=pairs))


# Hot atoms that are looked at, the hottest.
MOST_ATOMS = 8
# Groups of them that are moved.
MOST_GROUPS = 4
# What of the record's contention an atom must have had a part in to be worth a dimension.
WORTHWHILE = 0.05
# Members that get a dimension for their alignment.
MOST_ALIGNED = 2
# Bytes that stand for any size, where only legality is asked for.
MOST_GROWTH = 1 << 30
# Places of one member or group besides the one it has.
MOST_PLACES = 5
AS_IT_IS = Choice("as it is")

# Atoms that move together, the hottest first.
AtomGroup = list[int]


@dataclass(frozen=True, slots=True)
class SearchDimension:
    """A dimension with what each of its choices does; the first is as it is now."""

    name: str
    choices: tuple[Choice, ...]


def _place_of(target: ContendedRecord, group: AtomGroup) -> str:
    return f"place of {', '.join(target.parts[atom].name for atom in group)}"


def _words(dimension: str, moves: Sequence[Move]) -> str:
    """The moves in words; the member goes without saying where the dimension has only its name."""
    clauses = []
    for move in moves:
        if move.kind is MoveKind.ALIGN:
            clauses.append(f"{move.align} bytes")
        else:
            clause = f"swapped with {move.partner}" if move.kind is MoveKind.SWAP else _where(move)
            clauses.append(clause if dimension == f"place of {move.member}" else f"{move.member} {clause}")
    return ", ".join(clauses)


def _where(move: Move) -> str:
    return f"behind {move.after}" if move.after else "at the front"


def _movements(target: ContendedRecord, group: AtomGroup) -> Iterator[Choice]:
    """The first atom at every other place that has a name to find it by, alone and with its group behind it."""
    name = _place_of(target, group)
    names = {target.parts[atom].last for atom in group}
    following = []
    for before, atom in pairwise(group):
        part = target.parts[atom]
        together = tuple(member.name for member in part.members) if len(part.members) > 1 else ()
        following.append(Move(MoveKind.MOVE, part.name, after=target.parts[before].last, members=together))
    for arrangement in moves(target, unchanged(target), group[:1]):
        (move,) = arrangement.moves
        if move.after == "":
            continue
        yield Choice(_words(name, [move]), (move,))
        if len(group) > 1 and move.after not in names:
            yield Choice(f"all {_where(move)}", (move, *following))


def _effect(target: ContendedRecord, group: AtomGroup, option: Option) -> tuple[object, ...]:
    """What tells places apart: the lines of the group, the members that meet and how often, the record's size."""
    heat = target.heat
    phase = (heat.phase or 0) if option.granule == heat.granule else 0
    lines = tuple((option.starts[target.positions[atom][0]] + phase) // CACHE_LINE_BYTES for atom in group)
    met = tuple(
        contact.share_together(option.starts, mix, heat.line_bytes)
        for contact in heat.contacts
        for mix in (heat.here(option.granule), heat.mix(option.granule))
    )
    return lines, met, option.size


# Alignments that are out of the question because the record may not grow.


@dataclass(frozen=True, slots=True)
class Room:
    """``member`` could begin a cache line if ``record`` grew by so many ``bytes``: the one searched, or a holder."""

    member: str
    record: str
    bytes: int

    def reason(self, searched: str, growth: int) -> str:
        """Why no alignment of the record ``searched``, which may grow by ``growth`` bytes, was looked at."""
        held, of_holder = ("", "") if self.record == searched else (" and what holds it", f" of {self.record}")
        allowed = f"may grow by no more than {growth} bytes" if growth else "may not grow"
        place = f"{self.member} at the start of a line needs {self.bytes} bytes more{of_holder}"
        return f"no alignment was searched, for {searched}{held} {allowed}: {place} (growth = {self.bytes} in [search])"
