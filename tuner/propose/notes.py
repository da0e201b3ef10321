# SPDX-License-Identifier: GPL-2.0-or-later
"""What a reader must know about a candidate besides its numbers; and a change as two builds have it.

``as_built`` says what became of the pairs that met, from the layouts that a compiler really made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from linesmith.analyzer.attribution.variables import apart_sentence
from linesmith.analyzer.base.text import listed
from linesmith.analyzer.layouts.alignment import record_alignment, with_inferred_alignment
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.gaps import ObjectStarts, lines, phases, straddles
from linesmith.analyzer.layouts.placement import BYTE, place_member, visible, visible_places
from linesmith.analyzer.model import CACHE_LINE_BYTES, Candidate, Finding, Layout, Member
from linesmith.tuner.cost.meetings import proofs, residuals
from linesmith.tuner.propose.arrangement import Option
from linesmith.tuner.propose.subject import ContendedRecord, notes_elsewhere

# Things of one kind that are listed by name.
MOST_NAMED = 3
IN_THE_SOURCE = "#if blocks, offset assertions, initialisers by position and memset ranges are in the source."


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
    return f"Whether {target.title} lies on the line as told is in doubt: {against}." if against else ""


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
    found = tuple(_home(member, layouts, homes) for member in target.layout.members)
    known = tuple(one for one in found if one is not None)
    if len(known) < len(found):
        return None
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
        residuals(target.heat, target.starts, starts, objects),
        lines(after),
        proofs=proofs(target.heat, starts, granule, growth),
        holders=target.holders.changes(granule, built.size - outer.size),
        granules=(objects[0].step, objects[1].step),
        firsts=mixes.firsts((target.heat.granule, granule), growth),
        loose=mixes.loose(granule, growth),
    )


def _home(member: Member, layouts: Layouts, homes: Mapping[str, _Home]) -> _Home | None:
    """Where the member is; ``None`` where it is not there, or what it shows no longer lies together."""
    shown = [(homes.get(name), start) for name, start, _ in visible(member, layouts)]
    found = {replace(home, bit=home.bit - start * BYTE) for home, start in shown if home is not None}
    return found.pop() if len(found) == 1 and all(home for home, _ in shown) else None


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
