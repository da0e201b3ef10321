# SPDX-License-Identifier: GPL-2.0-or-later
"""Slabs as text: for each type its places, with stride, order, memory and phases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from linesmith.analyzer.model import ElfIdentity, PhaseCount, SlabBasis, SlabGeometry, SlabMachine, SlabPlace
from linesmith.analyzer.report.prose import counted
from linesmith.analyzer.slab.geometry import bytes_for, pages_for
from linesmith.analyzer.slab.possible import TypeSlabs, together

PAGES_OF = 1_000
MEMORY_OF = 100_000
MOST_PLACES = 12
MOST_PHASES = 16
_PROGRAMS = ("ET_EXEC", "ET_DYN")
NO_KERNEL = (
    "the ELF file is a program without the banner of a kernel: only a kernel's objects lie in slabs; "
    "if it is one, say its release with --kernel X.Y"
)


@dataclass(frozen=True, slots=True)
class SlabAnswer:
    """What ``linesmith slab`` found.

    ``release_known``: the user or the ELF file said the release; ``slabinfo``: some machine's caches were measured.
    """

    elf: ElfIdentity
    machine: SlabMachine
    release_known: bool
    types: tuple[TypeSlabs, ...]
    slabinfo: bool = False

    @property
    def cautions(self) -> tuple[str, ...]:
        """Sentences on what the answer cannot vouch for: a program without a kernel's banner may be none."""
        if self.release_known or self.elf.kind not in _PROGRAMS:
            return ()
        return (NO_KERNEL,)

    @property
    def all_measured(self) -> bool:
        """Whether no number comes from the rules."""
        places = [place for one in self.types for place in one.places]
        return bool(places) and all(place.cache.basis is SlabBasis.MEASURED for place in places)


def render_text(found: SlabAnswer) -> str:
    """Each type with a block for each place; a last line adds up what several types cost together."""
    blocks = ["\n".join(_type(one)) for one in found.types]
    both = together(found.types)
    if both:
        blocks.append(_together(both))
    heading = "\n".join([machine_row(found), *found.cautions])
    return "\n\n".join([heading, *blocks]) + "\n"


def machine_row(found: SlabAnswer) -> str:
    """The machine of the rules, the one that was measured, or both."""
    if found.all_measured:
        return f"the machine that --slabinfo describes, pages of {found.machine.page_bytes} bytes"
    measured = "; what is measured is of the machine that --slabinfo describes"
    return _rules(found) + (measured if found.slabinfo else "")


def _rules(found: SlabAnswer) -> str:
    machine = found.machine
    release = f"Linux {machine.release[0]}.{machine.release[1]}" + ("" if found.release_known else " (assumed)")
    return f"{release}, {counted(machine.cpus, 'CPU')}, pages of {machine.page_bytes} bytes"


def _type(one: TypeSlabs) -> Iterator[str]:
    yield f"{one.layout.title}, {counted(one.layout.size, 'byte')}"
    for place in one.places[:MOST_PLACES]:
        yield from _place(place)
    more = len(one.places) - MOST_PLACES
    if more > 0:
        yield f"  and {counted(more, 'more place')}; --format json has them all"


def _place(place: SlabPlace) -> Iterator[str]:
    cache, geometry = place.cache, place.cache.geometry
    shared = f", shared with {counted(cache.aliases, 'more cache')}" if cache.aliases else ""
    yield f"  cache {cache.name}{shared}, {cache.basis.value}: {cache.reason}"
    if place.path:
        yield f"    place     {place.outer}.{place.path}, {place.offset} bytes into each object"
    yield f"    objects   {_objects(geometry)}"
    yield f"    slab      {_slab(geometry)}"
    yield f"    memory    {_memory(place)}"
    yield f"    phases    {_phases(place.phases)}"
    yield f"    of 128    {_phases(place.pair_phases)}"


def _objects(geometry: SlabGeometry) -> str:
    text = f"{geometry.object_bytes} bytes, aligned to {geometry.alignment}, {geometry.stride} apart"
    if geometry.lead:
        text += f", the first {geometry.lead} bytes into the slab"
    if geometry.free_pointer is None:
        return text
    inside = geometry.free_pointer < geometry.object_bytes
    return f"{text}; free pointer {'at' if inside else 'behind the object, at'} {geometry.free_pointer}"


def _slab(geometry: SlabGeometry) -> str:
    pages = counted(1 << geometry.order, "page")
    objects = counted(geometry.objects, "object")
    return f"{pages} (order {geometry.order}) with {objects}, {geometry.unused} bytes left over"


