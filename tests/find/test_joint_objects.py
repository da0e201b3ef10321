# SPDX-License-Identifier: GPL-2.0-or-later
"""Objects that are sure on one line settle what lies on others.

Dentries of 192 bytes begin at the multiples of 192 in a slab, and slabs at the beginning of a page.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from find.lines import Built, accesses, explained, facts, line_of, object_told, profile_of

from linesmith.analyzer.model import CacheLine, LineObject
from linesmith.analyzer.slab.allocation import Kernel

PAGE = 0xFFFF_8880_0001_0000
ENTRY = "0 d_lookup 100/0, 8 d_lookup 100/50"
DOMAIN = "0 pull 100/0, 8 pull 100/50"
BEGIN, END = PAGE + 8192, PAGE + 8192 + 1600  # of a domain


@pytest.fixture(scope="module")
def kernel(built: Built) -> Path:
    return built("kernel.c")


def line(rank: int, address: int | None, rows: str) -> CacheLine:
    return line_of(accesses(rows), address, rank)


def semaphore(offset: int) -> str:
    return f"{offset} down_write 100/50, {offset + 8} down_write 100/50"


def objects(elf: Path, slabs: Kernel | None, *lines: CacheLine) -> list[LineObject]:
    return [one.objects[0] for one in explained(elf, profile_of(*lines), kernel=slabs)]


def test_a_sure_object_settles_the_line_behind_that_it_reaches_onto(kernel: Path) -> None:
    first, second = objects(kernel, None, line(0, PAGE + 192, ENTRY), line(1, PAGE + 320, semaphore(0)))
    assert (object_told(first), object_told(second)) == ("dentry at 0", "dentry at -128")
    assert second.reason == "it reaches over from a line close by, where it is sure"


def test_a_sure_object_holds_the_last_elements_of_its_array(kernel: Path) -> None:
    found = objects(kernel, None, line(0, BEGIN, DOMAIN), line(1, END, semaphore(0)))
    assert [(one.type, one.start) for one in found] == [("domain", 0), ("domain", BEGIN - END)]


def test_a_sure_type_owns_the_lock_that_only_it_can_have_there(kernel: Path) -> None:
    """In another page, where no dentry is known, a semaphore lies 16 bytes into a place of dentries."""
    sure, other = line(0, PAGE, ENTRY), line(1, PAGE + 4096 * 8 + 576, semaphore(16))
    assert objects(kernel, None, sure, other)[1].type == "rw_semaphore"
    second = objects(kernel, Kernel(), sure, other)[1]
    assert object_told(second) == "dentry at 0"
    assert second.reason == "of the types that are sure on other lines it is the only one that can begin here"


def test_where_nothing_settles_it_the_lock_stays_a_lock(kernel: Path) -> None:
    """Both semaphores of a dentry would make it begin between two places; a line without an address stands alone."""
    sure, far = line(0, PAGE, ENTRY), PAGE + 4096 * 8 + 576
    assert objects(kernel, Kernel(), sure, line(1, far, semaphore(32)))[1].type == "rw_semaphore"
    assert objects(kernel, Kernel(), sure, line(1, None, semaphore(16)))[1].type == "rw_semaphore"
    assert objects(kernel, Kernel(), line(0, PAGE + 576, semaphore(16)))[0].type != "dentry"


def test_a_line_with_the_end_of_one_object_and_the_start_of_the_next_has_both(kernel: Path) -> None:
    """Nsproxies of 104 bytes: the second line of a slab has 40 bytes of the first and 24 of the second."""
    both = "24 put_nsproxy 100/50, 32 put_nsproxy 100/0, 40 get_nsproxy 100/50, 48 get_nsproxy 100/0"
    (found,) = map(facts, explained(kernel, profile_of(line(0, PAGE + 64, both)), kernel=Kernel()))
    assert found["objects"] == "nsproxy at -64; nsproxy at 40"
    assert "several objects" in found["kinds"]


def test_a_lock_that_goes_on_on_the_next_line_is_known_where_it_begins(kernel: Path) -> None:
    """Its state ends a line, its holder begins the next; of the code that spins on the state this build has nothing."""
    first = line(0, PAGE, "56 spin 300, 56 take 100, 8 d_lookup 50")
    one, other = objects(kernel, None, first, line(1, PAGE + 64, "0 take 100/50, 0 queue 100/0, 8 queue 100/50"))
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
    (one,) = objects(kernel, None, line(0, address, "0 either 100/50, 8 either 100/50"))
    assert object_told(one) == ("pair at 0" if linear else "page at 0 (cannot tell)")
