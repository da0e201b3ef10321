# SPDX-License-Identifier: GPL-2.0-or-later
"""Which lines of a recording emulation makes hot, by the objects on them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from find.lines import accesses, line_of, profile_of

from linesmith.analyzer.attribution.variables import lines_apart
from linesmith.analyzer.model import ObjectArea, ObjectKind, Profile, Recording

KERNEL = Recording("qemu", ("storm",), (0, 0), "x86_64")
VMAS = ObjectArea(ObjectKind.SLAB, "vm_area_struct", 0x1000, 64, 64, 4, ("vm_area_struct",))
QUEUE = ObjectArea(ObjectKind.PER_CPU, "runqueues", 0x2000, 0x100, 0x100, 1, ("rq",), cpu=0)
JIFFIES = ObjectArea(ObjectKind.GLOBAL, "jiffies_64", 0x3000, 8, 8)
TASKS = ObjectArea(ObjectKind.GLOBAL, "tasklist_lock", 0x3008, 8, 8, 1, ("rwlock_t",))


def recorded(*met: tuple[int, str], areas: tuple[ObjectArea, ...] = (VMAS, QUEUE, JIFFIES, TASKS)) -> Profile:
    """A kernel's profile with these accesses on the lines at these addresses."""
    return profile_of(*(line_of(accesses(text), at) for at, text in met), recording=KERNEL, areas=areas)


@pytest.mark.parametrize(
    ("area", "text", "owner"),
    [
        (QUEUE, "8 kfree 9", "the scheduler"),
        (VMAS, "8 finish_task_switch 9, 16 ktime_get 9", None),  # a function decides nothing
        (replace(QUEUE, types=(), name="tk_core.seq"), "8 kfree 9", "timekeeping"),  # a part counts as the variable
        (replace(VMAS, name="kmalloc-512", types=("cfs_rq",)), "8 kfree 9", "the scheduler"),
        (replace(VMAS, name="kmalloc-512", types=("task_group",)), "8 update_load_avg 9", None),
        (replace(VMAS, types=("rq", "file")), "8 kfree 9", None),  # perhaps
        (replace(VMAS, name="jiffies"), "8 kfree 9", None),  # a cache of that name
        (QUEUE, "8 kfree 0", None),
    ],
)
def test_the_object_decides_whose_a_line_is(area: ObjectArea, text: str, owner: str | None) -> None:
    assert lines_apart(recorded((area.address, text), areas=(area,))).get(area.address) == owner


@pytest.mark.parametrize(("text", "apart"), [("0 a 75, 8 b 25", True), ("0 a 74, 8 b 26", False), ("16 c 1", False)])
def test_a_line_of_two_objects_is_set_apart_when_most_met_the_one(text: str, apart: bool) -> None:
    assert (lines_apart(recorded((0x3000, text))) != {}) == apart


def test_nothing_is_set_apart_in_samples_and_programs() -> None:
    profile = recorded((0x2000, "8 kfree 9"))
    assert lines_apart(profile)
    assert not lines_apart(replace(profile, recording=None))
    assert not lines_apart(replace(profile, recording=replace(KERNEL, ring="user")))
