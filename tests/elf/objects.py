# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the files that the tests read: ELF containers by yaml2obj, objects by the compilers."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from elf.dwarf_bytes import Dwarf

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
        """The section as yaml2obj reads it."""
        what = f"Content: '{self.content.hex()}'" if self.size is None else f"Size: {self.size}"
        return f"  - {{Name: {self.name}, Type: {self.type}, Flags: [{self.flags}], {what}}}"


def elf_file(path: Path, *sections: Section, elf_class: int = 64, data: str = "LSB") -> Path:
    """An ELF file of just these sections."""
    header = f"FileHeader: {{Class: ELFCLASS{elf_class}, Data: ELFDATA2{data}, Type: ET_EXEC, Machine: EM_X86_64}}"
    yaml = "\n".join(["--- !ELF", header, "Sections:", *(section.yaml() for section in sections), ""])
    subprocess.run(["yaml2obj-19", "-o", path], input=yaml, text=True, check=True)
    return path


def dwarf_file(path: Path, dwarf: Dwarf) -> Path:
    """An ELF file with the DWARF written by hand."""
    dwarf.end()
    return elf_file(path, Section(".debug_abbrev", dwarf.abbrev()), Section(".debug_info", dwarf.info()))


def compiled(folder: Path, *flags: str, source: str = SOURCE, compiler: str = "gcc") -> Path:
    """``unit.o`` of ``source`` in ``folder``, with debug information unless ``flags`` say otherwise."""
    text = folder / "unit.c"
    text.write_text(source)
    made = folder / "unit.o"
    subprocess.run([compiler, "-g", "-c", text, "-o", made, *flags], check=True, capture_output=True)
    return made
