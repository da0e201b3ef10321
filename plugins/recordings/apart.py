# SPDX-License-Identifier: GPL-2.0-or-later
"""Sets lines apart that are hot only because the machine is emulated: the tick and the run queues.

Emulated CPUs execute far fewer instructions between two ticks than real ones do, so that the code that keeps time and
the code that spreads work make up far more of a recording than of a real machine's misses. Such lines stay in the
profile; they are marked, so that nobody takes them for findings.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from dataclasses import replace

from linesmith.analyzer.model import ObjectArea, ObjectKind, Profile, SharedLine
from linesmith.plugins.recordings.apart_symbols import (
    ANYBODYS_FUNCTIONS,
    SCHEDULER_FUNCTIONS,
    SCHEDULER_VARIABLES,
    TIMEKEEPING_FUNCTIONS,
    TIMEKEEPING_VARIABLES,
)

TIMEKEEPING = "timekeeping"
SCHEDULER = "scheduler"
# A line is apart when this share of the contended accesses that say anything comes from such functions.
_MOSTLY = 0.75
# The functions that keep a group's load average also keep the run queues; only the object tells them apart.
_REAL = "task_group"


def set_apart(line: SharedLine, variable: str | None) -> SharedLine:
    """The line, marked when it is the tick's or the scheduler's; ``variable`` is what lies on it, if it is known."""
    if kind := _kind_of_variable(variable):
        return replace(line, apart=kind)
    weights: defaultdict[str, int] = defaultdict(int)
    for access in line.accesses:
        if access.function and not access.function.startswith(ANYBODYS_FUNCTIONS):
            weights[_kind_of_function(access.function)] += access.contended
    total = sum(weights.values())
    apart = weights[TIMEKEEPING] + weights[SCHEDULER]
    if not total or apart < _MOSTLY * total:
        return line
    return replace(line, apart=max((TIMEKEEPING, SCHEDULER), key=lambda kind: weights[kind]))


def apart_by_objects(profile: Profile) -> Profile:
    """The profile with those lines marked too whose every known object is a variable of the tick or the scheduler.

    Lines of a group of tasks lose their mark: CPUs meet on its load average on real machines as well.
    """
    areas = sorted(profile.areas, key=lambda area: area.address)
    starts = [area.address for area in areas]

    def marked(line: SharedLine) -> SharedLine:
        if line.address is None:
            return line
        first = max(bisect_right(starts, line.address) - 1, 0)
        met = areas[first : bisect_left(starts, line.address + line.bytes)]
        met = [area for area in met if area.end > line.address]
        if any(_REAL in area.types for area in met):
            return replace(line, apart="")
        kinds = {_kind_of_area(area) for area in met}
        return replace(line, apart=kinds.pop()) if len(kinds) == 1 and not line.apart else line

    return replace(profile, lines=tuple(map(marked, profile.lines)))


def _kind_of_area(area: ObjectArea) -> str:
    """Kind of a variable; a part of one is named after it, with its member."""
    is_variable = area.kind in (ObjectKind.GLOBAL, ObjectKind.PER_CPU)
    return _kind_of_variable(area.name.partition(".")[0]) if is_variable else ""


def _kind_of_variable(variable: str | None) -> str:
    if variable in TIMEKEEPING_VARIABLES:
        return TIMEKEEPING
    return SCHEDULER if variable in SCHEDULER_VARIABLES else ""


def _kind_of_function(function: str) -> str:
    if function.startswith(TIMEKEEPING_FUNCTIONS):
        return TIMEKEEPING
    return SCHEDULER if function.startswith(SCHEDULER_FUNCTIONS) else ""
