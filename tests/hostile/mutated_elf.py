# SPDX-License-Identifier: GPL-2.0-or-later
"""Small real ELF files, ways to damage them, and everything that reads them."""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from hostile.mutation import Kind, Sample, flipped, moved, set_to_an_extreme, truncated

from linesmith.analyzer.layouts import dwarf
from linesmith.analyzer.layouts.containment import Containment
from linesmith.analyzer.report import layout as layout_json
from linesmith.analyzer.report import pahole

SOURCE = Path(__file__).with_name("sources").joinpath("unit.c").read_text()
MAIN = "int main(int count, char **words) { return walk(0, count) + (words != 0); }\n"
SECTION_HEADER = struct.Struct("<IIQQQQIIQQ")
FIELDS = ((0, 4), (4, 4), (8, 8), (24, 8), (32, 8), (40, 4), (44, 4), (48, 8), (56, 8))


def samples(folder: Path) -> Iterator[Sample]:
    """Objects and programs by the compilers at hand, in every form that the readers know."""
    (folder / "unit.c").write_text(SOURCE)
    (folder / "main.c").write_text(f"struct outer; int walk(struct outer *, int);\n{MAIN}")
    yield _object(folder, "dwarf 5", "-O2")
    yield _object(folder, "dwarf 4", "-O2", "-gdwarf-4")
    yield _object(folder, "dwarf 2", "-gdwarf-2", "-gstrict-dwarf")
    yield _object(folder, "type units", "-gdwarf-4", "-fdebug-types-section")
    yield _object(folder, "64-bit dwarf", "-O2", "-gdwarf64")
    yield _object(folder, "compressed", "-O2", "-gz=zlib")
    yield _object(folder, "kernel module", "-O2", "-mcmodel=kernel", "-fno-pie", "-ffunction-sections")
    if shutil.which("aarch64-linux-gnu-gcc"):
        yield _object(folder, "arm64", "-O2", compiler="aarch64-linux-gnu-gcc")
    yield _program(folder)
    yield _with_btf(folder)
    yield from _split(folder)
    yield from _with_dwz(folder)


def _run(folder: Path, *command: str) -> None:
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def _object(folder: Path, name: str, *flags: str, compiler: str = "gcc") -> Sample:
    _run(folder, compiler, "-g", *flags, "-c", "unit.c", "-o", "unit.o")
    return Sample(name, {"unit.o": (folder / "unit.o").read_bytes()}, "unit.o", "unit.o")


def _program(folder: Path) -> Sample:
    _run(folder, "gcc", "-g", "-O2", "unit.c", "main.c", "-o", "program")
    return Sample("program", {"program": (folder / "program").read_bytes()}, "program", "program")


def _with_btf(folder: Path) -> Sample:
    _run(folder, "gcc", "-g", "-gdwarf-4", "-c", "unit.c", "-o", "btf.o")
    _run(folder, "pahole", "-J", "btf.o")
    _run(folder, "objcopy", "--remove-section=.debug_*", "--remove-section=.rela.debug_*", "btf.o")
    return Sample("BTF", {"btf.o": (folder / "btf.o").read_bytes()}, "btf.o", "btf.o")


def _split(folder: Path) -> Iterator[Sample]:
    _run(folder, "gcc", "-g", "-O2", "-gsplit-dwarf", "-c", "unit.c", "-o", "split.o")
    files = {name: (folder / name).read_bytes() for name in ("split.o", "split.dwo")}
    yield Sample("skeleton", files, "split.o", "split.o")
    yield Sample("split", files, "split.o", "split.dwo")


def _with_dwz(folder: Path) -> Iterator[Sample]:
    if not shutil.which("dwz"):
        return
    for name in ("one", "two"):
        _run(folder, "gcc", "-g", "-gdwarf-4", "unit.c", "main.c", "-o", name)
    _run(folder, "dwz", "-m", "common", "-M", "common", "one", "two")
    files = {name: (folder / name).read_bytes() for name in ("one", "common")}
    yield Sample("referring to dwz", files, "one", "one")
    yield Sample("file of dwz", files, "one", "common")


