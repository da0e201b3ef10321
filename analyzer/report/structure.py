# SPDX-License-Identifier: GPL-2.0-or-later
"""Structural advice as text: what to change, why, who would have to change, what it saves and what it costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.model import Accessor, ElfIdentity, Gain, Layout, MemoryUse, StructuralAdvice
from linesmith.analyzer.report.layout import excerpt
from linesmith.analyzer.report.prose import WIDTH, prose
from linesmith.analyzer.report.slab import SlabAnswer, machine_row

LABEL = 12
MOST_SAMPLED = 5
MOST_OTHERS = 4


def advice_rows(one: StructuralAdvice, layouts: Layouts, columns: int = WIDTH) -> Iterator[str]:
    """The advice in rows: its sentence, then labelled figures, notes, and the layout it leads to."""
    yield from prose(f"{one.kind.value}: {one.sentence}", then="  ", columns=columns).splitlines()
    for label, rows in tables(one):
        for place, row in enumerate(rows):
            first = f"  {'' if place else label:<{LABEL}}"
            yield from prose(row, first, " " * (LABEL + 4), columns).splitlines()
    for note in one.notes:
        yield from prose(note, "  - ", "    ", columns).splitlines()
    shown = frozenset(one.members)
    for layout in one.after:
        yield "  after:"
        yield from (f"  {row}".rstrip() for row in excerpt(layout, layouts, shown, shown))


def render_text(
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
    told = (prose(one, then="  ", columns=columns) for one in heading)
    blocks = ["\n".join(told), *("\n".join(advice_rows(one, layouts, columns)) for one in advice)]
    return "\n\n".join(blocks) + "\n"


def tables(one: StructuralAdvice) -> Iterator[tuple[str, Sequence[str]]]:
    """What an advice rests on and costs: a label with its rows, which may be none."""
    yield "because", one.reasons
    yield "reached by", tuple(_accessors(one.accessors))
    yield "replayed", tuple(_gains(one.gains))
    yield "memory", tuple(_memory(one))


def _accessors(accessors: Sequence[Accessor]) -> Iterator[str]:
    """The functions that were sampled most, each with what it does; the others by name."""
    sampled = [one for one in accessors if one.samples][:MOST_SAMPLED]
    for one in sampled:
        held = ", takes the lock" if one.holds_lock else ""
        yield f"{one.function} ({one.samples:,} samples{held}): {_does(one)}"
    others = [one.function for one in accessors if one not in sampled]
    if others:
        more = len(others) - MOST_OTHERS
        also = "and in the code " if sampled else "in the code "
        yield also + ", ".join(others[:MOST_OTHERS]) + (f" and {more} more" if more > 0 else "")


def _does(one: Accessor) -> str:
    both = [name for name in one.writes if name in one.reads]
    done = (
        ("updates", both),
        ("writes", [name for name in one.writes if name not in both]),
        ("reads", [name for name in one.reads if name not in both]),
    )
    return "; ".join(f"{verb} {', '.join(names)}" for verb, names in done if names) or "touches it"


def _gains(gains: Sequence[Gain]) -> Iterator[str]:
    """What was recorded, then a row for each replay; what it rests on where that is not what it was before."""
    for base in dict.fromkeys(one.before for one in gains):
        yield f"{base:,} misses between CPUs on all such objects as they are"
    said = ""
    for one in gains:
        basis = "" if one.basis == said else f"  {one.basis}"
        said = one.basis
        yield f"{_copies(one):<18}{one.after:>9,} {_change(one):>7} ({one.low:+.1%} to {one.high:+.1%}){basis}"


def _copies(one: Gain) -> str:
    if one.by == "line":
        return "apart"
    return f"{one.ways} copies by {one.by}" if one.ways > 1 else "1 copy"


def _change(one: Gain) -> str:
    return f"{(one.after - one.before) / one.before:+.1%}" if one.before else "none"


def _memory(one: StructuralAdvice) -> Iterator[str]:
    for when, uses in (("now", one.memory_before), ("then", one.memory_after)):
        if uses:
            yield f"{when:<6}{_sum([use.object_bytes for use in uses])} bytes, {_pages(uses)}"
            yield f"      {'; '.join(map(_slab, uses))}"


def _sum(parts: Sequence[int]) -> str:
    return " + ".join(f"{part:,}" for part in parts)


def _pages(uses: Sequence[MemoryUse]) -> str:
    pages = [use.pages_per_1000 for use in uses]
    total = f"{_sum(pages)} = {sum(pages):,}" if len(pages) > 1 else f"{sum(pages):,}"
    mebibytes = sum(use.bytes_per_100000 for use in uses) / (1 << 20)
    return f"{total} pages for 1,000 objects, {mebibytes:.1f} MiB for 100,000"


def _slab(use: MemoryUse) -> str:
    pages = 1 << use.order
    return f"{use.cache}: {use.objects_per_slab} in {pages} page{'' if pages == 1 else 's'}"


# The JSON form of structural advice; sizes in bytes, shares from -1 to 1, counts are samples or misses.

SCHEMA_VERSION = 1


class ReshapedDocument(msgspec.Struct, frozen=True):
    """A record as it is, or as it would be; ``members`` are name, offset and size."""

    title: str
    size: int
    alignment: int
    members: tuple[tuple[str, int, int], ...]


class StructureDocument(msgspec.Struct, frozen=True):
    """One piece of advice; ``memory_before`` and ``memory_after`` have a row for each object that is allocated."""

    kind: str
    type: str
    members: tuple[str, ...]
    sentence: str
    reasons: tuple[str, ...]
    accessors: tuple[Accessor, ...]
    gains: tuple[Gain, ...]
    before: tuple[ReshapedDocument, ...]
    after: tuple[ReshapedDocument, ...]
    memory_before: tuple[MemoryUse, ...]
    memory_after: tuple[MemoryUse, ...]
    notes: tuple[str, ...]


class MachineDocument(msgspec.Struct, frozen=True):
    """What memory was computed for."""

    release: str
    release_known: bool
    cpus: int
    page_bytes: int


class ChangeDocument(msgspec.Struct, frozen=True):
    """What ``linesmith slab --pull-in``, ``--push-out`` and ``--shrink`` write with ``--format json``."""

    schema: int
    elf: ElfIdentity
    machine: MachineDocument
    without: tuple[str, ...]
    cautions: tuple[str, ...]
    advice: tuple[StructureDocument, ...]


def render_json(
    advice: Sequence[StructuralAdvice],
    base: SlabAnswer,
    left_out: Sequence[str] = (),
) -> str:
    """The answer as one indented JSON document that ends in a newline; ``base`` is the answer without its types."""
    machine = base.machine
    release = f"{machine.release[0]}.{machine.release[1]}"
    computed_for = MachineDocument(release, base.release_known, machine.cpus, machine.page_bytes)
    told = tuple(map(advice_document, advice))
    document = ChangeDocument(SCHEMA_VERSION, base.elf, computed_for, tuple(left_out), base.cautions, told)
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def schema() -> dict[str, object]:
    """The JSON schema of the document."""
    return msgspec.json.schema(ChangeDocument)


def advice_document(one: StructuralAdvice) -> StructureDocument:
    """The advice as a document."""
    return StructureDocument(
        one.kind.value,
        one.type,
        one.members,
        one.sentence,
        one.reasons,
        one.accessors,
        one.gains,
        tuple(map(_layout, one.before)),
        tuple(map(_layout, one.after)),
        one.memory_before,
        one.memory_after,
        one.notes,
    )


def _layout(layout: Layout) -> ReshapedDocument:
    alignment = max(layout.natural_alignment, layout.alignment or 1)
    members = tuple((member.name, member.offset, member.size) for member in layout.members)
    return ReshapedDocument(layout.title, layout.size, alignment, members)
