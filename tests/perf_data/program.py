# SPDX-License-Identifier: GPL-2.0-or-later
"""A position-independent program as it ran, with its heap."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from perf_data.image import Image
from perf_data.records import EXECUTABLE, WRITABLE, Mapping
from perf_data.scenario import Place

from linesmith.plugins.machines.elf_image import read_elf

_PAGE = 4096


@dataclass(frozen=True)
class Program(Image):
    """A process; ``heap`` is where ``malloc`` begins, ``path`` what the mappings call the file (default: its own)."""

    slide: int = 0x55D3_1A2B_C000
    pid: int = 4242
    heap: int = 0x55D3_1BF0_0000
    path: str = ""

    @cached_property
    def mappings(self) -> tuple[Mapping, ...]:
        """The segments of the file as the kernel maps them, and the heap."""
        name = self.path or str(self.elf)
        code = self.symbol("main")
        found = []
        for one in (segment for segment in read_elf(self.elf).segments if segment.is_loaded):
            begin, end = one.address // _PAGE * _PAGE, -(-(one.address + one.file_bytes) // _PAGE) * _PAGE
            offset = one.offset - (one.address - begin)
            protection = EXECUTABLE if begin <= code < end else WRITABLE
            found.append(Mapping(self.pid, begin + self.slide, end - begin, offset, name, protection, self.build_id))
        return (*found, Mapping(self.pid, self.heap, 1 << 20, 0, "[heap]", WRITABLE))

    def variable(self, name: str, offset: int = 0) -> Place:
        """A byte of a global."""
        return _placed(self.symbol(name) + offset + self.slide)

    def allocated(self, first: int, stride: int, count: int) -> tuple[Place, ...]:
        """Objects that ``malloc`` gave out one after another, ``first`` bytes into the heap."""
        return tuple(_placed(self.heap + first + number * stride) for number in range(count))


def _placed(address: int) -> Place:
    """Some page of memory for each page of the process."""
    page = address // _PAGE * 2654435761 % (1 << 21)
    return Place(address, (page << 12) | address % _PAGE)
