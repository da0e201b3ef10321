# SPDX-License-Identifier: GPL-2.0-or-later
"""The records that a variant of a run lays out otherwise than the baseline, with what its profile says of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.cli.analysis import Analysis, analyse, beside
from linesmith.analyzer.containment import Containment
from linesmith.analyzer.diff import changes
from linesmith.analyzer.dwarf import Reading
from linesmith.analyzer.errors import LinesmithError, NothingToSuggest
from linesmith.analyzer.line_map import NO_HEAT, heat_of, line_map
from linesmith.analyzer.lint import of_two
from linesmith.analyzer.model import Candidate, Finding, Layout, MemoryUse
from linesmith.analyzer.report.html.coherence_steps import why
from linesmith.analyzer.report.html.layout_pair import Emphasis, layout_pair
from linesmith.analyzer.report.html.meetings import meetings
from linesmith.analyzer.report.html.memory_table import memory_rows
from linesmith.analyzer.report.html.record_change import RecordChange
from linesmith.analyzer.report.html.touched_cells import touched_cells
from linesmith.analyzer.report.member_heat import MOST_HOT, member_heat
from linesmith.analyzer.report.moves import concerned_names
from linesmith.analyzer.slab import Kernel, machine_of, release_of, slab_places
from linesmith.tuner.as_built import as_built
from linesmith.tuner.cost.memory import memory_use
from linesmith.tuner.premises import Premises
from linesmith.tuner.space.hot_record import hot_records
from linesmith.tuner.steps.step_table import step_tables
from linesmith.tuner.tuning.run_profile import RunProfile

# Records that hold the one that was changed may differ as well; so many are drawn.
MOST_RECORDS = 6
_NAME = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Variant:
    """Two builds, the ``patch`` that makes the second of the first, its name, and a profile of the first if any."""

    name: str
    before: Reading
    after: Reading
    patch: str
    profile: RunProfile | None


@dataclass(frozen=True, slots=True)
class _Told:
    """What the change does to a record's hottest ``line``."""

    line: Finding
    change: Candidate


def record_changes(variant: Variant) -> tuple[tuple[RecordChange, ...], int]:
    """The records that differ, those that the patch is about first, and how many of them are left out."""
    before, after = variant.before.layouts, variant.after.layouts
    pairs = of_two(before, after, ()).pairs
    found = [(one.old, one.new, len(one.members)) for one in changes(before, after, iter(pairs)) if one.old and one.new]
    changed = frozenset(old.id for old, _, _ in found)
    ranked = sorted(((_is_own(old, new, changed), old, new, count) for old, new, count in found), key=_rank)
    made = (
        _change(variant, (old, new), f"record-{place}", own=own)
        for place, (own, old, new, _) in enumerate(ranked[:MOST_RECORDS])
    )
    return tuple(made), max(0, len(found) - MOST_RECORDS)


def _rank(one: tuple[bool, Layout, Layout, int]) -> tuple[bool, int]:
    own, _, _, moved = one
    return not own, -moved


def _is_own(old: Layout, new: Layout, changed: frozenset[int]) -> bool:
    """Whether its own declaration was changed; others differ because they hold a record that did."""
    reordered = [one.name for one in old.members] != [one.name for one in new.members]
    return reordered or not any(one.record in changed for one in old.members)


def _change(variant: Variant, sides: tuple[Layout, Layout], anchor: str, *, own: bool) -> RecordChange:
    (old, new), before, after = sides, variant.before, variant.after
    seen = _seen(variant, old)
    heat = heat_of(old, before.layouts, seen.findings, seen.profile) if seen else NO_HEAT
    told = _told(variant, seen, old, new) if seen and own else None
    pair = layout_pair(
        anchor,
        (old, before.layouts),
        (new, after.layouts),
        _emphasis(variant.patch, new, seen, told),
        heat,
        memory_rows(_memory(before, old), _memory(after, new)),
    )
    cells = touched_cells(line_map(old, before.layouts, heat)) if heat.known else ()
    if told is None:
        return RecordChange(pair, own, cells)
    steps = why(step_tables(told.line, told.change, before.layouts), told.line, f"in {variant.name}")
    return RecordChange(pair, own, cells, meetings(told.change, before.layouts), steps)


def _seen(variant: Variant, layout: Layout) -> Analysis | None:
    """What the profile shows of the record in the baseline; nothing where there is none, or it has none of it."""
    if variant.profile is None or not layout.name:
        return None
    try:
        return analyse(Path(variant.before.identity.path), variant.profile.path, variant.profile.section, layout.name)
    except LinesmithError:
        return None


def _told(variant: Variant, seen: Analysis, old: Layout, new: Layout) -> _Told | None:
    """The change as it was built; nothing where no members meet that could be parted, or others are there now."""
    kernel = _kernel(variant.before)
    premises = Premises(kernel=kernel, accesses=seen.accesses, beside=beside(seen))
    layouts = variant.before.layouts
    try:
        record = next(hot_records(seen.findings, layouts, old.name, premises))
    except NothingToSuggest:
        return None
    if record.lines[0].objects[0].layout != old.id:
        return None
    change = as_built(record.subject, old, layouts, new, variant.after.layouts)
    return _Told(record.lines[0], change) if change else None


def _emphasis(patch: str, new: Layout, seen: Analysis | None, told: _Told | None) -> Emphasis:
    """What was moved is marked; who is hot is told in the text with it."""
    moved = _moved(patch, new)
    if seen is None or told is None:
        return Emphasis(moved)
    said = member_heat(told.line, seen.findings)
    return Emphasis(moved, concerned_names(told.change) | frozenset(list(said)[:MOST_HOT]), said)


def _moved(patch: str, layout: Layout) -> frozenset[str]:
    """Members that stand on lines which the patch adds: of two that changed places a layout alone cannot tell which."""
    added = (line[1:].strip() for line in patch.splitlines() if line.startswith("+") and not line.startswith("+++"))
    code = (line.partition("/*")[0].partition("//")[0] for line in added if not line.startswith("*"))
    words = {word for line in code for word in _NAME.findall(line)}
    return frozenset(one.name for one in layout.members if one.name in words)


def _memory(reading: Reading, layout: Layout) -> tuple[MemoryUse, ...]:
    """What objects cost in the slabs of the kernel; nothing of a program."""
    kernel = _kernel(reading)
    if kernel is None:
        return ()
    places = slab_places(layout, Containment(reading.layouts), kernel)
    return tuple(dict.fromkeys(memory_use(place.cache) for place in places))


def _kernel(reading: Reading) -> Kernel | None:
    release = release_of(Path(reading.identity.path))
    return Kernel(machine_of(reading.identity.machine, release)) if release else None
