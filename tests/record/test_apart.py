# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines that are hot because the machine is emulated are marked, and only those."""

from __future__ import annotations

from dataclasses import replace

import pytest

from linesmith.analyzer.model import Access, ObjectArea, ObjectKind, Profile, SharedLine
from linesmith.plugins.recordings.apart import apart_by_objects, set_apart


def line(**contended: int) -> SharedLine:
    """A line with so many contended accesses by each function."""
    accesses = (Access(0, function, hitm_local=count) for function, count in contended.items())
    return SharedLine(1, 0xFFFFFFFF82000000, tuple(accesses))


@pytest.mark.parametrize(
    ("accesses", "kind"),
    [
        ({"tick_do_update_jiffies64": 20, "ktime_get": 70}, "timekeeping"),
        ({"rcu_sched_clock_irq": 30, "note_gp_changes": 30}, "timekeeping"),
        ({"update_sd_lb_stats.constprop.0": 20, "idle_cpu": 8, "_raw_spin_lock": 3}, "scheduler"),
        ({"find_idlest_group": 10, "tick_nohz_next_event": 2}, "scheduler"),
        ({"vma_interval_tree_insert": 50, "down_write": 20, "ktime_get": 9}, ""),
        ({"_raw_spin_lock": 90, "native_queued_spin_lock_slowpath": 80}, ""),
        ({"_raw_spin_lock": 90, "dup_fd": 1}, ""),
        ({}, ""),
    ],
)
def test_the_functions_that_miss_decide(accesses: dict[str, int], kind: str) -> None:
    assert set_apart(line(**accesses), None).apart == kind


def test_a_known_variable_decides_alone() -> None:
    assert set_apart(line(some_driver_poll=50), "jiffies_64").apart == "timekeeping"


def test_another_variable_leaves_it_to_the_functions() -> None:
    assert set_apart(line(get_ucounts=50), "init_ucounts").apart == ""


def kind_beside(*areas: ObjectArea) -> str:
    """What a line that kfree misses on is marked as, with these objects on it."""
    profile = Profile("kernel", "", "hitm", (line(kfree=9),), areas=areas)
    return apart_by_objects(profile).lines[0].apart


def per_cpu(name: str, address: int, size: int = 8) -> ObjectArea:
    return ObjectArea(ObjectKind.PER_CPU, name, address, size, size)


def test_a_line_of_a_run_queue_is_known_by_its_object() -> None:
    assert kind_beside(per_cpu("runqueues", 0xFFFFFFFF81FFF000, 0x1100)) == "scheduler"


def test_a_part_of_a_variable_counts_as_the_variable() -> None:
    assert kind_beside(per_cpu("tk_core.timekeeper", 0xFFFFFFFF82000008)) == "timekeeping"


def test_a_line_with_anything_else_on_it_stays() -> None:
    assert kind_beside(per_cpu("runqueues", 0xFFFFFFFF82000000), per_cpu("files", 0xFFFFFFFF82000020)) == ""


def test_an_object_that_ends_before_the_line_does_not_count() -> None:
    assert kind_beside(per_cpu("runqueues", 0xFFFFFFFF81FFFFF8)) == ""


def test_the_load_average_of_a_task_group_is_real() -> None:
    marked = set_apart(line(update_load_avg=50), None)
    group = ObjectArea(ObjectKind.SLAB, "kmalloc-512", 0xFFFFFFFF82000000, 512, 512, types=("task_group",))
    profile = Profile("kernel", "", "hitm", (marked,), areas=(group,))
    assert (marked.apart, apart_by_objects(profile).lines[0].apart) == ("scheduler", "")


def test_nothing_else_of_the_line_changes() -> None:
    before = line(ktime_get=9)
    assert replace(set_apart(before, None), apart="") == before
