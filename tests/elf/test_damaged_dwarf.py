# SPDX-License-Identifier: GPL-2.0-or-later
"""DWARF that breaks a rule: one broken rule per row, each refused by name or read as far as it makes sense."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from elf.objects import Dwarf, Refusal, Section, dwarf_file, elf_file, error_class, refusal, uleb

from linesmith.analyzer.layouts.dwarf import read_layouts

READ = ""  # no error: what is wrong is left out, and the rest is read
ZLIB = 1
UNKNOWN_FORM = 0x7F
STRP, REF_ADDR, REF4, DATA8, BLOCK4, INDIRECT = 0x0E, 0x10, 0x13, 0x07, 0x04, 0x16
NEXT_STEP = "rebuild the file, or read its BTF instead"
HEADER = Refusal(
    "DebugInfoDamaged",
    f"FILE: the unit header at offset 0x0 of .debug_info is cut off or of an unknown DWARF version; {NEXT_STEP}",
)
ENTRIES = Refusal(
    "DebugInfoDamaged", f"FILE: the debug information of the unit at offset 0x0 of .debug_info is damaged; {NEXT_STEP}"
)
HOLDS_ITSELF = Refusal(
    "DebugInfoDamaged",
    'FILE: the record "record" holds itself by value, which no compiler writes; the debug information is damaged, so '
    "rebuild the file",
)


def sound() -> Dwarf:
    """A unit with ``struct record { int first; }`` that nothing is wrong with."""
    dwarf = Dwarf()
    dwarf.struct("record", 4, first=dwarf.int)
    return dwarf


def file_of(folder: Path, dwarf: Dwarf, info: bytes) -> Path:
    return elf_file(folder / "file", Section(".debug_abbrev", dwarf.abbrev()), Section(".debug_info", info))


def test_the_unit_written_by_hand_is_sound(tmp_path: Path) -> None:
    """Otherwise the tests below would find other faults than they name."""
    layouts = read_layouts(dwarf_file(tmp_path / "file", sound())).layouts
    assert [member.declarator for member in layouts.variants("record")[0].members] == ["first"]


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        pytest.param({"length": 0x1000}, HEADER, id="longer than its section"),
        pytest.param({"length": 3}, HEADER, id="shorter than its header"),
        pytest.param({"version": 77}, HEADER, id="a version nobody wrote"),
        pytest.param({"abbreviations_at": 0x100000}, ENTRIES, id="abbreviations outside"),
    ],
)
def test_header_of_a_unit(tmp_path: Path, header: dict[str, int], expected: Refusal) -> None:
    dwarf = sound()
    dwarf.end()
    assert refusal(file_of(tmp_path, dwarf, dwarf.info(**header))) == expected


def form(tag: str, attribute: str, value: int, form: int, more: bytes = b"") -> Callable[[Dwarf], None]:
    """Adds an entry with an attribute in an unusual form, and bytes behind it."""

    def add(dwarf: Dwarf) -> None:
        attributes: dict[str, Any] = {attribute: value}
        dwarf.entry(tag, forms={attribute: form}, **attributes)
        dwarf.raw(more)

    return add


def of_itself(tag: str) -> Callable[[Dwarf], None]:
    """Adds a type made of itself, and a struct that holds it."""

    def add(dwarf: Dwarf) -> None:
        loop = dwarf.here()
        dwarf.entry(tag, type=loop)
        dwarf.struct("looped", 4, first=loop)

    return add


def sibling_that_points_back(dwarf: Dwarf) -> None:
    """A reader that follows it goes in circles."""
    dwarf.entry("structure_type", children=True, sibling=dwarf.here(), name="circle", byte_size=4)
    dwarf.end()


def array_larger_than_memory(dwarf: Dwarf) -> None:
    array = dwarf.entry("array_type", children=True, type=dwarf.int)
    for _ in range(3):
        dwarf.entry("subrange_type", upper_bound=0xFFFFFFFFFFFFFFFE, forms={"upper_bound": DATA8})
    dwarf.end()
    dwarf.struct("large", 4, first=array)


def struct_in_itself(dwarf: Dwarf) -> None:
    dwarf.struct("record", 4, inner=dwarf.here())


def structs_in_each_other(dwarf: Dwarf) -> None:
    first = dwarf.here()
    dwarf.struct("record", 4, inner=first)
    other = dwarf.struct("other", 4, inner=first)
    place = dwarf.entries.index(struct.pack("<I", first))
    dwarf.entries[place : place + 4] = struct.pack("<I", other)


def typedefs_of_typedefs(dwarf: Dwarf) -> None:
    """A reader that follows them by recursion runs out of stack."""
    last = dwarf.int
    for _ in range(100_000):
        last = dwarf.entry("typedef", name="t", type=last)
    dwarf.struct("end", 4, first=last)


def structs_declared_in_structs(dwarf: Dwarf) -> None:
    for _ in range(100_000):
        dwarf.entry("structure_type", children=True, name="s", byte_size=4)


def structs_that_hold_the_one_before(dwarf: Dwarf) -> None:
    last = dwarf.int
    for _ in range(20_000):
        last = dwarf.struct("s", 4, inner=last)


# What is added to a unit, and how that ends.
ADDED: dict[str, tuple[Callable[[Dwarf], object], Refusal | str]] = {
    "an abbreviation that is not declared": (lambda dwarf: dwarf.raw(uleb(99)), ENTRIES),
    "an unknown form": (form("structure_type", "byte_size", 4, UNKNOWN_FORM), ENTRIES),
    # DW_FORM_indirect whose form is DW_FORM_indirect, and so on to the end of the unit.
    "a form that names itself": (
        form("structure_type", "byte_size", INDIRECT, INDIRECT, bytes([INDIRECT]) * 5000),
        ENTRIES,
    ),
    "a block longer than the unit": (form("member", "data_member_location", 0xFF, BLOCK4, b"\xff\xff\xff"), ENTRIES),
    "a name behind the strings": (form("structure_type", "name", 0x100000, STRP), READ),
    # A reader that takes the number for the place of a text reads memory that is not there.
    "a name that is a number": (form("structure_type", "name", 0x41414141, DATA8), READ),
    "a name that is a reference": (form("structure_type", "name", 0x41414141, REF4), READ),
    "a name that is a block": (form("structure_type", "name", 0x41414141, BLOCK4), "DebugInfoDamaged"),
    "a name whose form is late to say so": (form("structure_type", "name", DATA8, INDIRECT, b"A" * 8), READ),
    "a unit that imports itself": (lambda dwarf: dwarf.entry("imported_unit", import_=11), READ),
    "a sibling that points back": (sibling_that_points_back, READ),
    **{f"a {tag} of itself": (of_itself(tag), READ) for tag in ("typedef", "const_type", "pointer_type", "array_type")},
    "an array larger than memory": (array_larger_than_memory, READ),
    "a struct in itself": (struct_in_itself, HOLDS_ITSELF),
    "structs in each other": (structs_in_each_other, HOLDS_ITSELF),
    "typedefs of typedefs": (typedefs_of_typedefs, READ),
    "structs declared in structs": (structs_declared_in_structs, "DebugInfoDamaged"),
    "structs that hold the one before": (structs_that_hold_the_one_before, READ),
}


@pytest.mark.parametrize("case", ADDED)
def test_entries_that_break_a_rule(tmp_path: Path, case: str) -> None:
    add, expected = ADDED[case]
    dwarf = Dwarf()
    add(dwarf)
    file = dwarf_file(tmp_path / "file", dwarf)
    assert (refusal(file) if isinstance(expected, Refusal) else error_class(file)) == expected


@pytest.mark.parametrize("place", [0, 5, 0x7FFFFFFF, 0xFFFFFFFF])
@pytest.mark.parametrize("form", [REF4, REF_ADDR])
def test_type_that_is_no_entry(tmp_path: Path, place: int, form: int) -> None:
    dwarf = Dwarf()
    dwarf.entry("structure_type", children=True, name="record", byte_size=4)
    dwarf.entry("member", name="m", type=place, data_member_location=0, forms={"type": form})
    dwarf.end()
    assert error_class(dwarf_file(tmp_path / "file", dwarf)) == READ


def test_unit_without_its_end_or_its_abbreviations(tmp_path: Path) -> None:
    """Producers leave the last null entries out; the end of the unit ends the children too, but no name."""
    dwarf = sound()
    assert error_class(file_of(tmp_path, dwarf, dwarf.info())) == READ
    alone = elf_file(tmp_path / "alone", Section(".debug_info", dwarf.info()))
    assert refusal(alone).error == "DebugInfoDamaged"
    dwarf.entry("structure_type", name="endless")
    dwarf.entries.pop()
    assert refusal(file_of(tmp_path, dwarf, dwarf.info())) == ENTRIES


def test_record_with_a_descriptor_of_an_array_of_its_own_kind(tmp_path: Path) -> None:
    """Fortran's allocatable component: the elements lie elsewhere."""
    dwarf = Dwarf()
    array = dwarf.entry("array_type", children=True, data_location=0, type=dwarf.here() + 16)
    dwarf.entry("subrange_type", upper_bound=3)
    dwarf.end()
    record = dwarf.struct("record", 8, count=dwarf.int, children=array)
    place = dwarf.entries.index(struct.pack("<I", array + 16))
    dwarf.entries[place : place + 4] = struct.pack("<I", record)
    layouts = read_layouts(dwarf_file(tmp_path / "file", dwarf)).layouts
    assert [member.record for member in layouts.variants("record")[0].members] == [None, None]


