# SPDX-License-Identifier: GPL-2.0-or-later
"""What speaks for and against an option: what it leaves, how large it makes the record, what a reviewer has to read.

It orders what is replayed. Below that: what a reader must know about a candidate besides its numbers, and a change as
two builds have it; ``as_built`` says what became of the pairs that met, from the layouts that a compiler really made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from linesmith.analyzer.attribution.variables import apart_sentence
from linesmith.analyzer.base.text import listed
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.gaps import (
    ObjectStarts,
    lines,
    phases,
    record_alignment,
    straddles,
    with_inferred_alignment,
)
from linesmith.analyzer.layouts.placement import BYTE, place_member, visible, visible_places
from linesmith.analyzer.model import CACHE_LINE_BYTES, Candidate, Churn, Finding, Layout, Member
from linesmith.tuner.propose.arrangement import Option
from linesmith.tuner.propose.meetings import Cost, MemberSpot
from linesmith.tuner.propose.phases import Floats, memory
from linesmith.tuner.propose.subject import ContendedRecord, notes_elsewhere

# What one exposed member is taken to cost, as a share of what can be saved.
EXPOSED_COST = 0.3
# What each atom that moves must take away at least, as a share of what can be saved.
WORTH_A_MOVE = 0.06
# What must be taken away if all members change their offset without being moved: nobody knows whom they meet then.
WORTH_DISTURBING = 0.05
# What growing must take away more: for growing at all, and for its share of the size; there is a limit to it, for what
# is contended most is often not what there is most of. Shrinking is worth its share.
WORTH_GROWING = 0.2
MOST_FOR_GROWING = 0.5
# What moving others away from a contended lock must take away more than moving the lock: it stays with all the rest.
AROUND_A_LOCK = 0.3
# Steps in which options are compared, as a share of what can be saved: within one, smaller things decide.
STEP = 0.05
# Things of one kind that are listed by name.
MOST_NAMED = 3
IN_THE_SOURCE = "#if blocks, offset assertions, initialisers by position and memset ranges are in the source."


@dataclass(frozen=True, slots=True)
class Tradeoff:
    """What speaks for and against ``option``; less is better in all.

    The best option leaves ``best`` of ``now`` contended samples. ``exposed`` is how many members without samples newly
    meet a writer, as much as each is probably read.
    """

    target: ContendedRecord
    option: Option
    now: float
    best: float
    exposed: float
    churn: Churn

    @property
    def grown(self) -> int:
        """Bytes by which the record or one around it becomes larger, negative where all shrink."""
        return self.target.grown(self.option.size, self.option.granule)

    @property
    def cost(self) -> float:
        """Contended samples that stay, with those that are risked."""
        return left(self.option.cost) + EXPOSED_COST * (self.now - self.best) * self.exposed

    @property
    def price(self) -> float:
        """What is left of what can be saved, as a share, with what churn and growth must earn; doing nothing has 1."""
        target, size = self.target, self.target.layout.size
        growth, moved = self.option.size - size, disturbed(target, self.option)
        share = growth / size if growth else heavier(target, self.option)
        grown = share + (WORTH_GROWING if self.grown > 0 else 0.0)
        shifted = sum(target.interest[position] for position in moved) / max(sum(target.interest), 1.0)
        changed = WORTH_A_MOVE * self.churn.atoms + WORTH_DISTURBING * shifted
        locks = {target.owners[spot.member] for spot in self._writers if spot.lock}
        around_lock = bool(locks) and locks.isdisjoint(self.option.arrangement.moved)
        around = AROUND_A_LOCK if around_lock else 0.0
        return (self.cost - self.best) / (self.now - self.best) + changed + around + min(grown, MOST_FOR_GROWING)

    @property
    def effort(self) -> tuple[bool, int]:
        """Whether a record grows, and how many members move: the smaller change has less of it."""
        return self.grown > 0, self.churn.members

    @property
    def details(self) -> tuple[float, ...]:
        """What decides between equals."""
        target, option = self.target, self.option
        objects = target.heat.mixes.starts(option.granule, target.growth(option.size))
        return (
            option.cost.anywhere,
            elsewhere(target, [option])[0],
            option.size,
            all(target.owners[spot.member] not in option.arrangement.moved for spot in self._writers),
            target.heat.adjacent_cost(option.starts, objects),
            len(disturbed(target, option)),
        )

    @property
    def _writers(self) -> list[MemberSpot]:
        names = {contact.writer for contact in self.target.heat.sampled}
        return [spot for spot in self.target.heat.spots if spot.name in names]


def exposures(target: ContendedRecord, options: Sequence[Option]) -> list[float]:
    """Of each option how many members without samples newly meet a written one, as much as each is probably used.

    Each counts once, for the mean of the profile's phases and all phases, as far as the option makes it more than now.
    """
    now, found = _exposed(target, [target.starts], target.heat.granule), [0.0] * len(options)
    for granule in {one.granule for one in options}:
        places = [at for at, one in enumerate(options) if one.granule == granule]
        then = _exposed(target, [options[at].starts for at in places], granule)
        more = np.maximum(then - now, 0.0) * target.interest
        more[:, [spot.member for spot in target.heat.spots]] = 0.0
        for at, row in zip(places, more.tolist(), strict=True):
            found[at] = float(sum(row))
    return found


def _exposed(target: ContendedRecord, rows: Sequence[Sequence[int]], granule: int) -> Floats:
    """How much of the time each member shares a line with the written one that it meets most, by position."""
    heat, starts = target.heat, np.array(rows)
    written = np.array([(one.member, one.start, one.size) for one in heat.spots if one.written], np.int64)
    member, start, size = written.reshape(-1, 3, 1, 1).swapaxes(0, 1)
    first, sizes = starts.T[member[:, 0, 0], :, np.newaxis] + start, [one.size for one in target.layout.members]
    before = first <= starts
    last, behind = np.where(before, first + size - 1, starts + sizes - 1), np.where(before, starts, first)
    mixes = heat.here(granule), heat.mix(granule)
    here, anywhere = (mix.shares(last, behind, heat.line_bytes) for mix in mixes)
    met: Floats = ((here + anywhere) / 2).max(axis=0, initial=0.0)
    return met


def elsewhere(target: ContendedRecord, options: Sequence[Option]) -> list[float]:
    """What options cost a variable that another build puts elsewhere; nothing where all places count already."""
    heat, found = target.heat, [0.0] * len(options)
    if not heat.mixes.rows or not heat.mixes.placed:
        return found
    for granule in {one.granule for one in options}:
        places = [at for at, one in enumerate(options) if one.granule == granule]
        starts = np.array([options[at].starts for at in places])
        for at, cost in zip(places, heat.residual_costs(starts, ObjectStarts(granule)), strict=True):
            found[at] = cost
    return found


def left(cost: Cost) -> float:
    """Contended samples that a layout leaves: the profile's phase counts as much as all phases together."""
    return (cost.here + cost.anywhere) / 2


