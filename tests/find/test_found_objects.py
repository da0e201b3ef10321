# SPDX-License-Identifier: GPL-2.0-or-later
"""Objects on lines that are too cool to be attributed one by one, by instructions that touched known objects.

Every function of the accesses has one instruction for each offset of a dentry: its address is the offset.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from find.lines import LINE, Built, accesses, explained, line_of, profile_of

from linesmith.analyzer.attribution.found_objects import found_objects
from linesmith.analyzer.attribution.identify import record_of
from linesmith.analyzer.layouts.containment import Containment
from linesmith.analyzer.layouts.dwarf import read_layouts
from linesmith.analyzer.model import CacheLine, ObjectArea, ObjectKind

FAR = LINE + 0x10000
KNOWN = "0 d_lookup, 8 d_lookup"


@pytest.fixture(scope="module")
def kernel(built: Built) -> Path:
    return built("kernel.c")


def line(rank: int, address: int, rows: str, begin: int = 0) -> CacheLine:
    """A line with an object that begins ``begin`` bytes from its first."""
    met = [replace(one, code_address=0x100 + (one.offset or 0) - begin) for one in accesses(rows)]
    return line_of(met, address, rank)


def found(elf: Path, *lines: CacheLine, areas: tuple[ObjectArea, ...] = ()) -> list[tuple[str, int]]:
    """The types and addresses of what is found where only the first line was attributed."""
    layouts, (hottest, *_) = read_layouts(elf).layouts, explained(elf, profile_of(lines[0]))
    assert hottest.objects[0].type == "dentry"
    areas_found = found_objects(profile_of(*lines, areas=areas), (hottest,), layouts)
    return [(area.types[0], area.address) for area in areas_found]


def test_two_instructions_that_agree_find_an_object_wherever_it_begins(kernel: Path) -> None:
    here = line(0, LINE, KNOWN), line(1, FAR, "24 d_lookup, 32 d_lookup", begin=24)
    assert found(kernel, *here) == [("dentry", LINE), ("dentry", FAR + 24)]


@pytest.mark.parametrize(
    "rows", ["0 d_lookup", "0 down_write, 8 down_write", "0 d_lookup, 16 d_lookup", "0 d_lookup, 9 d_lookup"]
)
def test_one_instruction_or_those_of_a_helper_or_of_elsewhere_find_none(kernel: Path, rows: str) -> None:
    assert found(kernel, line(0, LINE, KNOWN), line(1, FAR, rows)) == [("dentry", LINE)]


def test_what_most_instructions_speak_against_is_none(kernel: Path) -> None:
    """Two of the instructions would have an object begin 8 bytes behind where more accesses say."""
    met = (*line(1, FAR, KNOWN).accesses, *line(1, FAR, "8 d_lookup 40, 16 d_lookup 40", begin=8).accesses)
    assert found(kernel, line(0, LINE, KNOWN), line_of(met, FAR, 1)) == [("dentry", LINE)]


def test_memory_that_is_known_keeps_its_object(kernel: Path) -> None:
    file = ObjectArea(ObjectKind.GLOBAL, "opened", FAR + 64, 192, 192, 1, ("file",))
    lines = line(0, LINE, KNOWN), line(1, FAR, KNOWN)
    assert found(kernel, *lines) == [("dentry", LINE), ("dentry", FAR)]
    assert found(kernel, *lines, areas=(file,)) == [("dentry", LINE)]


def test_an_area_of_any_size_costs_no_more_than_what_is_looked_for_in_it(kernel: Path) -> None:
    whole = ObjectArea(ObjectKind.VMALLOC, "vmalloc", 1 << 40, 1 << 62, 1 << 62)
    assert found(kernel, line(0, LINE, KNOWN), line(1, FAR, KNOWN), areas=(whole,)) == [
        ("dentry", LINE),
        ("dentry", FAR),
    ]


@pytest.mark.parametrize(
    ("cache", "size", "expected"), [("dentry", 160, "dentry"), ("dentry", 144, None), ("kmalloc-160", 160, None)]
)
def test_a_cache_may_cut_the_last_member_of_its_record(
    kernel: Path, cache: str, size: int, expected: str | None
) -> None:
    """As the kernel does with task_struct; the last member of a dentry begins at byte 144 of 192."""
    area = ObjectArea(ObjectKind.SLAB, cache, LINE, size, size, 8, ("dentry",))
    layout = record_of(area, Containment(read_layouts(kernel).layouts))
    assert (layout.name if layout else None) == expected
