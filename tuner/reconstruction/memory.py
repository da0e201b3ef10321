# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the objects of sampled lines lie, in memory made up for them: at the phases that the lines show.

A profile of samples does not say which objects there are. One slab of the cache that holds them stands for all, or the
variable itself. Objects in one phase are one object.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.model import (
    CACHE_LINE_BYTES,
    Finding,
    Layout,
    LineObject,
    ObjectArea,
    ObjectKind,
    SlabPlace,
)
from linesmith.analyzer.slab.allocation import Kernel
from linesmith.analyzer.slab.starts import slab_places
from linesmith.tuner.cost.phases import containment_of
from linesmith.tuner.replay.scene import TraceScene, places_in, scene

# In the direct map of x86-64 (Documentation/arch/x86/x86_64/mm.rst), at a multiple of every slab's size.
SLABS_AT = 0xFFFF_8881_0400_0000
# Damaged profiles have objects that run over the end of memory.
TOP = (1 << 64) - (1 << 16)


def sampled_scene(
    findings: Sequence[Finding],
    record: Layout,
    layouts: Layouts,
    kernel: Kernel | None,
    areas: Sequence[ObjectArea] = (),
) -> TraceScene:
    """The objects of ``findings``, whose first object is or holds ``record``; ``kernel`` is ``None`` for a program.

    Of a profile that knows objects, its ``areas``, all that are or hold the record, and where the findings are of
    others, like those of a program's heap, these as well.
    """
    if areas:
        known = [area for kind in scene(record, areas, layouts).kinds for area in kind.areas]
        heap = [one for one in findings if not any(area.address <= _own_address(one) < area.end for area in known)]
        return scene(record, (*areas, *_separate(heap, layouts)), layouts)
    objects = [finding.objects[0] for finding in findings]
    if kernel is None or all(_fixed(one) for one in objects):
        return scene(record, _separate(findings, layouts), layouts)
    outer = layouts.by_id(objects[0].layout or 0)
    return scene(record, (_slab(outer, objects, layouts, kernel),), layouts)


def addresses(findings: Sequence[Finding], here: TraceScene, layouts: Layouts) -> tuple[int, ...]:
    """Where in the scene the first object of each finding begins; findings of objects in one phase have the same."""
    return tuple(_address(finding, here, layouts) for finding in findings)


def _fixed(found: LineObject) -> bool:
    return found.row is not None or bool(found.variable) or found.origin.startswith(ObjectKind.GLOBAL)


def _separate(findings: Sequence[Finding], layouts: Layouts) -> Iterator[ObjectArea]:
    """An area for each object, or for the variable that it is an element of."""
    end = 0
    for finding in sorted(findings, key=_own_address):
        found = finding.objects[0]
        layout = layouts.by_id(found.layout or 0)
        area = ObjectArea(
            ObjectKind.GLOBAL, found.type, _own_address(finding), layout.size, layout.size, 1, (layout.title,)
        )
        if (row := found.row) is not None and row.stride >= layout.size:
            area = ObjectArea(
                ObjectKind.GLOBAL, row.name, row.address, layout.size, row.stride, row.count, (layout.title,)
            )
        if end <= area.address and area.end < TOP:
            end = area.end
            yield area


def _own_address(finding: Finding) -> int:
    return (finding.address or SLABS_AT) + finding.objects[0].start


def _slab(outer: Layout, objects: Sequence[LineObject], layouts: Layouts, kernel: Kernel) -> ObjectArea:
    """One slab of the cache in which objects have most of the phases found."""
    found_in = slab_places(outer, containment_of(layouts), kernel)
    found = {one.phase for one in objects}

    def fitness(place: SlabPlace) -> tuple[bool, int, bool]:
        named = any(place.cache.name in one.origin.split() for one in objects)
        return named, len(found.intersection(one.phase for one in place.phases)), not place.path

    place = max(found_in, key=fitness)
    geometry = place.cache.geometry
    starts = [(start + place.offset) % CACHE_LINE_BYTES for start in geometry.starts]
    # Where no object of the slab begins as they do, its first one does.
    shift = 0 if found.intersection(starts) else (objects[0].phase - starts[0]) % CACHE_LINE_BYTES
    return ObjectArea(
        ObjectKind.SLAB,
        place.cache.name,
        SLABS_AT + geometry.lead + shift,
        geometry.object_bytes,
        geometry.stride,
        geometry.objects,
        (f"struct {place.outer}",),
    )


def _address(finding: Finding, here: TraceScene, layouts: Layouts) -> int:
    kind = here.kinds[0]
    if not kind.slab:
        return _own_address(finding)
    area, phase = kind.areas[0], finding.objects[0].phase
    inside = next(places_in(kind.outer, finding.objects[0].layout or 0, layouts), 0)
    starts = [area.address + number * area.stride + inside for number in range(area.count)]
    fitting = [start for start in starts if start % CACHE_LINE_BYTES == phase] or starts
    # Not the first of the slab where there are others: what lies in front of it is an object as well.
    return fitting[min(1, len(fitting) - 1)]
