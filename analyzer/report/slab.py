# SPDX-License-Identifier: GPL-2.0-or-later
"""Slabs as text and as JSON: for each type its places, with stride, order, memory and phases; other structures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from linesmith.analyzer.base.text import listed
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.model import (
    ElfIdentity,
    PhaseCount,
    SlabBasis,
    SlabGeometry,
    SlabMachine,
    SlabPlace,
    StructuralAdvice,
)
from linesmith.analyzer.report.prose import WIDTH, Json, counted, fields_of, json_text, prose
from linesmith.analyzer.report.structure import advice_object, advice_rows
from linesmith.analyzer.slab.allocation import bytes_for, pages_for
from linesmith.analyzer.slab.starts import TypeSlabs, together

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

    ``release_known``: the user or the ELF file names the release; ``slabinfo``: some machine's caches were measured.
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


def render_text(found: SlabAnswer) -> str:
    """Each type with a block for each place; a last line adds up what several types cost together."""
    blocks = ["\n".join(_type(one)) for one in found.types]
    if several := together(found.types):
        pages = [pages_for(PAGES_OF, place.cache.geometry) for place in several]
        added = f"together: {' + '.join(map(str, pages))} = {sum(pages):,} pages for {PAGES_OF:,} of each"
        blocks.append(f"{added}, {_mebibytes(several):.1f} MiB for {MEMORY_OF:,}")
    heading = "\n".join([machine_row(found), *found.cautions])
    return "\n\n".join([heading, *blocks]) + "\n"


def machine_row(found: SlabAnswer) -> str:
    """The machine of the rules, the one that was measured, or both."""
    machine, places = found.machine, [place for one in found.types for place in one.places]
    pages = f"pages of {machine.page_bytes} bytes"
    if places and all(place.cache.basis is SlabBasis.MEASURED for place in places):
        return f"the machine that --slabinfo describes, {pages}"
    release = f"Linux {machine.release[0]}.{machine.release[1]}{'' if found.release_known else ' (assumed)'}"
    measured = "; what is measured is of the machine that --slabinfo describes" if found.slabinfo else ""
    return f"{release}, {counted(machine.cpus, 'CPU')}, {pages}{measured}"


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
    slab = f"{counted(1 << geometry.order, 'page')} (order {geometry.order}) with {counted(geometry.objects, 'object')}"
    yield f"    slab      {slab}, {geometry.unused} bytes left over"
    pages = counted(pages_for(PAGES_OF, geometry), "page")
    yield f"    memory    {pages} for {PAGES_OF:,} objects, {_mebibytes([place]):.1f} MiB for {MEMORY_OF:,}"
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


def _phases(counts: Sequence[PhaseCount]) -> str:
    """Which phases how many objects of a slab have: ``0 (8), 32 (8)``."""
    return listed((f"{one.phase} ({one.objects})" for one in counts), MOST_PHASES)


def _mebibytes(places: Sequence[SlabPlace]) -> float:
    """What the objects cost in all of these caches."""
    return sum(bytes_for(MEMORY_OF, place.cache.geometry) for place in places) / (1 << 20)


# The same as JSON (docs/json.md).

SCHEMA_VERSION = 1


def render_json(found: SlabAnswer) -> str:
    """The answer as one indented JSON document that ends in a newline."""
    types = [
        fields_of(one.layout, "name", "title", "size") | {"places": [_place_object(place) for place in one.places]}
        for one in found.types
    ]
    geometries = [place.cache.geometry for place in together(found.types)]
    sums = {
        "pages_per_1000": sum(pages_for(PAGES_OF, one) for one in geometries),
        "bytes_per_100000": sum(bytes_for(MEMORY_OF, one) for one in geometries),
    }
    return json_text(
        {
            "schema": SCHEMA_VERSION,
            "elf": found.elf,
            "machine": machine_object(found) | {"line_bytes": found.machine.line_bytes},
            "types": types,
            "together": sums if geometries else None,
            "cautions": found.cautions,
        }
    )


def machine_object(found: SlabAnswer) -> Json:
    """What the rules of slabs were applied for."""
    release = f"{found.machine.release[0]}.{found.machine.release[1]}"
    known = {"release": release, "release_known": found.release_known}
    return known | fields_of(found.machine, "cpus", "page_bytes")


def _place_object(place: SlabPlace) -> Json:
    cache, geometry = place.cache, place.cache.geometry
    return {
        "cache": cache.name,
        **fields_of(cache, "basis", "reason", "aliases"),
        **fields_of(place, "outer", "path", "offset"),
        **fields_of(geometry, "object_bytes", "alignment", "stride", "lead", "free_pointer", "order"),
        **fields_of(geometry, "slab_bytes", "objects", "unused"),
        "pages_per_1000": pages_for(PAGES_OF, geometry),
        "bytes_per_100000": bytes_for(MEMORY_OF, geometry),
        **fields_of(place, "phases", "pair_phases"),
    }


# What another structure would cost (docs/schema-structure.json).


def render_structures(
    advice: Sequence[StructuralAdvice],
    layouts: Layouts,
    base: SlabAnswer,
    left_out: Sequence[str] = (),
    columns: int = WIDTH,
) -> str:
    """What another structure would cost: the machine that memory is computed for, then each variant in full.

    ``base`` is the answer without its types, ``left_out`` are members that the record was taken to lack.
    """
    heading = [machine_row(base), *base.cautions]
    heading += [f"as in a configuration without {', '.join(left_out)}"] if left_out else []
    head = (prose(one, then="  ", columns=columns) for one in heading)
    blocks = ["\n".join(head), *("\n".join(advice_rows(one, layouts, columns)) for one in advice)]
    return "\n\n".join(blocks) + "\n"


def structures_json(advice: Sequence[StructuralAdvice], base: SlabAnswer, left_out: Sequence[str] = ()) -> str:
    """The answer as one indented JSON document that ends in a newline; ``base`` is the answer without its types."""
    return json_text(
        {
            "schema": SCHEMA_VERSION,
            "elf": base.elf,
            "machine": machine_object(base),
            "without": left_out,
            "cautions": base.cautions,
            "advice": [advice_object(one) for one in advice],
        }
    )
