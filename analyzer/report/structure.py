# SPDX-License-Identifier: GPL-2.0-or-later
"""Structural advice as text: what to change, why, who would have to change, what it saves and what it costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Accessor, Gain, MemoryUse, StructuralAdvice
from linesmith.analyzer.report.excerpt import excerpt
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
