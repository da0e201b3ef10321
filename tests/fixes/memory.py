# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the objects of a scenario lie: in the slabs of their cache, or where the linker put a variable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fixes.scenario import Objects, Scenario, ScenarioError

from linesmith.analyzer.layouts.containment import Containment
from linesmith.analyzer.model import CACHE_LINE_BYTES, Layout, ObjectArea, ObjectKind, SlabPlace
from linesmith.analyzer.slab.allocation import Kernel
from linesmith.analyzer.slab.starts import slab_places

# Somewhere in the direct map of x86-64 (Documentation/arch/x86/x86_64/mm.rst), on a multiple of every slab's size.
SLABS_AT = 0xFFFF_8881_0400_0000
# Where the copies of per-CPU variables of the first CPU begin, and how far it is to the next CPU's.
COPIES_AT = 0xFFFF_8882_3FC0_0000
COPY_BYTES = 0x4_0000


@dataclass(frozen=True, slots=True)
class Memory:
    """``areas`` hold the objects; ``starts`` are the first bytes of the record in each slot, in order.

    A scenario of ``count`` objects takes so many slots in a row, the first where its phase is the worst.
    """

    outer: str
    place: str
    offset: int
    areas: tuple[ObjectArea, ...]
    starts: tuple[int, ...]
    count: int

    @property
    def fixed(self) -> bool:
        """Whether the linker chose the place, which KASLR moves."""
        return self.areas[0].kind is ObjectKind.GLOBAL

    def choices(self) -> tuple[tuple[int, ...], ...]:
        """For each phase that a slab has, in order, the record's first bytes when the first object is in that phase."""
        first: dict[int, int] = {}
        for slot, start in enumerate(self.starts[: len(self.starts) - self.count + 1]):
            first.setdefault(start % CACHE_LINE_BYTES, slot)
        return tuple(self.starts[slot : slot + self.count] for _, slot in sorted(first.items()))


def memory(
    scenario: Scenario, layout: Layout, containment: Containment, kernel: Kernel, symbols: Mapping[str, int]
) -> Memory:
    """The memory of the scenario's objects; raises ``ScenarioError`` for a cache or variable that is not there."""
    if scenario.objects.variable:
        return _variable(scenario.objects, layout, symbols)
    places = slab_places(layout, containment, kernel)
    wanted = scenario.objects.cache
    found = next((place for place in places if wanted in ("", place.cache.name)), None)
    if found is None:
        known = ", ".join(place.cache.name for place in places)
        raise ScenarioError(f"no cache {wanted} is known to hold a {layout.title}; there are {known}")
    return _slabs(found, scenario.objects.count)


def _variable(objects: Objects, layout: Layout, symbols: Mapping[str, int]) -> Memory:
    """A variable where the linker put it; of one that every CPU has, ``count`` copies."""
    address = symbols.get(objects.variable)
    if address is None:
        raise ScenarioError(f"there is no variable {objects.variable}")
    first, end = symbols.get("__per_cpu_start"), symbols.get("__per_cpu_end")
    if first is None or end is None or not first <= address < end:
        starts, kind = [address + objects.offset], ObjectKind.GLOBAL
    else:
        starts = [COPIES_AT + cpu * COPY_BYTES + address - first for cpu in range(objects.count)]
        kind = ObjectKind.PER_CPU
    size, types = layout.size, (layout.title,)
    areas = tuple(
        ObjectArea(kind, objects.variable, start, size, size, 1, types, cpu=cpu) for cpu, start in enumerate(starts)
    )
    return Memory(layout.name, objects.variable, 0, areas, tuple(starts), len(starts))


def _slabs(place: SlabPlace, count: int) -> Memory:
    geometry = place.cache.geometry
    slabs = -(-count // geometry.objects) + 1
    areas = tuple(
        ObjectArea(
            ObjectKind.SLAB,
            place.cache.name,
            SLABS_AT + number * geometry.slab_bytes + geometry.lead,
            geometry.object_bytes,
            geometry.stride,
            geometry.objects,
            (f"struct {place.outer}",),
        )
        for number in range(slabs)
    )
    starts = tuple(
        area.address + number * area.stride + place.offset for area in areas for number in range(geometry.objects)
    )
    name = f"{place.cache.name}, {place.path}" if place.path else place.cache.name
    return Memory(place.outer, name, place.offset, areas, starts, count)
