# SPDX-License-Identifier: GPL-2.0-or-later
"""BTF as producers really write it, and what Python itself asks of ELF files; missing, damaged or made to harm."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

import msgspec
import pytest
from elf.objects import Refusal, Section, compiled, elf_file, refusal
from linesmith_command import linesmith
from snapshots.elf_bytes import CORE, elf

from linesmith.analyzer import _native
from linesmith.analyzer.base.elf import ElfFile
from linesmith.analyzer.layouts.dwarf import read_layouts
from linesmith.analyzer.model import Layout

NO_SECTION = "FILE: the file has no .BTF section; build it with CONFIG_DEBUG_INFO_BTF=y, or with pahole -J"
SPLIT = (
    "FILE (.BTF): this BTF is split (a kernel module's) and means nothing without that of its kernel; read the module's"
    " DWARF, or the kernel's own BTF"
)
CUT = (
    "FILE (.BTF): the BTF is damaged: it ends after 4 bytes, inside the header; fetch the file again or read its DWARF"
    " instead"
)
RECORDS = ["", "node", "record"]


def layouts(file: Path, base: Path | None = None) -> list[Layout]:
    table = _native.read_btf(str(file), str(base)) if base else _native.read_btf(str(file))
    return [msgspec.json.decode(document, type=Layout) for document in table.all_json()]


def blob(folder: Path) -> Path:
    made = folder / "blob"
    subprocess.run(["pahole", f"--btf_encode_detached={made}", compiled(folder)], check=True)
    return made


def test_raw_file_is_read_without_dwarf(tmp_path: Path) -> None:
    reading = read_layouts(blob(tmp_path))
    assert reading.reader == "BTF"
    assert reading.layouts.variants("record")[0].size == 40


def test_sections_that_gcc_writes_and_that_pahole_adds(tmp_path: Path) -> None:
    assert sorted(layout.name for layout in layouts(compiled(tmp_path, "-gbtf"))) == RECORDS
    file = compiled(tmp_path)
    subprocess.run(["pahole", "-J", file], check=True)
    assert sorted(layout.name for layout in layouts(file)) == RECORDS


def test_blob_of_a_big_endian_machine(tmp_path: Path) -> None:
    source = "struct pair { short first; int second; } pair; int use(void) { return pair.second; }"
    file = compiled(tmp_path, "--target=bpfeb", source=source, compiler="clang-19")
    (pair,) = layouts(file)
    assert [(member.name, member.offset) for member in pair.members] == [("first", 0), ("second", 4)]


def test_file_without_btf(tmp_path: Path) -> None:
    file = compiled(tmp_path)
    with pytest.raises(_native.NativeError) as caught:
        layouts(file)
    kind, message = caught.value.args
    assert (kind, message.replace(str(file), "FILE")) == ("DebugInfoMissing", NO_SECTION)


def test_split_btf_without_its_base(tmp_path: Path) -> None:
    """As in a kernel module: its strings go on where those of the kernel end."""
    content = bytearray(blob(tmp_path).read_bytes())
    first_string = 24 + int.from_bytes(content[16:20], "little")
    content[first_string] = ord("x")
    module = elf_file(tmp_path / "module.ko", Section(".BTF", bytes(content)))
    assert refusal(module) == Refusal("DebugInfoMissing", SPLIT)


def test_module_over_its_kernel(tmp_path: Path) -> None:
    (tmp_path / "kernel").mkdir()
    kernel = blob(tmp_path / "kernel")
    source = "struct node { struct node *next; const char *name; }; struct driver { struct node node; } driver;"
    module = compiled(tmp_path, source=source)
    subprocess.run(["pahole", "-J", "--btf_base", kernel, module], check=True)
    driver, node = layouts(module, kernel)
    assert (driver.name, node.name) == ("driver", "node")
    assert driver.members[0].record == node.id


def test_damaged_section_or_file(tmp_path: Path) -> None:
    file = elf_file(tmp_path / "file", Section(".BTF", b"\x9f\xeb\x01\x00"))
    assert refusal(file) == Refusal("DebugInfoDamaged", CUT)
    file = blob(tmp_path)
    file.write_bytes(file.read_bytes()[:100])
    refused = refusal(file)
    assert refused.error == "DebugInfoDamaged"
    assert refused.sentence.endswith("; fetch the file again or read its DWARF instead")


def test_names_are_any_bytes_and_cannot_steer_the_terminal(tmp_path: Path) -> None:
    """What is no UTF-8 shows as the replacement character."""
    file = blob(tmp_path)
    sound = file.read_bytes()
    file.write_bytes(sound.replace(b"nodes\0", b'\xff\xfe"\\\n\0'))
    assert '\ufffd\ufffd"\\\n' in {member.name for layout in layouts(file) for member in layout.members}
    file.write_bytes(sound.replace(b"nodes\0", b"\x1b[31m\0"))
    shown = linesmith("layout", file, "record").stdout
    assert r"\u001b[31m[2];" in shown
    assert "\x1b" not in shown


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


def headers_without_a_size() -> bytes:
    """The same row would be read four thousand million times."""
    content = bytearray(elf(CORE, b"", b""))
    struct.pack_into("<Q", content, 40, len(content))
    struct.pack_into("<HH", content, 54, 0, 0xFFFF)
    return bytes(content) + bytes(44) + struct.pack("<I", 0xFFFFFFFF) + bytes(16)


def interpreter_beyond_all_files() -> bytes:
    content = bytearray(elf(CORE, b"", b""))
    struct.pack_into("<I", content, 64, 3)
    struct.pack_into("<Q", content, 72, 1 << 63)
    return bytes(content)


def notes_over_one_another() -> bytes:
    header = bytearray(elf(CORE, b"", b"")[:64])
    struct.pack_into("<H", header, 56, 1000)
    return bytes(header) + struct.pack("<IIQQQQQQ", 4, 4, 64, 0, 0, 1 << 20, 1 << 20, 4) * 1000


def names_over_one_another() -> bytes:
    names = b"\0" + b"x" * 5000 + b"\0"
    table = b"".join(struct.pack("<IBBHQQ", 1 + number, 2, 0, 1, number, 1) for number in range(1000))
    header = bytearray(elf(CORE, b"", b"")[:64])
    struct.pack_into("<Q", header, 40, len(header) + len(table) + len(names))
    struct.pack_into("<3H", header, 56, 0, 64, 3)
    symbols = struct.pack("<IIQQQQIIQQ", 0, 2, 4, 0, len(header), len(table), 2, 0, 8, 24)
    strings = struct.pack("<IIQQQQIIQQ", 0, 3, 0, 0, len(header) + len(table), len(names), 0, 0, 1, 0)
    return bytes(header) + table + names + bytes(64) + symbols + strings


@pytest.mark.parametrize(
    ("make", "asked", "why"),
    [
        (headers_without_a_size, "segments", "program headers have 0 bytes"),
        (interpreter_beyond_all_files, "interpreter", "does not end"),
        (notes_over_one_another, "build_id", "its notes overlap each other"),
        (names_over_one_another, "symbols", "the names of its symbols overlap"),
    ],
)
def test_a_file_made_to_keep_its_reader_busy_is_refused(
    tmp_path: Path, make: Callable[[], bytes], asked: str, why: str
) -> None:
    (tmp_path / "file").write_bytes(make())
    with ElfFile(tmp_path / "file") as file, pytest.raises(ValueError, match=why):
        file.symbols().split() if asked == "symbols" else getattr(file, asked)
