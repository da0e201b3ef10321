# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that are small and huge in memory: compressed sections, which share one budget, and records of many members."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from c_source import compiled
from elf.dwarf_bytes import Dwarf
from elf.objects import Section, elf_file
from hostile.limited import limited

MIB = 1 << 20


def zeroes(mebibytes: int) -> bytes:
    """So many of them, compressed."""
    packer = zlib.compressobj(9)
    return b"".join([*(packer.compress(bytes(MIB)) for _ in range(mebibytes)), packer.flush()])


def compressed(name: str, packed: bytes, size: int) -> Section:
    """A section with the header of ELF's gABI (ELFCOMPRESS_ZLIB) that claims to be ``size`` bytes."""
    return Section(name, struct.pack("<IIQQ", 1, 0, size, 1) + packed, flags="SHF_COMPRESSED")


def old_style(name: str, packed: bytes, size: int) -> Section:
    """A section as GNU tools wrote it before: ``.zdebug_info``."""
    return Section(name.replace(".debug", ".zdebug"), b"ZLIB" + struct.pack(">Q", size) + packed)


def said(budget: int, section: str) -> str:
    return (
        f"linesmith: FILE: section {section} brings the sections to more than {budget} MiB once they are decompressed "
        "and relocated, out of all proportion to the file; it is damaged or made to exhaust memory (if it is neither, "
        "decompress a copy with objcopy --decompress-debug-sections and read that)\n"
    )


FORMS = [
    pytest.param("index", compressed, ".debug_info", marks=pytest.mark.study),
    ("layout", old_style, ".zdebug_info"),
    ("access", compressed, ".debug_info"),
]


@pytest.mark.parametrize(("command", "form", "name"), FORMS)
def test_a_section_a_thousand_times_the_size_of_its_file_is_refused(
    tmp_path: Path, command: str, form: Callable[[str, bytes, int], Section], name: str
) -> None:
    file = elf_file(tmp_path / "file", form(".debug_info", zeroes(100), 100 * MIB))
    done = limited(command, file, cache=tmp_path / "cache")
    assert (done.returncode, done.stderr.replace(str(file), "FILE")) == (2, said(64, name))


def test_sections_that_fit_one_by_one_do_not_fit_together(tmp_path: Path) -> None:
    packed = zeroes(50)
    names = [".debug_abbrev", ".debug_str", ".debug_info"]
    file = elf_file(tmp_path / "file", *(compressed(name, packed, 50 * MIB) for name in names))
    done = limited("layout", file, cache=tmp_path / "cache")
    assert (done.returncode, done.stderr.replace(str(file), "FILE")) == (2, said(64, ".debug_str"))


def test_units_of_a_few_bytes_do_not_exhaust_memory(tmp_path: Path) -> None:
    units = struct.pack("<IHIB", 7, 4, 0, 8) * (5 * MIB)
    file = elf_file(tmp_path / "file", compressed(".debug_info", zlib.compress(units, 9), len(units)))
    done = limited("index", file, cache=tmp_path / "cache")
    assert (done.returncode, "has more units than a file of this size can have" in done.stderr) == (2, True)


def test_records_of_one_byte_do_not_exhaust_memory(tmp_path: Path) -> None:
    dwarf = Dwarf()
    dwarf.entry("structure_type")
    dwarf.entries += dwarf.entries[-1:] * (20 * MIB)
    dwarf.end()
    info = dwarf.info()
    packed = compressed(".debug_info", zlib.compress(info, 9), len(info))
    file = elf_file(tmp_path / "file", Section(".debug_abbrev", dwarf.abbrev()), packed)
    done = limited("index", file, cache=tmp_path / "cache")
    assert (done.returncode, "is damaged; rebuild the file" in done.stderr) == (2, True)


@pytest.mark.parametrize("flag", ["-gz=zlib", "-gz=zlib-gnu"])
def test_what_a_compiler_compresses_is_read(tmp_path: Path, flag: str) -> None:
    source = "".join(f"struct s{number} {{ int a; long b; }} v{number};" for number in range(2000))
    assert limited("layout", compiled(tmp_path, source, flag), "s1999", cache=tmp_path / "cache").returncode == 0


# Records of many members: the time for each output grows with them, not with their square.

MEMBERS = 20_000


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``struct plain`` has a hole behind every other member, ``struct bits`` is one run of bit-fields."""
    plain = "".join(f"char c{number}; long l{number};" for number in range(MEMBERS // 2))
    bits = "".join(f"unsigned b{number} : {number % 7 + 1};" for number in range(MEMBERS))
    source = f"struct plain {{ {plain} }} plain; struct bits {{ {bits} }} bits;"
    return compiled(tmp_path_factory.mktemp("large"), source)


@pytest.mark.parametrize("words", ["plain", "plain --expand", "plain --format json", "bits"])
def test_a_layout_of_many_members_is_shown_in_linear_time(large: Path, tmp_path: Path, words: str) -> None:
    done = limited("layout", large, *words.split(), cache=tmp_path)
    assert (done.returncode, done.stderr, done.stdout.count("\n") > MEMBERS) == (0, "", True)


def test_two_layouts_of_many_members_are_compared_in_linear_time(large: Path, tmp_path: Path) -> None:
    done = limited("diff", large, large, cache=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
