# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the files that the tests read, by yaml2obj, compilers and by hand, and how a command refuses one."""

from __future__ import annotations

import os
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

from linesmith_command import linesmith

from linesmith.analyzer.base.errors import LinesmithError
from linesmith.analyzer.layouts.dwarf import read_layouts

SOURCE = """
struct node { struct node *next; const char *name; };
struct record { struct node nodes[2]; int low : 3, high : 5; union { int word; char bytes[4]; }; };
int use(struct record *record) { return record->low; }
"""


@dataclass(frozen=True)
class Section:
    """A section of an ELF file that yaml2obj writes; ``size`` is for sections without content."""

    name: str
    content: bytes = b""
    type: str = "SHT_PROGBITS"
    flags: str = ""
    size: int | None = None

    def yaml(self) -> str:
        what = f"Content: '{self.content.hex()}'" if self.size is None else f"Size: {self.size}"
        return f"  - {{Name: {self.name}, Type: {self.type}, Flags: [{self.flags}], {what}}}"


def elf_file(path: Path, *sections: Section, elf_class: int = 64, data: str = "LSB") -> Path:
    header = f"FileHeader: {{Class: ELFCLASS{elf_class}, Data: ELFDATA2{data}, Type: ET_EXEC, Machine: EM_X86_64}}"
    yaml = "\n".join(["--- !ELF", header, "Sections:", *(section.yaml() for section in sections), ""])
    subprocess.run(["yaml2obj-19", "-o", path], input=yaml, text=True, check=True)
    return path


def dwarf_file(path: Path, dwarf: Dwarf) -> Path:
    dwarf.end()
    return elf_file(path, Section(".debug_abbrev", dwarf.abbrev()), Section(".debug_info", dwarf.info()))


def compiled(folder: Path, *flags: str, source: str = SOURCE, compiler: str = "gcc") -> Path:
    """``unit.o`` of ``source`` in ``folder``, with debug information unless ``flags`` say otherwise."""
    text = folder / "unit.c"
    text.write_text(source)
    made = folder / "unit.o"
    subprocess.run([compiler, "-g", "-c", text, "-o", made, *flags], check=True, capture_output=True)
    return made


def _codes(text: str) -> dict[str, tuple[int, ...]]:
    """``NAME:CODE`` or ``NAME:CODE:FORM`` with blanks between them; hexadecimal."""
    return {name: tuple(int(one, 16) for one in codes) for name, *codes in (one.split(":") for one in text.split())}


TAGS = _codes(
    "array_type:01 member:0D pointer_type:0F compile_unit:11 structure_type:13 typedef:16 union_type:17 "
    "subrange_type:21 base_type:24 const_type:26 imported_unit:3D"
)
# With the form that they take unless a test asks for another one.
ATTRIBUTES = _codes(
    "sibling:01:13 name:03:08 byte_size:0B:0F bit_size:0D:0F language:13:0B import_:18:17 upper_bound:2F:0F "
    "data_member_location:38:0F encoding:3E:0B type:49:13 data_location:50:0B data_bit_offset:6B:0F"
)
FORM_SIZES = {0x06: 4, 0x07: 8, 0x0B: 1, 0x0E: 4, 0x10: 4, 0x13: 4, 0x17: 4}
STRING, UNSIGNED = 0x08, 0x0F
LANGUAGE_C = 12


def uleb(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


class Dwarf:
    """One compile unit of DWARF 4, under construction; entries refer to each other by their offset in it."""

    def __init__(self) -> None:
        self.abbreviations = bytearray()
        self.entries = bytearray()
        self._codes: dict[tuple[object, ...], int] = {}
        self.entry("compile_unit", children=True, name="unit.c", language=LANGUAGE_C)
        self.int = self.entry("base_type", name="int", byte_size=4, encoding=5)

    def here(self) -> int:
        """Offset in the unit of the entry to come."""
        return 11 + len(self.entries)

    def entry(
        self, tag: str, *, children: bool = False, forms: dict[str, int] | None = None, **attributes: str | int
    ) -> int:
        """Add an entry and return its offset in the unit; ``forms`` overrides how an attribute is written."""
        start = self.here()
        shape = [(ATTRIBUTES[name][0], (forms or {}).get(name, ATTRIBUTES[name][1])) for name in attributes]
        self.entries += uleb(self._code(TAGS[tag][0], children, tuple(shape)))
        for (_, form), value in zip(shape, attributes.values(), strict=True):
            self.entries += _encoded(form, value)
        return start

    def raw(self, content: bytes) -> None:
        self.entries += content

    def end(self) -> None:
        """Close the children of the last open entry."""
        self.entries.append(0)

    def struct(self, name: str, byte_size: int, **members: int) -> int:
        """Add a struct whose members, 4 bytes apart, have the types at the given offsets."""
        start = self.entry("structure_type", children=True, name=name, byte_size=byte_size)
        for position, (member, type_) in enumerate(members.items()):
            self.entry("member", name=member, type=type_, data_member_location=4 * position)
        self.end()
        return start

    def info(self, *, length: int | None = None, version: int = 4, abbreviations_at: int = 0) -> bytes:
        """Bytes of ``.debug_info``; the arguments replace what the header would rightly say."""
        body = struct.pack("<HIB", version, abbreviations_at, 8) + bytes(self.entries)
        return struct.pack("<I", len(body) if length is None else length) + body

    def abbrev(self) -> bytes:
        return bytes(self.abbreviations) + b"\0"

    def _code(self, tag: int, children: bool, shape: tuple[tuple[int, int], ...]) -> int:
        key = (tag, children, shape)
        if key not in self._codes:
            self._codes[key] = len(self._codes) + 1
            self.abbreviations += uleb(self._codes[key]) + uleb(tag) + bytes([children])
            for attribute, form in shape:
                self.abbreviations += uleb(attribute) + uleb(form)
            self.abbreviations += b"\0\0"
        return self._codes[key]


def _encoded(form: int, value: str | int) -> bytes:
    if isinstance(value, str):
        return value.encode() + b"\0"
    if form in FORM_SIZES:
        return value.to_bytes(FORM_SIZES[form], "little")
    return uleb(value) if form == UNSIGNED else bytes([value & 0xFF])


@dataclass(frozen=True)
class Refusal:
    """The class of the error, and its sentence with the file's name as ``FILE``."""

    error: str
    sentence: str


def refusal(file: Path) -> Refusal:
    """What ``linesmith layout FILE`` says; fails unless it ends with status 2 and exactly one sentence."""
    ran = linesmith("layout", file)
    assert (ran.returncode, ran.stdout) == (2, ""), (ran.returncode, ran.stderr)
    prefix, sentence = ran.stderr[:11], ran.stderr[11:].removesuffix("\n")
    assert prefix == "linesmith: "
    assert "\n" not in sentence, "more than one line"
    return Refusal(error_class(file), sentence.replace(str(file), "FILE"))


def error_class(file: Path) -> str:
    """Name of the class that the reader raises, empty when it reads the file; a crash fails the test."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            read_layouts(file)
            os._exit(0)
        except LinesmithError as error:
            os.write(theirs, type(error).__name__.encode())
            os._exit(0)
        finally:
            os._exit(1)
    os.close(theirs)
    with os.fdopen(ours) as said:
        name = said.read()
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    return name