def smallest(found: Sequence[Tradeoff]) -> Tradeoff:
    """The first by ``smallest_first``, whose details only those are asked for that nothing else distinguishes."""
    least = min(map(_roughly, found))
    return min((one for one in found if _roughly(one) == least), key=smallest_first)


def _roughly(one: Tradeoff) -> tuple[float, ...]:
    return *one.effort, round(one.cost / max(one.now - one.best, 1e-9) / STEP)


def smallest_first(one: Tradeoff) -> tuple[float, ...]:
    """What to order by: growth, then members that move, then what is left and risked, then details."""
    return *_roughly(one), *one.details


def best_first(one: Tradeoff) -> tuple[float, ...]:
    """What to order by: the price, then the smallest change."""
    return round(one.price / STEP), *smallest_first(one)


def heavier(target: ContendedRecord, option: Option) -> float:
    """By what share objects need more memory: slabs of all caches that hold one, else bytes."""
    if target.grown(option.size, option.granule) <= 0:
        return 0.0
    mixes, growth = target.heat.mixes, target.growth(option.size)
    before = sum(one.pages_per_1000 for one in memory(mixes, target.heat.granule))
    after = sum(one.pages_per_1000 for one in memory(mixes, option.granule, growth))
    if before:
        return after / before - 1
    largest = target.holders.largest(option.granule, option.size - target.layout.size)
    of_holder = largest.after / largest.before - 1 if largest else 0.0
    return max(option.size / target.layout.size - 1, of_holder)


def disturbed(target: ContendedRecord, option: Option) -> list[int]:
    """The positions of members that change their offset without being moved."""
    still = (position for position, atom in enumerate(target.owners) if atom not in option.arrangement.moved)
    return [position for position in still if option.starts[position] != target.starts[position]]


def notes(finding: Finding, target: ContendedRecord, option: Option, in_doubt: str, torn: str) -> tuple[str, ...]:
    """Sentences on what stays, what it costs, what is assumed and what was not checked.

    ``in_doubt`` and ``torn`` are what ``doubt`` and ``split`` say.
    """
    locks = dict.fromkeys(spot for one in target.heat.sampled for spot in (one.first, one.second) if spot.lock)
    whole = (spot.name for spot in locks if target.layout.members[spot.member].size <= CACHE_LINE_BYTES)
    return (
        *filter(None, (in_doubt,)),
        *([f"This is {apart_sentence(finding.apart)}."] if finding.apart else []),
        *filter(None, (torn,)),
        *(f"{name} is a lock and stays in one piece: waiting for it does not become shorter." for name in whole),
        *_alignment(target, option),
        *_origins(finding, target),
        *notes_elsewhere(target, option.arrangement.moves),
        _unchecked(target),
    )


def doubt(finding: Finding, target: ContendedRecord) -> str:
    """A sentence on what speaks against the record on the line; empty where nothing does."""
    against = finding.objects[0].doubt
    return f"The line may not be of {target.title}: {against}." if against else ""


