# SPDX-License-Identifier: GPL-2.0-or-later
"""A real kernel that scenarios are tried on: what its ELF file says, who accesses what, and where objects lie."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fixes.execution import MOST_BYTES, Spot
from fixes.scenario import Kind, Objects, Scenario, ScenarioError, Touch

from linesmith.analyzer.access.access_map import AccessMap
from linesmith.analyzer.access.questions import accesses_in
from linesmith.analyzer.access.store import read_accesses
from linesmith.analyzer.base.errors import FunctionNotFound
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.containment import Containment
from linesmith.analyzer.layouts.dwarf import Reading, read_layouts
from linesmith.analyzer.layouts.leaves import flatten, leaf_at
from linesmith.analyzer.model import (
    CACHE_LINE_BYTES,
    AccessKind,
    CodeAccess,
    Layout,
    Leaf,
    ObjectArea,
    ObjectKind,
    SlabPlace,
)
from linesmith.analyzer.slab.allocation import Kernel
from linesmith.analyzer.slab.caches import machine_of, release_of
from linesmith.analyzer.slab.starts import slab_places


@dataclass(frozen=True, slots=True)
class RealKernel:
    """An ELF file with DWARF, and what follows from it; ``release`` is that of its banner, as ``6.1``."""

    elf: Path
    release: str
    reading: Reading
    accesses: AccessMap
    containment: Containment
    symbols: Mapping[str, int]
    slabs: Kernel

    @property
    def layouts(self) -> Layouts:
        return self.reading.layouts

    def layout(self, name: str) -> Layout:
        """The record called so that most code uses: the largest; raises ``ScenarioError``."""
        found = self.layouts.variants(name)
        if not found:
            raise ScenarioError(f"there is no record {name} in {self.elf.name}")
        return max(found, key=lambda layout: (layout.size, -layout.id))


def real_kernel(elf: Path) -> RealKernel:
    """All of ``elf`` that scenarios need; raises what reading an ELF file raises, and ``ScenarioError``."""
    reading = read_layouts(elf)
    version = release_of(elf)
    if version is None:
        raise ScenarioError(f"{elf} has no banner of a kernel")
    machine = machine_of(reading.identity.machine, version)
    return RealKernel(
        elf,
        f"{version[0]}.{version[1]}",
        reading,
        read_accesses(elf).accesses,
        Containment(reading.layouts),
        addresses(elf),
        Kernel(machine),
    )


def addresses(elf: Path) -> dict[str, int]:
    told = subprocess.run(["nm", elf], check=True, capture_output=True, text=True).stdout
    rows = (line.split() for line in told.splitlines())
    return {row[2]: int(row[0], 16) for row in rows if len(row) == 3}


def spots(scenario: Scenario, layout: Layout, layouts: Layouts) -> dict[str, Spot]:
    """Where the members of the scenario's accesses lie; raises ``ScenarioError`` for one that is not there."""
    leaves = {leaf.path: leaf for leaf in reversed(flatten(layout, layouts))}
    found: dict[str, Spot] = {}
    for path in dict.fromkeys(touch.member for role in scenario.role for touch in role.every):
        leaf = _word(path, leaves) or next(_elements(path, layout, layouts), None)
        if leaf is None:
            near = [name for name in leaves if name.startswith(path.split(".")[0])] or list(leaves)
            raise ScenarioError(f"{layout.title} has no {path}; it has {', '.join(near)}")
        found[path] = Spot(path, leaf.offset, min(max(leaf.size, 1), MOST_BYTES))
    return found


def _word(path: str, leaves: Mapping[str, Leaf]) -> Leaf | None:
    """The leaf of that path, or the word that a longer path looks into (``count.counter``)."""
    while path not in leaves and "." in path:
        path = path.rpartition(".")[0]
    return leaves.get(path)


def _elements(path: str, layout: Layout, layouts: Layouts) -> Iterator[Leaf]:
    """The element of an array that is called so."""
    if "[" not in path:
        return
    last = None
    for offset in range(layout.size):
        leaf = leaf_at(layout, layouts, offset)
        if leaf is not None and leaf.offset != last:
            last = leaf.offset
            if leaf.path == path:
                yield leaf


# An update by one instruction is atomic or not depending on text that is patched at boot.
_FITS = {
    Kind.LOAD: (AccessKind.READ, AccessKind.READ_WRITE, AccessKind.ATOMIC),
    Kind.STORE: (AccessKind.WRITE, AccessKind.READ_WRITE, AccessKind.ATOMIC),
    Kind.ATOMIC: (AccessKind.ATOMIC, AccessKind.READ_WRITE, AccessKind.WRITE),
}

Key = tuple[str, str, Kind]


@dataclass(frozen=True, slots=True)
class Instructions:
    """Addresses of instructions by function, member and kind; ``unseen`` are accesses that the code does not show.

    Those have the address of some instruction of the function; 0 when there is no such function.
    """

    code: Mapping[Key, int]
    unseen: tuple[str, ...]


def instructions(
    scenario: Scenario, spots: Mapping[str, Spot], layout: Layout, containment: Containment, accesses: AccessMap
) -> Instructions:
    """The instructions that make the accesses of the scenario, whose members are at ``spots`` of ``layout``."""
    code: dict[Key, int] = {}
    unseen: list[str] = []
    for touch in dict.fromkeys(touch for role in scenario.role for touch in role.every):
        key = touch.function, touch.member, touch.kind
        rows = _rows(touch.function, accesses)
        names = frozenset(_names(spots[touch.member].offset, layout, containment))
        found = _instruction(touch, rows, names)
        if found is None and key not in code:
            unseen.append(f"{touch.function}: no {touch.kind} of {touch.member} seen in its code")
        code[key] = found if found is not None else (rows[0].address if rows else 0)
    return Instructions(code, tuple(unseen))


def _instruction(touch: Touch, rows: tuple[CodeAccess, ...], names: frozenset[tuple[str, int]]) -> int | None:
    touching = [row for row in rows if any(_touches(row, *name) for name in names)]
    return next((row.address for wanted in _FITS[touch.kind] for row in touching if row.kind is wanted), None)


def _rows(function: str, accesses: AccessMap) -> tuple[CodeAccess, ...]:
    """What the functions of that name and their clones touch; of inlined ones nothing."""
    try:
        found = accesses_in(function, accesses)
    except FunctionNotFound:
        return ()
    return tuple(row for one in found if one.low is not None for row in one.accesses)


def _names(offset: int, layout: Layout, containment: Containment) -> Iterator[tuple[str, int]]:
    """What code may call the byte: each record around it with the byte's offset there, as pairs."""
    layouts = containment.layouts
    for place in ((layout.id, 0), *((one.container, one.offset) for one in containment.places(layout.id))):
        yield layouts.by_id(place[0]).name, offset + place[1]
    for leaf in containment.leaves(layout.id, offset):
        for entered in leaf.entered:
            yield layouts.by_id(entered.record).name, offset - entered.offset


def _touches(row: CodeAccess, record: str, offset: int) -> bool:
    if row.type is None or row.offset is None or not row.outcome.resolved:
        return False
    return row.type.split()[-1] == record and row.offset <= offset < row.offset + max(row.width, 1)


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
