# SPDX-License-Identifier: GPL-2.0-or-later
"""Random orders of a record's members that every rule allows: those of its layout and those of its source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random

from linesmith.analyzer.geometry.atoms import Atom, anonymous_struct, atoms, spoken_name
from linesmith.analyzer.geometry.inference import with_inferred_alignment
from linesmith.analyzer.geometry.placement import BYTE, place, refusal
from linesmith.analyzer.geometry.unmovable import unmovable
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import FactKind, Layout, SourceFact
from linesmith.patches.atoms import Scope
from linesmith.patches.body import Body, parsed
from linesmith.patches.permutation import blocks
from linesmith.patches.pieces import Origin
from linesmith.patches.records import Record, is_packed
from linesmith.tuner.constraints import freedom

SHUFFLES = 20
EXCHANGES = 200


@dataclass(frozen=True)
class Order:
    """The members of the layout ``record`` as positions in their present order.

    ``names`` are those of the members in the new order and ``before`` in the present one; what has none stays.
    """

    record: int
    positions: tuple[int, ...]
    names: tuple[str, ...]
    before: tuple[str, ...]


@dataclass(frozen=True)
class _Body:
    """A struct whose members may move: the record, or an anonymous struct in it at byte ``base``.

    ``regions`` tell by part what keeps it from others, ``text`` is the body in the source.
    """

    layout: Layout
    parts: tuple[Atom, ...]
    base: int
    regions: tuple[object, ...]
    text: Scope


def declared_rigid(file: str, source: bytes, record: Record) -> str | None:
    """Why the declaration allows no other order, or ``None``."""
    if is_packed(source, record):
        return "it is declared packed"
    return "programs rely on it (uapi)" if "/uapi/" in f"/{file}" else None


def rigid(layout: Layout, layouts: Layouts) -> str | None:
    """Why the layout allows no order but the present one, or ``None``."""
    said = unmovable(layout, layouts) or refusal(with_inferred_alignment(layout))
    return said.partition(":")[0].replace(layout.file or "-", "its header") if said else None


def random_orders(layout: Layout, layouts: Layouts, source: bytes, record: Record, random: Random) -> list[Order]:
    """An order for the record and each anonymous struct in it, those that must stay as they are left out."""
    facts = tuple(
        SourceFact(FactKind.TOGETHER, names, "they stand in one block of the source")
        for names in blocks(source, record)
    )
    found = []
    for body in _bodies(layout, layouts, facts, parsed(Origin(source, ""), record), 0):
        positions = _random_order(body, layouts, facts, layout, random)
        if positions != sorted(positions):
            spoken = [spoken_name(member, layouts) for member in body.layout.members]
            names = tuple(spoken[at] for at in positions if spoken[at])
            found.append(Order(body.layout.id, tuple(positions), names, tuple(filter(None, spoken))))
    return found


def _bodies(layout: Layout, layouts: Layouts, facts: tuple[SourceFact, ...], text: Body, base: int) -> Iterator[_Body]:
    explained = with_inferred_alignment(layout)
    if refusal(explained):
        return
    parts = atoms(explained, layouts, facts)
    inner = text.common([name for part in parts for name in part.names if name])
    yield _Body(explained, parts, base, tuple(_region(inner, part) for part in parts), inner)
    for member in layout.members:
        found = anonymous_struct(member, layouts)
        if found is not None:
            yield from _bodies(found, layouts, facts, text, base + member.offset)


def _region(body: Scope, part: Atom) -> object:
    """What keeps the part from others: the region of its source; one without a name to find it by is alone."""
    if not all(part.names):
        return part
    return next((atom.region for atom in body.atoms if atom.declares(part.name)), None)


def _positions(parts: Sequence[Atom]) -> list[range]:
    ends = [sum(len(part.members) for part in parts[: at + 1]) for at in range(len(parts))]
    return [range(end - len(part.members), end) for part, end in zip(parts, ends, strict=True)]


def _random_order(
    body: _Body, layouts: Layouts, facts: tuple[SourceFact, ...], outer: Layout, random: Random
) -> list[int]:
    """Positions in an order that all rules allow, far from the present one where they allow that."""
    limits = freedom(body.layout, body.parts, layouts, facts, body.base, outer)
    kept = list(zip(limits.segments, body.regions, strict=True))
    present = list(range(len(body.parts)))
    whole = _positions(body.parts)

    def legal(order: Sequence[int], runs: Sequence[Sequence[int]]) -> bool:
        positions = [at for atom in order for at in runs[atom]]
        placed = place([body.layout.members[at] for at in positions], body.layout.alignment)
        starts = dict(zip(positions, placed.starts, strict=True))
        ordered = [body.base + starts[at] // BYTE for at in range(len(positions))]
        fits = body.layout.id == outer.id or placed.size == body.layout.size
        keeps = _bit_field_pairs(body.layout, positions) == _bit_field_pairs(body.layout, sorted(positions))
        return fits and keeps and limits.refuses(order, ordered, placed.size) is None

    for _ in range(SHUFFLES):
        runs = [whole[atom] if atom in limits.fixed else _within(body, atom, random) for atom in present]
        order = _shuffled(present, kept, random)
        if legal(order, runs):
            return [at for atom in order for at in runs[atom]]
    order = present
    for _ in range(EXCHANGES):
        first, second = random.choices(present, k=2)
        tried = list(order)
        tried[first], tried[second] = tried[second], tried[first]
        if kept[first] == kept[second] and legal(tried, whole):
            order = tried
    return [at for atom in order for at in whole[atom]]


def _within(body: _Body, part: int, random: Random) -> list[int]:
    """The positions of a part, with what one arm of its ``#if`` block or its group holds in another order."""
    positions, names = list(_positions(body.parts)[part]), body.parts[part].names
    for atom in body.text.atoms:
        arms = atom.scopes if atom.declares(names[0]) and len(names) > 1 else ()
        if any(sum(one.declares(name) for arm in arms for one in arm.atoms) > 1 for name in names):
            return positions  # which arm counts is not known here
        for arm in arms:
            held = [[at for at, name in enumerate(names) if inner.declares(name)] for inner in arm.atoms]
            units = [(unit, inner.region) for unit, inner in zip(held, arm.atoms, strict=True) if unit]
            mixed = _shuffled(range(len(units)), [region for _, region in units], random)
            places = [at for unit, _ in units for at in unit]
            first = _positions(body.parts)[part].start
            for at, other in zip(places, (at for one in mixed for at in units[one][0]), strict=True):
                positions[at] = first + other
    return positions


def _bit_field_pairs(layout: Layout, positions: Sequence[int]) -> set[tuple[int, int]]:
    """Bit-fields next to each other: they share memory that is written at once, and no others must."""
    pairs = pairwise(positions)
    return {pair for pair in pairs if all(layout.members[at].is_bit_field for at in pair)}


def _shuffled(present: Sequence[int], kept: Sequence[object], random: Random) -> list[int]:
    """Atoms shuffled among the places that are kept for them."""
    order = list(present)
    for one in dict.fromkeys(kept):
        places = [at for at in present if kept[at] == one]
        for place_, atom in zip(places, random.sample(places, len(places)), strict=True):
            order[place_] = atom
    return order
