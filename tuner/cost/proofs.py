# SPDX-License-Identifier: GPL-2.0-or-later
"""In which phases two members still share a line: for each place of the objects, and for every start there could be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from linesmith.analyzer.model import PhaseProof, PlacePhases
from linesmith.tuner.cost.conflict import share_together
from linesmith.tuner.cost.heat import Contact, Heat
from linesmith.tuner.cost.phase_mix import LINE_SIZES, PhaseMix, every_start, phase_mix


def proofs(heat: Heat, starts: Sequence[int], granule: int, growth: int = 0) -> tuple[PhaseProof, ...]:
    """Each contact of the profile, at 64 and at 128 bytes, at each place and, last, at every multiple of ``granule``.

    Members begin at bytes ``starts`` of objects that are ``growth`` bytes larger than now.
    """
    mix = heat.mix(granule, growth)
    places = [
        (size, place, _alone(place, size)) for size in LINE_SIZES for place in _with_every_start(mix, granule, size)
    ]
    return tuple(
        _proof(contact, starts, place, size, alone)
        for contact in sorted(heat.sampled, key=lambda one: -one.weight)
        for size, place, alone in places
    )


def _with_every_start(mix: PhaseMix, granule: int, line_bytes: int) -> Iterator[PlacePhases]:
    yield from (place for place in mix.at(line_bytes) if place.place)
    yield every_start(granule, line_bytes)


def _alone(place: PlacePhases, line_bytes: int) -> tuple[PhaseMix, ...]:
    """Each phase of the place by itself."""
    return tuple(_one_phase(phase, line_bytes) for phase, _ in place.phases)


@lru_cache(maxsize=1024)
def _one_phase(phase: int, line_bytes: int) -> PhaseMix:
    return phase_mix([PlacePhases("", line_bytes, ((phase, 1.0),))])


def _proof(
    contact: Contact, starts: Sequence[int], place: PlacePhases, line_bytes: int, alone: Sequence[PhaseMix]
) -> PhaseProof:
    met = [share_together(contact, starts, one, line_bytes) > 0 for one in alone]
    share = sum(share for (_, share), together in zip(place.phases, met, strict=True) if together)
    names = contact.first.name, contact.second.name
    return PhaseProof(*names, place.place, line_bytes, len(met), sum(met), min(share, 1.0))
