# SPDX-License-Identifier: GPL-2.0-or-later
"""Slabs as one JSON document; docs/schema-slab.md tells what the fields mean."""

from __future__ import annotations

import msgspec

from linesmith.analyzer.model import ElfIdentity, PhaseCount, SlabMachine, SlabPlace
from linesmith.analyzer.report.slab import MEMORY_OF, PAGES_OF, SlabAnswer
from linesmith.analyzer.slab import TypeSlabs, bytes_for, pages_for, together

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
    types = tuple(map(_type, found.types))
    both = tuple(map(_place, together(found.types)))
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


def _type(one: TypeSlabs) -> TypeView:
    return TypeView(one.layout.name, one.layout.title, one.layout.size, tuple(map(_place, one.places)))


def _place(place: SlabPlace) -> PlaceView:
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
