# SPDX-License-Identifier: GPL-2.0-or-later
"""A program as it ran: moved by the loader, with objects on its heap."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from perf_data.records import EXECUTABLE, WRITABLE, Mapping
from perf_data.scenario import Place

from linesmith.analyzer.access.access_map import AccessMap
from linesmith.analyzer.access.questions import accesses_in
from linesmith.analyzer.access.store import read_accesses
from linesmith.analyzer.layouts import dwarf
from linesmith.analyzer.model import AccessKind, CodeAccess
from linesmith.plugins.machines.elf_image import opened, read_elf

_PAGE = 4096


@dataclass(frozen=True)
class Program:
    """A process; ``slide`` is how far its code and data were moved, ``heap`` where ``malloc`` begins; bytes."""

    elf: Path
    slide: int = 0x55D3_1A2B_C000
    pid: int = 4242
    heap: int = 0x55D3_1BF0_0000

    @cached_property
    def build_id(self) -> bytes:
        return bytes.fromhex(dwarf.identify(self.elf).build_id or "")

    def size(self, type_name: str) -> int:
        return dwarf.read_layouts(self.elf).layouts.variants(type_name)[0].size

    def touching(self, function: str, record: str, member: str, kind: AccessKind) -> tuple[CodeAccess, ...]:
        """The accesses of that kind by a function to a member. Never empty."""
        wanted = f"struct {record}", member, kind
        every = (one for code in accesses_in(function, self._accesses) for one in code.accesses)
        found = tuple(one for one in every if one.outcome.resolved and (one.type, one.path, one.kind) == wanted)
        if not found:
            raise LookupError(f"{function} has no {kind} of {record}.{member}")
        return found

    @cached_property
    def mappings(self) -> tuple[Mapping, ...]:
        """The segments of the file as the kernel maps them, and the heap."""
        code = self._symbols["main"]
        found = []
        for one in (segment for segment in read_elf(self.elf).segments if segment.is_loaded):
            begin, end = one.address // _PAGE * _PAGE, -(-(one.address + one.file_bytes) // _PAGE) * _PAGE
            offset = one.offset - (one.address - begin)
            protection = EXECUTABLE if begin <= code < end else WRITABLE
            place = begin + self.slide, end - begin, offset
            found.append(Mapping(self.pid, *place, str(self.elf), protection, self.build_id))
        return (*found, Mapping(self.pid, self.heap, 1 << 20, 0, "[heap]", WRITABLE))

    def variable(self, name: str, offset: int = 0) -> Place:
        return _placed(self._symbols[name] + offset + self.slide)

    def allocated(self, first: int, stride: int, count: int) -> tuple[Place, ...]:
        """Objects that ``malloc`` gave out one after another, ``first`` bytes into the heap."""
        return tuple(_placed(self.heap + first + number * stride) for number in range(count))

    @cached_property
    def _accesses(self) -> AccessMap:
        return read_accesses(self.elf).accesses

    @cached_property
    def _symbols(self) -> dict[str, int]:
        with opened(self.elf) as file:
            code, data = file.symbols().split()
        return {one.name: one.address for one in (*data, *code)}


def _placed(address: int) -> Place:
    """Some page of memory for each page of the process."""
    page = address // _PAGE * 2654435761 % (1 << 21)
    return Place(address, (page << 12) | address % _PAGE)
