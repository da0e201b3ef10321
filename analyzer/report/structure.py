# SPDX-License-Identifier: GPL-2.0-or-later
"""Structural advice as text and as JSON: what to change, why, who has to change, what it saves and what it costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from linesmith.analyzer.base.text import listed
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.model import Accessor, Gain, Layout, MemoryUse, StructuralAdvice, StructureKind
from linesmith.analyzer.report.pahole import excerpt
from linesmith.analyzer.report.prose import WIDTH, Json, counted, fields_of, label_rows, labelled, prose

LABEL = 12
MOST_SAMPLED = 5
# Of the function sampled most; what was sampled less is not listed.
LEAST_SAMPLED = 0.01
MOST_OTHERS = 4
MOST_MEMBERS = 3


def advice_rows(one: StructuralAdvice, layouts: Layouts, columns: int = WIDTH) -> Iterator[str]:
    """The advice in rows: its sentence, then labelled figures, notes, and the layout it leads to."""
    yield prose(f"{one.kind.value}: {one.sentence}", then="  ", columns=columns)
    for label, rows in tables(one):
        yield from label_rows(labelled(label, rows), LABEL, columns)
    yield from (prose(note, "  - ", "    ", columns) for note in one.notes)
    shown = frozenset(one.members)
    for layout in one.after:
        yield "  after:"
        yield from (f"  {row}".rstrip() for row in excerpt(layout, layouts, shown, shown))


def tables(one: StructuralAdvice) -> Iterator[tuple[str, Sequence[str]]]:
    """What an advice rests on and costs: a label with its rows, which may be none."""
    yield "because", one.reasons
    yield "reached by", tuple(_accessors(one.accessors))
    yield "replayed", tuple(_gains(one.gains))
    yield "memory", (*_memory("now", one.memory_before), *_memory("then", one.memory_after))


def short_advice(one: StructuralAdvice, *, program: bool) -> str:
    """The change in one phrase: ``shard i_mmap_rwsem with i_mmap``; a ``program`` counts per thread."""
    first, *others = one.members
    names = listed(one.members, MOST_MEMBERS)
    counters = f"per-thread counters for {names}" if others else f"make {first} a per-thread counter"
    return {
        StructureKind.SHARD: f"shard {first}{f' with {listed(others, MOST_MEMBERS)}' if others else ''}",
        StructureKind.PULL_IN: f"put what {first} points to into {one.type}",
        StructureKind.PUSH_OUT: f"put {names} into an object of its own",
        StructureKind.SHRINK: f"make {first} smaller",
        StructureKind.READ_FIRST: f"write {names} only where the value changes",
        StructureKind.COUNT_APART: counters if program else f"count {names} per CPU",
    }[one.kind]


def _accessors(accessors: Sequence[Accessor]) -> Iterator[str]:
    """The functions that were sampled most, each with what it does; the others by name."""
    least = LEAST_SAMPLED * max((one.samples for one in accessors), default=0)
    sampled = [one for one in accessors if one.samples > least][:MOST_SAMPLED]
    for one in sampled:
        held = ", takes the lock" if one.holds_lock else ""
        updated = [name for name in one.writes if name in one.reads]
        verbs = (
            ("updates", updated),
            ("writes", [name for name in one.writes if name not in updated]),
            ("reads", [name for name in one.reads if name not in updated]),
        )
        does = "; ".join(f"{verb} {', '.join(names)}" for verb, names in verbs if names)
        through = "" if does else ", through functions that it calls"
        yield f"{one.function} ({one.samples:,} accesses{held}{through}){f': {does}' if does else ''}"
    others = [one.function for one in accessors if not one.samples]
    if others:
        yield f"{'also accessed' if sampled else 'accessed'}, by the code alone, in {listed(others, MOST_OTHERS)}"


def copies_words(one: Gain) -> str:
    """``8 copies, chosen by CPU``."""
    return f"{one.ways} copies, chosen by {'CPU' if one.by == 'cpu' else one.by}"


def _gains(gains: Sequence[Gain]) -> Iterator[str]:
    """What was recorded, then a row for each replay; what it rests on where that is not what it was before."""
    for base in dict.fromkeys(one.before for one in gains):
        yield f"{base:,} misses between CPUs on all such objects as they are"
    former = ""
    for one in gains:
        basis = "" if one.basis == former else f"  {one.basis}"
        former = one.basis
        copies = copies_words(one) if one.ways > 1 else "1 copy"
        change = f"{(one.after - one.before) / one.before:+.1%}" if one.before else "none"
        what = "apart" if one.by == "line" else copies
        yield f"{what:<24}{one.after:>9,} {change:>7} ({one.low:+.1%} to {one.high:+.1%}){basis}"


def _memory(when: str, uses: Sequence[MemoryUse]) -> Iterator[str]:
    """Bytes, pages and slabs of each object that is allocated, ``now`` or ``then``."""
    if not uses:
        return
    pages = [use.pages_per_1000 for use in uses]
    total = f"{_sum(pages)} = {sum(pages):,}" if len(pages) > 1 else f"{sum(pages):,}"
    mebibytes = sum(use.bytes_per_100000 for use in uses) / (1 << 20)
    costs = f"{total} pages for 1,000 objects, {mebibytes:.1f} MiB for 100,000"
    slabs = (f"{use.cache}: {use.objects_per_slab} in {counted(1 << use.order, 'page')}" for use in uses)
    yield f"{when:<6}{_sum([use.object_bytes for use in uses])} bytes, {costs}"
    yield f"      {'; '.join(slabs)}"


def _sum(parts: Sequence[int]) -> str:
    return " + ".join(f"{part:,}" for part in parts)


# The same as JSON (docs/schema-structure.json): sizes in bytes, shares from -1 to 1, counts of samples or misses.


def advice_object(one: StructuralAdvice) -> Json:
    """The advice with the layouts that it compares in short."""
    return {
        **fields_of(one, "kind", "type", "members", "sentence", "reasons", "accessors", "gains"),
        "before": [_layout(layout) for layout in one.before],
        "after": [_layout(layout) for layout in one.after],
        **fields_of(one, "memory_before", "memory_after", "notes"),
    }


def _layout(layout: Layout) -> Json:
    """A record as it is, or as it would be; ``members`` are name, offset and size."""
    alignment = max(layout.natural_alignment, layout.alignment or 1)
    members = [(member.name, member.offset, member.size) for member in layout.members]
    return {"title": layout.title, "size": layout.size, "alignment": alignment, "members": members}
