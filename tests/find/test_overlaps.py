# SPDX-License-Identifier: GPL-2.0-or-later
"""Objects that are sure on one line settle what lies on others; two never overlap, whatever was sampled.

Dentries of 192 bytes begin at the multiples of 192 in a slab, and slabs at the beginning of a page.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from find.lines import LINE, Built, accesses, explained, facts, line_of, object_told, profile_of
from hand_made import held, scalar, struct, table
from hypothesis import given, settings
from hypothesis import strategies as st

from linesmith.analyzer.access.store import read_accesses
from linesmith.analyzer.attribution.hypotheses import Hypothesis, overlap, same_place
from linesmith.analyzer.attribution.identify import found_objects, record_of
from linesmith.analyzer.attribution.line_members import fits
from linesmith.analyzer.layouts.containment import Containment
from linesmith.analyzer.layouts.dwarf import read_layouts
from linesmith.analyzer.model import CacheLine, Finding, LineObject, ObjectArea, ObjectKind, Outcome
from linesmith.analyzer.slab.allocation import Kernel

FUNCTIONS = ("pull", "d_lookup", "down_write", "take", "queue", "get_nsproxy", "put_nsproxy")
ROWS = st.lists(st.tuples(st.sampled_from(range(0, 64, 8)), st.sampled_from(FUNCTIONS)), min_size=1, max_size=5)
PAGE = 0xFFFF_8880_1234_0000


@pytest.fixture(scope="module")
def containment(built: Built) -> Containment:
    return Containment(read_layouts(built("kernel.c")).layouts)


def sure(found: tuple[Finding, ...]) -> Iterator[Hypothesis]:
    for finding in found:
        for one in finding.objects:
            if one.layout is not None and one.outcome is Outcome.RESOLVED:
                yield Hypothesis(one.layout, (finding.address or 0) + one.start)


@given(st.lists(ROWS, min_size=2, max_size=8), st.booleans())
@settings(max_examples=40, deadline=None)
def test_objects_on_lines_behind_each_other(
    built: Built, containment: Containment, met: list[list[tuple[int, str]]], slabs: bool
) -> None:
    lines: list[CacheLine] = []
    for number, rows in enumerate(met):
        text = ", ".join(f"{offset} {name} 100/50" for offset, name in dict(rows).items())
        lines.append(line_of(accesses(text), PAGE + 64 * number, number))
    found = explained(built("kernel.c"), profile_of(*lines), kernel=Kernel() if slabs else None)
    claims = list(dict.fromkeys(sure(found)))
    for at, one in enumerate(claims):
        for other in claims[at + 1 :]:
            assert not overlap(one, other, containment) or same_place(one, other, containment), (one, other)


def test_locks_of_one_byte_are_no_record_of_pointers(built: Built) -> None:
    """The semaphores' functions at each byte of a line: the widths say that no semaphore lies there."""
    rows = accesses(", ".join(f"{offset} down_write 100/50" for offset in (0, 8)))
    wide = line_of(rows, PAGE)
    bytes_ = replace(wide, accesses=tuple(replace(one, offset=(one.offset or 0) + 3, width=8) for one in rows))
    assert explained(built("kernel.c"), profile_of(wide))[0].objects[0].type == "rw_semaphore"
    (found,) = explained(built("kernel.c"), profile_of(bytes_))
    assert found.objects[0].outcome not in (Outcome.RESOLVED, Outcome.INNER_TYPE_ONLY)


def test_what_would_overlap_as_a_whole_is_the_part_of_it_that_does_not(built: Built) -> None:
    """A server by itself; in the proxy that embeds one it would take the bytes of the counters behind it."""
    server = line_of(accesses("0x8 reset 100/50, 0x10 waiting_for 100"), PAGE + 64)
    counters = line_of(accesses("0 count 100/50, 8 count 100/50, 0x10 failed 100"), PAGE + 256, 1)
    found = explained(built("embedded.c"), profile_of(server, counters))
    assert [object_told(one.objects[0]) for one in found] == ["server at -64", "counters at 0"]


INNER = struct("inner", scalar("one", 4), scalar("two", 4))
OUTER = struct("outer", scalar("whole"), held("inner", INNER), scalar("last", 4))


@pytest.mark.parametrize(
    ("place", "width", "fit"),
    [(0, 8, True), (0, 4, True), (8, 4, True), (8, 8, True), (8, 6, False), (16, 16, False), (8, 0, True)],
    ids=(
        *("a number", "a part of it", "just it", "two members at once", "it ends within another member"),
        *("it ends behind the object", "of no known width"),
    ),
)
def test_an_access_fits_a_member_or_several(place: int, width: int, fit: bool) -> None:
    containment = Containment(table(INNER, OUTER))
    leaf = containment.leaves(OUTER.id, place)[0]
    assert fits(leaf, OUTER.id, place, width, containment) is fit


SLAB = 0xFFFF_8880_0001_0000
ENTRY = "0 d_lookup 100/0, 8 d_lookup 100/50"
DOMAIN = "0 pull 100/0, 8 pull 100/50"
BEGIN, END = SLAB + 8192, SLAB + 8192 + 1600  # of a domain


@pytest.fixture(scope="module")
def kernel(built: Built) -> Path:
    return built("kernel.c")


def line_at(rank: int, address: int | None, rows: str) -> CacheLine:
    return line_of(accesses(rows), address, rank)


def semaphore(offset: int) -> str:
    return f"{offset} down_write 100/50, {offset + 8} down_write 100/50"


def objects(elf: Path, slabs: Kernel | None, *lines: CacheLine) -> list[LineObject]:
    return [one.objects[0] for one in explained(elf, profile_of(*lines), kernel=slabs)]


