# SPDX-License-Identifier: GPL-2.0-or-later
"""A recording by object: many cool lines of one cache outweigh a hot line."""

from __future__ import annotations

from linesmith.analyzer.addresses.object_totals import object_totals
from linesmith.analyzer.model import Access, ObjectArea, ObjectKind, Profile, SharedLine


def line(address: int, hitm: int, apart: str = "") -> SharedLine:
    return SharedLine(1, address, (Access(8, "function", hitm_local=hitm),), hitm_local=hitm, apart=apart)


VMAS = ObjectArea(ObjectKind.SLAB, "vm_area_struct", 0x1000, 64, 64, 4, ("vm_area_struct",))
TASKS = ObjectArea(ObjectKind.GLOBAL, "tasklist_lock", 0x2000, 64, 64, 1, ("rwlock_t",))


def test_lines_of_one_cache_add_up() -> None:
    lines = (line(0x2000, 20), line(0x1000, 15), line(0x1040, 15))
    totals = object_totals(Profile("test", "", "hitm", lines, areas=(VMAS, TASKS)))
    assert [(one.name, one.lines, one.contended) for one in totals] == [
        ("vm_area_struct", 2, 30),
        ("tasklist_lock", 1, 20),
    ]
    assert totals[0].share == 0.6


def test_what_no_area_holds_is_told_as_not_known() -> None:
    (total,) = object_totals(Profile("test", "", "hitm", (line(0x9000, 5),), areas=(VMAS,)))
    assert (total.kind, total.name) == (None, "")


def test_lines_set_apart_are_no_objects_total_but_count_in_the_whole() -> None:
    lines = (line(0x1000, 10), line(0x2000, 10, apart="timekeeping"))
    (total,) = object_totals(Profile("test", "", "hitm", lines, areas=(VMAS, TASKS)))
    assert (total.name, total.share) == ("vm_area_struct", 0.5)
