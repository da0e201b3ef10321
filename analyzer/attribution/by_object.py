# SPDX-License-Identifier: GPL-2.0-or-later
"""Which objects of a recording emulation makes hot, and the lines that are theirs.

Emulated CPUs execute far fewer instructions between two ticks than real ones do, so that keeping time, RCU's grace
periods and spreading work make up far more of a recorded kernel than of a real one. Which lines are theirs, their
objects tell, by address and type; a function never does: what the scheduler writes in a ``mm_struct`` counts like
anything else.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter

from linesmith.analyzer.attribution.variables import ObjectMap
from linesmith.analyzer.model import CacheLine, ObjectArea, ObjectKind, Profile

# Records, and variables that are of no such record. Source: kernel/time, kernel/rcu and kernel/sched of Linux 5.10 to
# 6.12. ``task_group`` is none of them: CPUs meet on its load average on real machines as well.
_TIMEKEEPING, _RCU, _SCHEDULER = "timekeeping", "RCU", "the scheduler"
_OF_RECORD = {
    **dict.fromkeys(("clock_event_device", "clocksource", "sched_clock_data", "vdso_data"), _TIMEKEEPING),
    **dict.fromkeys(("hrtimer_clock_base", "hrtimer_cpu_base", "timer_base", "tmigr_cpu", "tmigr_group"), _TIMEKEEPING),
    **dict.fromkeys(("tick_device", "tick_sched", "timekeeper", "tk_fast"), _TIMEKEEPING),
    **dict.fromkeys(("context_tracking", "rcu_data", "rcu_node", "rcu_state"), _RCU),
    **dict.fromkeys(("cfs_rq", "dl_rq", "root_domain", "rq", "rt_rq"), _SCHEDULER),
    **dict.fromkeys(("sched_domain", "sched_domain_shared", "sched_group", "sched_group_capacity"), _SCHEDULER),
}
_OF_VARIABLE = {
    **dict.fromkeys(("calc_load_tasks", "calc_load_update", "hpet", "hpet_spinlock", "vdso_data_store"), _TIMEKEEPING),
    **dict.fromkeys(("jiffies", "jiffies_64", "jiffies_lock", "jiffies_seq", "last_jiffies_update"), _TIMEKEEPING),
    **dict.fromkeys(("tick_do_timer_cpu", "tick_next_period", "timekeeper_lock", "tk_core"), _TIMEKEEPING),
    "nohz": _SCHEDULER,
}
# A line is set apart when at least this share of its contended accesses met such objects.
_MOSTLY = 0.75


def owner_of(area: ObjectArea, profile: Profile) -> str:
    """``timekeeping``, ``RCU`` or ``the scheduler`` where the object is theirs in a recorded kernel, else ``""``."""
    owners = {owner_of_record(type_, profile) for type_ in area.types}
    if len(owners) == 1 and "" not in owners:
        return owners.pop()
    # A part of a variable is named after it, with its member.
    variable = area.name.partition(".")[0] if area.kind in (ObjectKind.GLOBAL, ObjectKind.PER_CPU) else ""
    return _OF_VARIABLE.get(variable, "") if _is_of_kernel(profile) else ""


def owner_of_record(type_: str, profile: Profile) -> str:
    """The same of an object of that type."""
    return _OF_RECORD.get(type_, "") if _is_of_kernel(profile) else ""


def _is_of_kernel(profile: Profile) -> bool:
    """Whether an emulated kernel was recorded."""
    return profile.recording is not None and profile.recording.ring != "user"


def lines_apart(profile: Profile) -> dict[int, str]:
    """By address the lines of which most contended accesses met such objects, each with the owner of most of them."""
    owned = sorted((area for area in profile.areas if owner_of(area, profile)), key=lambda area: area.address)
    starts, known = [area.address for area in owned], ObjectMap(owned)
    apart: dict[int, str] = {}
    for line in profile.lines:
        last = -1 if line.address is None else bisect_right(starts, line.address + line.bytes - 1) - 1
        if line.address is None or last < 0 or owned[last].end <= line.address:
            continue
        met: Counter[str] = Counter()
        for access in line.accesses:
            place = None if access.offset is None else known.at(line.address + access.offset)
            met[owner_of(place.area, profile) if place else ""] += access.contended
        total, others = met.total(), met.pop("", 0)
        if total and total - others >= _MOSTLY * total:
            apart[line.address] = max(met, key=lambda owner: met[owner])
    return apart


def main_area(line: CacheLine, known: ObjectMap) -> ObjectArea | None:
    """The object that most contended accesses of a line met."""
    met: Counter[int] = Counter()
    areas = {}
    for access in line.accesses:
        if line.address is not None and access.offset is not None:
            place = known.at(line.address + access.offset)
            if place:
                areas[id(place.area)] = place.area
                met[id(place.area)] += access.contended
    return areas[met.most_common(1)[0][0]] if met else None


def apart_sentence(owner: str) -> str:
    """What is to be known of a finding about such an object."""
    return f"an object of {owner}: emulation makes it hotter than hardware does"