def compressed(folder: Path, content: bytes, *, claimed: int, method: int = ZLIB) -> Path:
    """A file whose .debug_info is ``content`` behind a compression header (ELF gABI, Elf64_Chdr)."""
    header = struct.pack("<IIQQ", method, 0, claimed, 1)
    info = Section(".debug_info", header + content, flags="SHF_COMPRESSED")
    return elf_file(folder / "file", Section(".debug_abbrev", sound().abbrev()), info)


def test_compressed_sections(tmp_path: Path) -> None:
    dwarf = sound()
    dwarf.end()
    packed = zlib.compress(dwarf.info())
    assert error_class(compressed(tmp_path, packed, claimed=len(dwarf.info()))) == READ
    for claimed in (0, 5, 100_000, 2**63):
        assert refusal(compressed(tmp_path, packed, claimed=claimed)).error == "ElfError"
    assert refusal(compressed(tmp_path, b"not a zlib stream", claimed=100)).error == "ElfError"
    assert refusal(compressed(tmp_path, zlib.compress(b"text"), claimed=4, method=77)).error == "ElfError"
    shorter = Section(".debug_info", b"\1\0\0\0", flags="SHF_COMPRESSED")
    assert refusal(elf_file(tmp_path / "file", shorter)).error == "ElfError"