def _memory(place: SlabPlace) -> str:
    geometry = place.cache.geometry
    mebibytes = bytes_for(MEMORY_OF, geometry) / (1 << 20)
    pages = pages_for(PAGES_OF, geometry)
    return f"{counted(pages, 'page')} for {PAGES_OF:,} objects, {mebibytes:.1f} MiB for {MEMORY_OF:,}"


def _phases(counts: Sequence[PhaseCount]) -> str:
    """Which phases how many objects of a slab have: ``0 (8), 32 (8)``."""
    shown = ", ".join(f"{one.phase} ({one.objects})" for one in counts[:MOST_PHASES])
    return shown + (f" and {len(counts) - MOST_PHASES} more" if len(counts) > MOST_PHASES else "")


def _together(places: Sequence[SlabPlace]) -> str:
    pages = [pages_for(PAGES_OF, place.cache.geometry) for place in places]
    mebibytes = sum(bytes_for(MEMORY_OF, place.cache.geometry) for place in places) / (1 << 20)
    added = " + ".join(f"{one}" for one in pages)
    return f"together: {added} = {sum(pages):,} pages for {PAGES_OF:,} of each, {mebibytes:.1f} MiB for {MEMORY_OF:,}"


# Slabs as one JSON document; docs/schema-slab.md tells what the fields mean.

SCHEMA_VERSION = 1


class MachineView(msgspec.Struct, frozen=True):
    """What the rules were applied for."""

    release: str
    release_known: bool
    cpus: int
    page_bytes: int
    line_bytes: int


class PlaceView(msgspec.Struct, frozen=True):
    """One cache whose objects are the type or hold it."""

    cache: str
    basis: str
    reason: str
    aliases: int
    outer: str
    path: str
    offset: int
    object_bytes: int
    alignment: int
    stride: int
    lead: int
    free_pointer: int | None
    order: int
    slab_bytes: int
    objects: int
    unused: int
    pages_per_1000: int
    bytes_per_100000: int
    phases: tuple[PhaseCount, ...]
    pair_phases: tuple[PhaseCount, ...]


class TypeView(msgspec.Struct, frozen=True):
    """One type with all its places."""

    name: str
    title: str
    size: int
    places: tuple[PlaceView, ...]


class TogetherView(msgspec.Struct, frozen=True):
    """What one object of each type costs, for that many of each."""

    pages_per_1000: int
    bytes_per_100000: int


class SlabDocument(msgspec.Struct, frozen=True):
    """What ``linesmith slab --format json`` writes."""

    schema: int
    elf: ElfIdentity
    machine: MachineView
    types: tuple[TypeView, ...]
    together: TogetherView | None
    cautions: tuple[str, ...]


def render_json(found: SlabAnswer) -> str:
    """The answer as one indented JSON document that ends in a newline."""
    types = tuple(map(_type_view, found.types))
    both = tuple(map(_place_view, together(found.types)))
    sums = TogetherView(sum(one.pages_per_1000 for one in both), sum(one.bytes_per_100000 for one in both))
    machine = _machine(found.machine, found.release_known)
    document = SlabDocument(SCHEMA_VERSION, found.elf, machine, types, sums if both else None, found.cautions)
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def schema() -> dict[str, object]:
    """The JSON schema of the document."""
    return msgspec.json.schema(SlabDocument)


def _machine(machine: SlabMachine, known: bool) -> MachineView:
    release = f"{machine.release[0]}.{machine.release[1]}"
    return MachineView(release, known, machine.cpus, machine.page_bytes, machine.line_bytes)


def _type_view(one: TypeSlabs) -> TypeView:
    return TypeView(one.layout.name, one.layout.title, one.layout.size, tuple(map(_place_view, one.places)))


def _place_view(place: SlabPlace) -> PlaceView:
    cache, geometry = place.cache, place.cache.geometry
    return PlaceView(
        cache=cache.name,
        basis=cache.basis.value,
        reason=cache.reason,
        aliases=cache.aliases,
        outer=place.outer,
        path=place.path,
        offset=place.offset,
        object_bytes=geometry.object_bytes,
        alignment=geometry.alignment,
        stride=geometry.stride,
        lead=geometry.lead,
        free_pointer=geometry.free_pointer,
        order=geometry.order,
        slab_bytes=geometry.slab_bytes,
        objects=geometry.objects,
        unused=geometry.unused,
        pages_per_1000=pages_for(PAGES_OF, geometry),
        bytes_per_100000=bytes_for(MEMORY_OF, geometry),
        phases=place.phases,
        pair_phases=place.pair_phases,
    )
