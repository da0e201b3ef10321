# SPDX-License-Identifier: GPL-2.0-or-later
"""Which lines of a recording may hold an object of a type, by what the snapshot says of their memory."""

from __future__ import annotations

from collections.abc import Iterator

from linesmith.analyzer.addresses.object_map import ObjectMap
from linesmith.analyzer.containment import Containment
from linesmith.analyzer.model import Profile, SharedLine


def lines_that_may_hold(wanted: str, profile: Profile, containment: Containment) -> tuple[SharedLine, ...]:
    """The lines whose memory has the ``wanted`` type, a type that holds it by value, or a type that is not known."""
    known = ObjectMap(profile.areas)
    holders = _holders(wanted, containment)
    return tuple(line for line in profile.lines if _may_hold(line, known, holders))


def lines_known_to_hold(wanted: str, profile: Profile, containment: Containment) -> tuple[SharedLine, ...]:
    """The lines whose memory is known to be of the ``wanted`` type, or of one that holds it by value."""
    known = ObjectMap(profile.areas)
    holders = _holders(wanted, containment)
    return tuple(line for line in profile.lines if _holds(line, known, holders))


def _holders(wanted: str, containment: Containment) -> frozenset[str]:
    layouts = containment.layouts
    places = (place for layout in layouts.variants(wanted) for place in containment.places(layout.id))
    return frozenset({wanted, *(layouts.by_id(place.container).name for place in places)})


def _may_hold(line: SharedLine, known: ObjectMap, holders: frozenset[str]) -> bool:
    if line.address is None:
        return True
    return any(not types or holders & types for types in _types(line, known))


def _holds(line: SharedLine, known: ObjectMap, holders: frozenset[str]) -> bool:
    return line.address is not None and any(holders & types for types in _types(line, known))


def _types(line: SharedLine, known: ObjectMap) -> Iterator[frozenset[str]]:
    """What the memory of each access may be; nothing where it is not known."""
    for access in line.accesses:
        if access.offset is not None:
            place = known.at((line.address or 0) + access.offset)
            yield frozenset(place.area.types) if place else frozenset()