def _sections(content: bytes) -> list[tuple[int, int, int]]:
    """Of each section where its header, its bytes begin, and its size; those of debug information many times."""
    (start,) = struct.unpack_from("<Q", content, 40)
    count, names = struct.unpack_from("<HH", content, 60)
    headers = [SECTION_HEADER.unpack_from(content, start + 64 * number) for number in range(count)]
    found = []
    for number, header in enumerate(headers):
        name = content[headers[names][4] + header[0] :].partition(b"\0")[0]
        inside = header[1] != 8 and header[5] and header[4] + header[5] <= len(content)
        weight = 8 if name.startswith((b".debug_", b".BTF")) else 1
        found += [(start + 64 * number, header[4], header[5])] * (weight if inside else 0)
    return found


def _in_a_section(change: Callable[[Random, bytearray, int, int], None]) -> Callable[[Random, bytearray], None]:
    def mutate(random: Random, content: bytearray) -> None:
        _, offset, size = random.choice(_sections(bytes(content)))
        change(random, content, offset, size)

    return mutate


def _header_field(random: Random, content: bytearray) -> None:
    """A field of a section header: an extreme, or what another header says there."""
    sections = _sections(bytes(content))
    (header, _, _), (other, _, _) = random.choice(sections), random.choice(sections)
    field, size = random.choice(FIELDS)
    if random.random() < 0.5:
        content[header + field : header + field + size] = content[other + field : other + field + size]
    else:
        set_to_an_extreme(random, content, header + field, size)


def _swapped_sections(random: Random, content: bytearray) -> None:
    """Two sections with each other's bytes."""
    sections = _sections(bytes(content))
    (one, _, _), (two, _, _) = random.choice(sections), random.choice(sections)
    spans = slice(one + 24, one + 40), slice(two + 24, two + 40)
    content[spans[0]], content[spans[1]] = content[spans[1]], content[spans[0]]


def _long_number(random: Random, content: bytearray, offset: int, size: int) -> None:
    """A LEB128 number that goes on and on."""
    start = offset + random.randrange(size)
    length = min(random.choice((2, 5, 10, 40, 400)), offset + size - start)
    content[start : start + length] = b"\x80" * (length - 1) + b"\x01"


def _reference(random: Random, content: bytearray, offset: int, size: int) -> None:
    """An offset within the section, in four bytes: of a DIE that refers to itself or to another one, of a list."""
    start = offset + random.randrange(size)
    target = random.choice((start - offset, random.randrange(size), random.randrange(max(1, start - offset))))
    content[start : start + 4] = struct.pack("<I", target)[: max(0, offset + size - start)]


def _small(random: Random, content: bytearray, offset: int, size: int) -> None:
    """A byte that is a tag, a form, an operation or a count."""
    content[offset + random.randrange(size)] = random.randrange(0x40)


def _repeated(random: Random, content: bytearray, offset: int, size: int) -> None:
    """Some bytes again and again up to the end of the section."""
    start, length = random.randrange(size), random.randrange(1, 32)
    piece = bytes(content[offset + start : offset + min(start + length, size)])
    content[offset + start : offset + size] = (piece * (size // len(piece) + 1))[: size - start]


def _extreme(random: Random, content: bytearray, offset: int, size: int) -> None:
    set_to_an_extreme(random, content, offset + random.randrange(size), random.choice((1, 2, 4, 8)))


MUTATIONS = (
    flipped,
    truncated,
    moved,
    _header_field,
    _swapped_sections,
    *(_in_a_section(change) for change in (_long_number, _reference, _small, _repeated, _extreme)),
    *(_in_a_section(change) for change in (_reference, _small, _extreme)),
)


def shown(file: Path) -> dwarf.Reading:
    """What is read of the file, once everything that shows layouts has shown them."""
    reading = dwarf.read_layouts(file)
    chosen = tuple(reading.layouts)[:200]
    pahole.render_text(chosen, reading.layouts, expand=True)
    layout_json.render_json(chosen, reading)
    containment = Containment(reading.layouts)
    for layout in chosen:
        containment.places(layout.id)
        containment.leaves(layout.id, layout.size // 2)
    return reading


def _touched(file: Path) -> None:
    dwarf.touched(file, [], [""])


def _operands(file: Path) -> None:
    dwarf.operands(file, [], [""])


KIND = Kind("elf", samples, MUTATIONS, (shown, dwarf.map_accesses, _touched, _operands))