def split(target: ContendedRecord, option: Option) -> str:
    """A sentence on members, hot or not, that lie on two lines in more phases than before; empty without any.

    Arrays are left out: their elements are used one by one.
    """
    size, mixes = target.heat.line_bytes, target.heat.mixes
    now = mixes.starts(target.heat.granule)
    then = mixes.starts(option.granule, option.size - target.layout.size)

    def on_two_lines(begin: int, member: Member, objects: ObjectStarts) -> float:
        """Share of the phases."""
        found = phases(objects.step, size, objects.first)
        return sum(straddles(begin + phase, member.size, size) for phase in found) / len(found)

    found: list[str] = []
    for member, old, new in zip(target.layout.members, target.starts, option.starts, strict=True):
        if member.name and not member.is_bit_field and not member.dimensions:
            before, after = on_two_lines(old, member, now), on_two_lines(new, member, then)
            found += [f"{member.name} (in {after:.0%} of the phases, {before:.0%} before)"] if after > before else []
    return f"Puts on two cache lines: {listed(found, MOST_NAMED)}." if found else ""


def _unchecked(target: ContendedRecord) -> str:
    units = target.premises.parsed.get(target.type.split()[-1], 0)
    if units:
        counted = f"{units:,} units" if units > 1 else "1 unit"
        return f"What the code relies on was looked for in {counted} and in the text of the tree, and is kept to."
    given = "the layout and the facts given were" if target.premises.facts.of(target.type) else "the layout was"
    return f"Only {given} checked: {IN_THE_SOURCE}"


def _alignment(target: ContendedRecord, option: Option) -> Iterator[str]:
    """Where an alignment does not hold."""
    if option.arrangement.aligned:
        yield (
            f"Holds only where objects are allocated at multiples of {option.granule} bytes: KMEM_CACHE() and static"
            " objects are, kmalloc() and malloc() need not be."
        )
        loose = target.heat.mixes.loose(option.granule, option.size - target.layout.size)
        if loose:
            yield f"Not so in {listed(loose, MOST_NAMED)}: they are not created with that alignment."


def _origins(finding: Finding, target: ContendedRecord) -> Iterator[str]:
    """What the record is part of, and which alignments the debug information does not say."""
    if containers := finding.objects[0].containers:
        yield f"Also part of {listed(containers, MOST_NAMED)}, whose objects decide the phase."
    if target.inferred:
        names = ", ".join(name or "an anonymous member" for name in target.inferred)
        yield f"The alignment of {names} is inferred from the offsets; the source may ask for less."


@dataclass(frozen=True, slots=True)
class _Home:
    """Where something lies in the other build's object: the bit at which it begins, in the member it is part of."""

    bit: int
    member: Member


def as_built(
    target: ContendedRecord, outer: Layout, layouts: Layouts, built: Layout, theirs: Layouts
) -> Candidate | None:
    """The difference between ``outer``, the record that holds ``target``, and the same record as it was ``built``.

    Its steps are not known. ``None`` where the two do not hold the same members, so that nothing can be compared.
    """
    places = ((name, one, built.members[one.member]) for name, one in visible_places(built, theirs).items())
    homes = {name: _Home(member.first_bit + one.start * BYTE, member) for name, one, member in places}
    known = list[_Home]()
    for member in target.layout.members:
        shown = [(homes.get(name), start) for name, start, _ in visible(member, layouts)]
        found = {replace(home, bit=home.bit - start * BYTE) for home, start in shown if home is not None}
        if len(found) != 1 or not all(home for home, _ in shown):
            return None  # it is not there, or what it shows no longer lies together
        known += found
    starts = tuple(one.bit // BYTE for one in known)
    growth = target.growth(target.layout.size + built.size - outer.size)
    granule = record_alignment(with_inferred_alignment(built))
    mixes, before = target.heat.mixes, layouts.by_id(target.layout.id)
    objects = mixes.starts(target.heat.granule), mixes.starts(granule, growth)
    after = _rebuilt(before, known, built if before.id == outer.id else None, built.size - outer.size)
    return Candidate(
        target.type,
        before,
        after,
        (),
        target.heat.residuals(target.starts, starts, objects),
        lines(after),
        proofs=target.heat.proofs(starts, granule, growth),
        holders=target.holders.changes(granule, built.size - outer.size),
        granules=(objects[0].step, objects[1].step),
        firsts=mixes.firsts((target.heat.granule, granule), growth),
        loose=mixes.loose(granule, growth),
    )


def _rebuilt(before: Layout, homes: Sequence[_Home], built: Layout | None, growth: int) -> Layout:
    """``before`` with its members where they are now, by the types of its own build; ``built`` is the whole record."""
    base = 0 if built else min(home.bit for home in homes)
    placed = [
        replace(there, alignment=home.member.alignment) if (there := place_member(one, home.bit - base)).name else there
        for one, home in zip(before.members, homes, strict=True)
    ]
    members = tuple(sorted(placed, key=lambda one: one.first_bit))
    aligned = built or before
    return replace(
        before,
        size=before.size + growth,
        members=members,
        natural_alignment=aligned.natural_alignment,
        alignment=aligned.alignment,
    )
