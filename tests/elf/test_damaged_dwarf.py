# SPDX-License-Identifier: GPL-2.0-or-later
"""DWARF that breaks a rule: one broken rule per test, each refused by name or read as far as it makes sense."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import pytest
from elf.dwarf_bytes import Dwarf, uleb
from elf.objects import Section, dwarf_file, elf_file
from elf.refusal import Refusal, error_class, refusal

from linesmith.analyzer.dwarf import read_layouts

READ = ""  # no error: what is wrong is left out, and the rest is read
ZLIB = 1
UNKNOWN_FORM = 0x7F
STRP, REF_ADDR, REF4, DATA8, BLOCK4, INDIRECT = 0x0E, 0x10, 0x13, 0x07, 0x04, 0x16


def sound() -> Dwarf:
    """A unit with ``struct record { int first; }`` that nothing is wrong with."""
    dwarf = Dwarf()
    dwarf.struct("record", 4, first=dwarf.int)
    return dwarf


def file_of(folder: Path, dwarf: Dwarf, info: bytes) -> Path:
    return elf_file(folder / "file", Section(".debug_abbrev", dwarf.abbrev()), Section(".debug_info", info))


def header_refused(folder: Path, *, length: int | None = None, version: int = 4, abbreviations_at: int = 0) -> Refusal:
    """The refusal of a sound unit behind a header that says the given."""
    dwarf = sound()
    dwarf.end()
    info = dwarf.info(length=length, version=version, abbreviations_at=abbreviations_at)
    return refusal(file_of(folder, dwarf, info))


def damaged(folder: Path, dwarf: Dwarf) -> Refusal:
    """The refusal of a unit whose entries are wrong."""
    return refusal(dwarf_file(folder / "file", dwarf))


NEXT_STEP = "rebuild the file, or read its BTF instead"
HEADER = Refusal(
    "DebugInfoDamaged",
    f"FILE: the unit header at offset 0x0 of .debug_info is cut off or of an unknown DWARF version; {NEXT_STEP}",
)
ENTRIES = Refusal(
    "DebugInfoDamaged",
    f"FILE: the debug information of the unit at offset 0x0 of .debug_info is damaged; {NEXT_STEP}",
)
HOLDS_ITSELF = Refusal(
    "DebugInfoDamaged",
    'FILE: the record "record" holds itself by value, which no compiler writes; the debug information is damaged, so '
    "rebuild the file",
)


def test_the_unit_written_by_hand_is_sound(tmp_path: Path) -> None:
    """Otherwise the tests below would find other faults than they name."""
    layouts = read_layouts(dwarf_file(tmp_path / "file", sound())).layouts
    assert [member.declarator for member in layouts.variants("record")[0].members] == ["first"]


def test_unit_longer_than_its_section(tmp_path: Path) -> None:
    assert header_refused(tmp_path, length=0x1000) == HEADER


def test_unit_shorter_than_its_header(tmp_path: Path) -> None:
    assert header_refused(tmp_path, length=3) == HEADER


def test_version_that_nobody_wrote(tmp_path: Path) -> None:
    assert header_refused(tmp_path, version=77) == HEADER


def test_abbreviations_outside_their_section(tmp_path: Path) -> None:
    assert header_refused(tmp_path, abbreviations_at=0x100000) == ENTRIES


def test_no_abbreviations_at_all(tmp_path: Path) -> None:
    dwarf = sound()
    dwarf.end()
    assert refusal(elf_file(tmp_path / "file", Section(".debug_info", dwarf.info()))).error == "DebugInfoDamaged"


def test_abbreviation_that_is_not_declared(tmp_path: Path) -> None:
    dwarf = sound()
    dwarf.entries += uleb(99)
    assert damaged(tmp_path, dwarf) == ENTRIES


def test_unknown_form(tmp_path: Path) -> None:
    dwarf = sound()
    dwarf.entry("structure_type", name="odd", byte_size=4, forms={"byte_size": UNKNOWN_FORM})
    assert damaged(tmp_path, dwarf) == ENTRIES


def test_form_that_names_itself_as_the_form(tmp_path: Path) -> None:
    """DW_FORM_indirect whose form is DW_FORM_indirect, and so on to the end of the unit."""
    dwarf = sound()
    dwarf.entry("structure_type", byte_size=INDIRECT, forms={"byte_size": INDIRECT})
    dwarf.entries += bytes([INDIRECT]) * 5000
    assert damaged(tmp_path, dwarf) == ENTRIES


def test_block_longer_than_the_unit(tmp_path: Path) -> None:
    dwarf = sound()
    dwarf.entry("member", name="m", data_member_location=0xFF, forms={"data_member_location": BLOCK4})
    dwarf.entries += b"\xff\xff\xff"
    assert damaged(tmp_path, dwarf) == ENTRIES


def test_name_without_end(tmp_path: Path) -> None:
    dwarf = sound()
    dwarf.entry("structure_type", name="endless")
    dwarf.entries.pop()
    assert refusal(file_of(tmp_path, dwarf, dwarf.info())) == ENTRIES


def test_name_behind_the_strings(tmp_path: Path) -> None:
    dwarf = Dwarf()
    dwarf.entry("structure_type", name=0x100000, byte_size=4, forms={"name": STRP})
    assert error_class(dwarf_file(tmp_path / "file", dwarf)) == READ


def test_children_that_never_end(tmp_path: Path) -> None:
    """Producers leave the last null entries out; the end of the unit ends the children too."""
    dwarf = sound()
    assert error_class(file_of(tmp_path, dwarf, dwarf.info())) == READ


@pytest.mark.parametrize("place", [0, 5, 0x7FFFFFFF, 0xFFFFFFFF])
@pytest.mark.parametrize("form", [REF4, REF_ADDR])
def test_type_that_is_no_entry(tmp_path: Path, place: int, form: int) -> None:
    dwarf = Dwarf()
    dwarf.entry("structure_type", children=True, name="record", byte_size=4)
    dwarf.entry("member", name="m", type=place, data_member_location=0, forms={"type": form})
    dwarf.end()
    assert error_class(dwarf_file(tmp_path / "file", dwarf)) == READ


def test_sibling_that_points_back(tmp_path: Path) -> None:
    """A reader that follows it goes in circles."""
    dwarf = Dwarf()
    start = dwarf.here()
    dwarf.entry("structure_type", children=True, sibling=start, name="record", byte_size=4)
    dwarf.end()
    assert error_class(dwarf_file(tmp_path / "file", dwarf)) == READ


def test_unit_that_imports_itself(tmp_path: Path) -> None:
    dwarf = sound()
    dwarf.entry("imported_unit", import_=11)
    assert error_class(dwarf_file(tmp_path / "file", dwarf)) == READ


@pytest.mark.parametrize("tag", ["typedef", "const_type", "pointer_type", "array_type"])
def test_type_made_of_itself(tmp_path: Path, tag: str) -> None:
    dwarf = Dwarf()
    loop = dwarf.here()
    dwarf.entry(tag, type=loop)
    dwarf.struct("record", 4, first=loop)
    assert error_class(dwarf_file(tmp_path / "file", dwarf)) == READ


def test_struct_that_contains_itself(tmp_path: Path) -> None:
    dwarf = Dwarf()
    dwarf.struct("record", 4, inner=dwarf.here())
    assert damaged(tmp_path, dwarf) == HOLDS_ITSELF


def test_two_structs_that_contain_each_other(tmp_path: Path) -> None:
    dwarf = Dwarf()
    first = dwarf.here()
    dwarf.struct("record", 4, inner=first)
    other = dwarf.struct("other", 4, inner=first)
    place = dwarf.entries.index(struct.pack("<I", first))
    dwarf.entries[place : place + 4] = struct.pack("<I", other)
    assert damaged(tmp_path, dwarf) == HOLDS_ITSELF


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


def test_array_of_more_elements_than_bytes_exist(tmp_path: Path) -> None:
    dwarf = Dwarf()
    array = dwarf.entry("array_type", children=True, type=dwarf.int)
    for _ in range(3):
        dwarf.entry("subrange_type", upper_bound=0xFFFFFFFFFFFFFFFE, forms={"upper_bound": DATA8})
    dwarf.end()
    dwarf.struct("record", 4, first=array)
    assert error_class(dwarf_file(tmp_path / "file", dwarf)) == READ


def test_chain_of_a_hundred_thousand_typedefs(tmp_path: Path) -> None:
    """A reader that follows it by recursion runs out of stack."""
    dwarf = Dwarf()
    last = dwarf.int
    for _ in range(100_000):
        last = dwarf.entry("typedef", name="t", type=last)
    dwarf.struct("record", 4, first=last)
    assert error_class(dwarf_file(tmp_path / "file", dwarf)) == READ


def test_hundred_thousand_structs_each_in_the_next(tmp_path: Path) -> None:
    dwarf = Dwarf()
    for _ in range(100_000):
        dwarf.entry("structure_type", children=True, name="s", byte_size=4)
    assert error_class(dwarf_file(tmp_path / "file", dwarf)) == "DebugInfoDamaged"


def test_structs_that_hold_the_one_before_by_value(tmp_path: Path) -> None:
    dwarf = Dwarf()
    last = dwarf.int
    for _ in range(20_000):
        last = dwarf.struct("s", 4, inner=last)
    assert error_class(dwarf_file(tmp_path / "file", dwarf)) == READ


def compressed(folder: Path, content: bytes, *, claimed: int, method: int = ZLIB) -> Path:
    """A file whose .debug_info is ``content`` behind a compression header (ELF gABI, Elf64_Chdr)."""
    dwarf = sound()
    header = struct.pack("<IIQQ", method, 0, claimed, 1)
    return elf_file(
        folder / "file",
        Section(".debug_abbrev", dwarf.abbrev()),
        Section(".debug_info", header + content, flags="SHF_COMPRESSED"),
    )


def test_compressed_section_is_read(tmp_path: Path) -> None:
    dwarf = sound()
    dwarf.end()
    file = compressed(tmp_path, zlib.compress(dwarf.info()), claimed=len(dwarf.info()))
    assert error_class(file) == READ


@pytest.mark.parametrize("claimed", [0, 5, 100_000, 2**63])
def test_compressed_section_of_another_size(tmp_path: Path, claimed: int) -> None:
    file = compressed(tmp_path, zlib.compress(sound().info()), claimed=claimed)
    assert refusal(file).error == "ElfError"


def test_compressed_section_that_is_no_zlib_stream(tmp_path: Path) -> None:
    assert refusal(compressed(tmp_path, b"not a zlib stream", claimed=100)).error == "ElfError"


def test_unknown_method_of_compression(tmp_path: Path) -> None:
    assert refusal(compressed(tmp_path, zlib.compress(b"text"), claimed=4, method=77)).error == "ElfError"


def test_compressed_section_shorter_than_its_header(tmp_path: Path) -> None:
    file = elf_file(tmp_path / "file", Section(".debug_info", b"\1\0\0\0", flags="SHF_COMPRESSED"))
    assert refusal(file).error == "ElfError"


@pytest.mark.parametrize(("form", "ending"), [(DATA8, READ), (REF4, READ), (BLOCK4, "DebugInfoDamaged")])
def test_name_that_is_no_string(tmp_path: Path, form: int, ending: str) -> None:
    """A reader that takes the number for the place of a text reads memory that is not there."""
    dwarf = sound()
    dwarf.entry("structure_type", name=0x41414141, byte_size=4, forms={"name": form})
    assert error_class(dwarf_file(tmp_path / "file", dwarf)) == ending


def test_name_whose_form_says_late_that_it_is_no_string(tmp_path: Path) -> None:
    dwarf = sound()
    dwarf.entry("structure_type", name=DATA8, forms={"name": INDIRECT})
    dwarf.entries += struct.pack("<Q", 0x4141414141414141)
    assert error_class(dwarf_file(tmp_path / "file", dwarf)) == READ
