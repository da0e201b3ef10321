# SPDX-License-Identifier: GPL-2.0-or-later
"""How a profile was recorded, in a few rows: the simulated machine, and what had to be dropped."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence

from linesmith.analyzer.addresses.object_totals import ObjectTotal, object_totals
from linesmith.analyzer.model import Finding, Profile, Recording, SharedLine
from linesmith.analyzer.report.counting import amount
from linesmith.analyzer.report.prose import WIDTH, row

MOST_OBJECTS = 12


def recording_rows(recording: Recording) -> list[str]:
    """The rows that stand below the title of a report about a recorded profile."""
    nodes = len(set(recording.nodes)) or 1
    caches = f"{recording.cache_bytes:,}-byte caches" if recording.cache_bytes else "unbounded caches"
    machine = f"{len(recording.nodes)} CPUs on {nodes} node{'s' if nodes > 1 else ''}, {caches}"
    lines = f"{recording.line_bytes}-byte lines, {recording.ring} accesses"
    rows = [
        f"recorded on {recording.on}: {shlex.join(recording.command)}",
        f"simulated: {machine}, {lines}; counts are exact, not sampled",
    ]
    dropped = [f"{count:,} {name.removeprefix('dropped_')}" for name, count in _dropped(recording)]
    return rows + ([f"dropped for want of room: {', '.join(dropped)}"] if dropped else [])


def stores_of(finding: Finding) -> str:
    """How many stores the line has; that none was sampled does not say that there was none, but of a recording."""
    if finding.stores or finding.simulated:
        return amount(finding.stores, "stores")
    return "no stores sampled"


def object_rows(profile: Profile, columns: int = WIDTH) -> list[str]:
    """The caches and variables that carry most of a recording, whatever the number of their lines."""
    if not profile.areas:
        return []
    shown = object_totals(profile)[:MOST_OBJECTS]
    return ["by object, all lines that count:", *(_object_row(one, columns) for one in shown)]


def _object_row(one: ObjectTotal, columns: int) -> str:
    name = f"{one.kind.value} {one.name}" if one.kind else "in no slab cache or variable that is known"
    types = f" ({' or '.join(one.types[:3])})" if one.types and one.types != (one.name,) else ""
    lines = f"{one.lines:>5,} line{' ' if one.lines == 1 else 's'}"
    return row(f"  {one.share:>6.1%} {one.contended:>9,} on {lines}  ", f"{name}{types}", columns)


def left_out_rows(left_out: Sequence[SharedLine], profile: Profile) -> list[str]:
    """What is not shown, with its share: lines set apart by kind, and lines that were not looked at."""
    total = sum(line.contended for line in profile.lines) or 1
    lines: Counter[str] = Counter()
    contended: Counter[str] = Counter()
    for line in left_out:
        lines[line.apart] += 1
        contended[line.apart] += line.contended
    return [_left_out(kind, lines[kind], contended[kind] / total) for kind in sorted(lines, reverse=True)]


def _left_out(kind: str, lines: int, share: float) -> str:
    counted = f"{lines:,} line{'s' if lines > 1 else ''} with {share:.1%} of all contended accesses"
    return f"set apart as {kind}: {counted}" if kind else f"not looked at: {counted}; --top looks at more"


def _dropped(recording: Recording) -> list[tuple[str, int]]:
    return [(name, count) for name, count in recording.counts if name.startswith("dropped_") and count]