def test_a_sure_object_settles_the_line_behind_that_it_reaches_onto(kernel: Path) -> None:
    first, second = objects(kernel, None, line_at(0, SLAB + 192, ENTRY), line_at(1, SLAB + 320, semaphore(0)))
    assert (object_told(first), object_told(second)) == ("dentry at 0", "dentry at -128")
    assert second.reason == "it reaches over from a line close by, where it is sure"


def test_a_sure_object_holds_the_last_elements_of_its_array(kernel: Path) -> None:
    found = objects(kernel, None, line_at(0, BEGIN, DOMAIN), line_at(1, END, semaphore(0)))
    assert [(one.type, one.start) for one in found] == [("domain", 0), ("domain", BEGIN - END)]


def test_a_sure_type_owns_the_lock_that_only_it_can_have_there(kernel: Path) -> None:
    """In another page, where no dentry is known, a semaphore lies 16 bytes into a place of dentries."""
    sure, other = line_at(0, SLAB, ENTRY), line_at(1, SLAB + 4096 * 8 + 576, semaphore(16))
    assert objects(kernel, None, sure, other)[1].type == "rw_semaphore"
    second = objects(kernel, Kernel(), sure, other)[1]
    assert object_told(second) == "dentry at 0"
    assert second.reason == "of the types that are sure on other lines it is the only one that can begin here"


def test_where_nothing_settles_it_the_lock_stays_a_lock(kernel: Path) -> None:
    """Both semaphores of a dentry would make it begin between two places; a line without an address stands alone."""
    sure, far = line_at(0, SLAB, ENTRY), SLAB + 4096 * 8 + 576
    assert objects(kernel, Kernel(), sure, line_at(1, far, semaphore(32)))[1].type == "rw_semaphore"
    assert objects(kernel, Kernel(), sure, line_at(1, None, semaphore(16)))[1].type == "rw_semaphore"
    assert objects(kernel, Kernel(), line_at(0, SLAB + 576, semaphore(16)))[0].type != "dentry"


def test_a_line_with_the_end_of_one_object_and_the_start_of_the_next_has_both(kernel: Path) -> None:
    """Nsproxies of 104 bytes: the second line of a slab has 40 bytes of the first and 24 of the second."""
    both = "24 put_nsproxy 100/50, 32 put_nsproxy 100/0, 40 get_nsproxy 100/50, 48 get_nsproxy 100/0"
    (found,) = map(facts, explained(kernel, profile_of(line_at(0, SLAB + 64, both)), kernel=Kernel()))
    assert found["objects"] == "nsproxy at -64; nsproxy at 40"
    assert "several objects" in found["kinds"]


def test_a_lock_that_goes_on_on_the_next_line_is_known_where_it_begins(kernel: Path) -> None:
    """Its state ends a line, its holder begins the next; of the code that spins on the state this build has nothing."""
    first = line_at(0, SLAB, "56 spin 300, 56 take 100, 8 d_lookup 50")
    one, other = objects(kernel, None, first, line_at(1, SLAB + 64, "0 take 100/50, 0 queue 100/0, 8 queue 100/50"))
    assert (object_told(one), object_told(other)) == ("big_mutex at 56 (inner type only)", "big_mutex at -8")
    assert one.reason == "it begins here and goes on on the line behind, where it is sure"


@pytest.mark.parametrize(
    ("address", "linear"),
    [
        (0xFFFF_8881_C064_2F80, True),  # x86-64, four levels: memory
        (0xFFFF_EA00_0000_1000, False),  # x86-64, four levels: struct page
        (0xFFFF_C900_0000_1000, False),  # x86-64, four levels: vmalloc
        (0xFF11_0000_8836_6D80, True),  # x86-64, five levels: memory
        (0xFFD4_0000_0000_1000, False),  # x86-64, five levels: struct page
        (0xFFFF_0000_4000_1000, True),  # arm64: memory
        (0xFFFF_FC00_0000_1000, False),  # arm64: struct page
        (0xFFFF_FFFF_8200_1000, False),  # x86-64: the kernel's own variables
        (0x5555_5555_6000, False),  # a program
    ],
)
def test_no_page_is_described_in_memory_that_is_mapped_linearly(kernel: Path, address: int, linear: bool) -> None:
    (one,) = objects(kernel, None, line_at(0, address, "0 either 100/50, 8 either 100/50"))
    assert object_told(one) == ("pair at 0" if linear else "page at 0 (cannot tell)")


# Objects on lines that are too cool to be attributed one by one, by instructions that touched known objects


FAR = LINE + 0x10000
KNOWN = "0 d_lookup, 8 d_lookup"


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


@pytest.mark.parametrize(
    ("others", "record"),
    [
        ("", "raw_spinlock at 16 (inner type only)"),
        (", 40 get_older 2/1", "vector at -64"),
        (", 40 get_older 2/1, 56 first 5", "raw_spinlock at 16 (inner type only)"),
        (", 40 get_older 2/1, 16 drop 5/5", "six at -24 (cannot tell)"),
        (", 40 get_padded 2/1", "raw_spinlock at 16 (inner type only)"),
    ],
    ids=(
        "nothing",
        "one holder",
        "two records",
        "one holder, and another's lock",
        "one that begins at lines only",
    ),
)
def test_the_holder_of_a_lock_is_what_other_code_on_its_line_touches(built: Built, others: str, record: str) -> None:
    """However little it is: eight types hold the lock."""
    elf, line = built("held_lock.c"), line_at(0, None, f"16 take 100000/50, 20 take 10000/50{others}")
    (found,) = explained(elf, profile_of(line), accesses=read_accesses(elf).accesses)
    assert object_told(found.objects[0]) == record
