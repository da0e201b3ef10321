# SPDX-License-Identifier: GPL-2.0-or-later
"""What a layout is predicted to cost: contended samples, over the phases that objects can have.

A contact costs its weight in a phase in which both spots have bytes on one line, and nothing in any other phase.
The assumptions are told in docs/cost.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from linesmith.analyzer.geometry import line_of, lines_touched, meeting_phases
from linesmith.analyzer.geometry.phase import ObjectStarts, Span
from linesmith.analyzer.model import ADJACENT_LINE_BYTES, CACHE_LINE_BYTES, Prediction, Residual
from linesmith.tuner.cost.heat import Contact, Heat
from linesmith.tuner.cost.phase_mix import PhaseMix


@dataclass(frozen=True, slots=True)
class Cost:
    """Predicted contended samples: ``here`` in the profile's phase, ``anywhere`` averaged over all phases."""

    here: float
    anywhere: float


def cost(heat: Heat, starts: Sequence[int], granule: int, growth: int = 0) -> Cost:
    """Cost of members that begin at bytes ``starts`` of the object (by position in the layout).

    Objects are aligned to ``granule`` and ``growth`` bytes larger than they are now.
    """
    mix, seen, line_bytes = heat.mix(granule, growth), heat.here(granule, growth), heat.line_bytes
    here = anywhere = 0.0
    for contact in heat.contacts:
        last, first = _edges(contact, starts)
        if first - last < line_bytes:
            anywhere += contact.weight * mix.share(last, first, line_bytes)
            here += contact.weight * seen.share(last, first, line_bytes)
    return Cost(here, anywhere)


def share_together(contact: Contact, starts: Sequence[int], mix: PhaseMix, line_bytes: int) -> float:
    """Share of the objects of ``mix`` in which the contact's spots meet."""
    last, first = _edges(contact, starts)
    return mix.share(last, first, line_bytes)


def adjacent_cost(heat: Heat, starts: Sequence[int], objects: ObjectStarts) -> float:
    """The average over all phases of the ``objects`` at 128 bytes, where the prefetcher pairs lines."""
    shares = (one.weight * residual_share(one, starts, ADJACENT_LINE_BYTES, objects) for one in heat.contacts)
    return sum(shares)


def _edges(contact: Contact, starts: Sequence[int]) -> tuple[int, int]:
    """Last byte of the spot that begins first, and first byte of the other: what lies between parts them."""
    one, other = contact.first, contact.second
    here, there = starts[one.member] + one.start, starts[other.member] + other.start
    return (here + one.size - 1, there) if here <= there else (there + other.size - 1, here)


def residual_share(contact: Contact, starts: Sequence[int], line_bytes: int, objects: ObjectStarts) -> float:
    """Share of the phases of the ``objects`` in which the contact's spots meet on a line of ``line_bytes``."""
    last, first = _edges(contact, starts)
    if first - last >= line_bytes:
        return 0.0
    return _share((last + objects.first) % objects.step, max(first - last, 0), line_bytes, objects.step)


@lru_cache(maxsize=1 << 14)
def _share(last: int, gap: int, line_bytes: int, granule: int) -> float:
    return meeting_phases(Span(last, 1), Span(last + gap, 1), line_bytes, granule)


def meets(contact: Contact, starts: Sequence[int], phase: int, line_bytes: int) -> bool:
    """Whether the contact's spots are on one line in this phase."""
    last, first = _edges(contact, starts)
    return first <= last or line_of(last + phase, line_bytes) == line_of(first + phase, line_bytes)


def residuals(
    heat: Heat, before: Sequence[int], after: Sequence[int], objects: tuple[ObjectStarts, ObjectStarts]
) -> tuple[Residual, ...]:
    """For each sampled contact and line size, the share of phases in which it meets before and after.

    ``objects`` are those of the old layout and of the new one.
    """
    return tuple(
        Residual(
            contact.first.name,
            contact.second.name,
            line_bytes,
            residual_share(contact, before, line_bytes, objects[0]),
            residual_share(contact, after, line_bytes, objects[1]),
        )
        for contact in heat.sampled
        for line_bytes in (CACHE_LINE_BYTES, ADJACENT_LINE_BYTES)
    )


def hot_lines(heat: Heat, starts: Sequence[int], granule: int, phase: int | None = None) -> float:
    """Lines on which the hot members lie, in ``phase`` or, without one, on average over all phases."""
    if phase is not None:
        return len(_lines(heat, starts, phase))
    return mean_hot_lines(heat, starts, heat.mix(granule))


def mean_hot_lines(heat: Heat, starts: Sequence[int], mix: PhaseMix) -> float:
    """The same on average over the phases of ``mix``."""
    return sum(share * len(_lines(heat, starts, phase)) for phase, share in mix.phases(heat.line_bytes))


def _lines(heat: Heat, starts: Sequence[int], phase: int) -> set[int]:
    places = ((starts[spot.member] + spot.start, spot.size) for spot in heat.spots)
    return {line for first, size in places for line in lines_touched(first + phase, size, heat.line_bytes)}


def hot_neighbours(heat: Heat, starts: Sequence[int], objects: ObjectStarts) -> int:
    """Contacts, sampled or possible, that meet in at least one phase of the ``objects``."""
    return sum(1 for one in heat.contacts if residual_share(one, starts, heat.line_bytes, objects) > 0)


def prediction(heat: Heat, before: Sequence[int], after: Sequence[int], granule: int, growth: int = 0) -> Prediction:
    """Contended samples, to a thousandth, and lines of hot members, before and after."""
    return Prediction(
        before=round(cost(heat, before, heat.granule).here, 3),
        after=round(cost(heat, after, granule, growth).here, 3),
        hot_lines_before=round(mean_hot_lines(heat, before, heat.here(heat.granule)), 3),
        hot_lines_after=round(mean_hot_lines(heat, after, heat.here(granule, growth)), 3),
    )
