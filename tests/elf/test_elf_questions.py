# SPDX-License-Identifier: GPL-2.0-or-later
"""What Python itself asks of ELF files: symbols by name and by address, and files that are damaged or made to harm."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from elf.objects import compiled
from snapshots.elf_bytes import CORE, elf

from linesmith.analyzer.base.elf import ElfFile

TEXT = "int first = 1, second[4]; static int hidden(int x) { return x + first; } int use(int x) { return hidden(x); }"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    return compiled(tmp_path, source=TEXT)


def test_symbols_by_name_by_address_and_by_kind(program: Path) -> None:
    with ElfFile(program) as file:
        symbols = file.symbols()
        code, data = symbols.split()
    first, second = sorted(data, key=lambda one: one.size)
    assert {one.name for one in code} == {"use", "hidden"}
    assert (first.name, first.size, second.name, second.size) == ("first", 4, "second", 16)
    (use,) = symbols.called("use")
    assert symbols.function_at(use.address + use.size - 1) == use
    assert symbols.objects("second") == (second,) == symbols.called("second")
    assert symbols.address_of("sec") is None


def answers(path: Path) -> Iterator[object]:
    with ElfFile(path) as file:
        yield from (file.segments, file.build_id, file.interpreter, file.dynamic_texts(1), file.symbols().split())


def test_damage_is_a_value_error_or_nothing(program: Path) -> None:
    whole, random = program.read_bytes(), Random(7)  # noqa: S311 - the same damage each time
    for _ in range(300):
        content = bytearray(whole)
        for _ in range(random.randint(1, 6)):
            content[random.choice((random.randrange(64), random.randrange(len(content))))] = random.choice(
                (0, 127, 255)
            )
        program.write_bytes(content[: random.choice((len(content), random.randrange(1, len(content))))])
        with suppress(ValueError):
            tuple(answers(program))


def test_program_headers_without_a_size_are_refused(tmp_path: Path) -> None:
    """The same row would be read four thousand million times."""
    content = bytearray(elf(CORE, b"", b""))
    struct.pack_into("<Q", content, 40, len(content))
    struct.pack_into("<HH", content, 54, 0, 0xFFFF)
    content += bytes(44) + struct.pack("<I", 0xFFFFFFFF) + bytes(16)
    (tmp_path / "core").write_bytes(content)
    with ElfFile(tmp_path / "core") as file, pytest.raises(ValueError, match="program headers have 0 bytes"):
        assert file.segments


def test_an_interpreter_beyond_all_files_is_refused(tmp_path: Path) -> None:
    content = bytearray(elf(CORE, b"", b""))
    struct.pack_into("<I", content, 64, 3)
    struct.pack_into("<Q", content, 72, 1 << 63)
    path = tmp_path / "core"
    path.write_bytes(content)
    with ElfFile(path) as file, pytest.raises(ValueError, match="does not end"):
        _ = file.interpreter


def test_notes_that_lie_over_one_another_end_the_reading(tmp_path: Path) -> None:
    header = bytearray(elf(CORE, b"", b"")[:64])
    struct.pack_into("<H", header, 56, 1000)
    row = struct.pack("<IIQQQQQQ", 4, 4, 64, 0, 0, 1 << 20, 1 << 20, 4)
    (tmp_path / "core").write_bytes(bytes(header) + row * 1000)
    with ElfFile(tmp_path / "core") as file, pytest.raises(ValueError, match="its notes overlap each other"):
        assert file.build_id


def test_names_that_lie_over_one_another_end_the_reading(tmp_path: Path) -> None:
    names = b"\0" + b"x" * 5000 + b"\0"
    table = b"".join(struct.pack("<IBBHQQ", 1 + number, 2, 0, 1, number, 1) for number in range(1000))
    header = bytearray(elf(CORE, b"", b"")[:64])
    at = len(header) + len(table) + len(names)
    struct.pack_into("<Q", header, 40, at)
    struct.pack_into("<3H", header, 56, 0, 64, 3)
    rows = (
        bytes(64),
        struct.pack("<IIQQQQIIQQ", 0, 2, 4, 0, len(header), len(table), 2, 0, 8, 24),
        struct.pack("<IIQQQQIIQQ", 0, 3, 0, 0, len(header) + len(table), len(names), 0, 0, 1, 0),
    )
    (tmp_path / "unit.o").write_bytes(bytes(header) + table + names + b"".join(rows))
    with ElfFile(tmp_path / "unit.o") as file, pytest.raises(ValueError, match="the names of its symbols overlap"):
        assert file.symbols().split()
