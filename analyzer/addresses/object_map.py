# SPDX-License-Identifier: GPL-2.0-or-later
"""The objects of a snapshot by address."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, replace

from linesmith.analyzer.model import ObjectArea, ObjectKind


@dataclass(frozen=True, slots=True)
class PlacedObject:
    """One object of an area; ``start`` is its first address."""

    area: ObjectArea
    start: int

    @property
    def end(self) -> int:
        """First address behind the object."""
        return self.start + self.area.size


class ObjectMap:
    """Finds objects by address; areas must not overlap (of those that do, the one that begins last wins)."""

    def __init__(self, areas: Iterable[ObjectArea]) -> None:
        self._areas = sorted(areas, key=lambda area: area.address)
        self._starts = [area.address for area in self._areas]

    def element_at(self, address: int) -> PlacedObject | None:
        """The same, named as an element where a variable is an array: ``per_thread[3]``."""
        place = self.at(address)
        if place is None or place.area.count == 1 or place.area.kind not in (ObjectKind.GLOBAL, ObjectKind.PER_CPU):
            return place
        number = (place.start - place.area.address) // place.area.stride
        return PlacedObject(replace(place.area, name=f"{place.area.name}[{number}]"), place.start)

    def at(self, address: int) -> PlacedObject | None:
        """The object that holds the byte at ``address``; ``None`` between objects and where nothing is known."""
        index = bisect_right(self._starts, address) - 1
        if index < 0:
            return None
        area = self._areas[index]
        start = area.address + min((address - area.address) // max(area.stride, 1), area.count - 1) * area.stride
        return PlacedObject(area, start) if start <= address < start + area.size else None
