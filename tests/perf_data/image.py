# SPDX-License-Identifier: GPL-2.0-or-later
"""A file with code as it ran: a kernel moved by KASLR with its objects in the direct map, a program with its heap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from perf_data.records import EXECUTABLE, WRITABLE, Mapping
from perf_data.scenario import Place

from linesmith.analyzer.access.access_map import AccessMap
from linesmith.analyzer.access.questions import accesses_in
from linesmith.analyzer.access.store import read_accesses
from linesmith.analyzer.layouts import dwarf
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.model import AccessKind, CodeAccess
from linesmith.plugins.machines.elf_image import opened, read_elf


@dataclass(frozen=True)
class Image:
    """``slide`` is how far the loader moved code and data from where the file has them; bytes."""

    elf: Path
    slide: int

    @cached_property
    def build_id(self) -> bytes:
        return bytes.fromhex(dwarf.identify(self.elf).build_id or "")

    def symbol(self, name: str) -> int:
        """The address of a function or variable, as the file has it."""
        if name not in self._symbols:
            raise LookupError(f"{name} is no symbol of {self.elf}")
        return self._symbols[name]

    def code(self, function: str, into: int) -> int:
        """An instruction as it ran, so many bytes into a function."""
        return self.symbol(function) + into + self.slide

    def offset(self, type_name: str, path: str) -> int:
        """Bytes from the start of a record to a member, ``vfs_inode.i_data.i_mmap``."""
        layouts = self._layouts
        layout = layouts.variants(type_name)[0]
        offset = 0
        for name in path.split("."):
            member = next(one for one in layout.members if one.name == name)
            offset += member.offset
            if member.record is not None:
                layout = layouts.by_id(member.record)
        return offset

    def size(self, type_name: str) -> int:
        return self._layouts.variants(type_name)[0].size

    def touching(
        self, function: str, type_title: str, path: str, kinds: Sequence[AccessKind]
    ) -> tuple[CodeAccess, ...]:
        """The accesses of a function to a member; ``path`` may end within its members. Never empty."""
        found = tuple(
            one
            for code in accesses_in(function, self._accesses)
            for one in code.accesses
            if one.outcome.resolved and one.kind in kinds and one.type == type_title and _within(one.path, path)
        )
        if not found:
            raise LookupError(f"{function} does not touch {type_title}.{path} as {kinds}")
        return found

    @cached_property
    def _layouts(self) -> Layouts:
        return dwarf.read_layouts(self.elf).layouts

    @cached_property
    def _accesses(self) -> AccessMap:
        return read_accesses(self.elf).accesses

    @cached_property
    def _symbols(self) -> dict[str, int]:
        with opened(self.elf) as file:
            code, data = file.symbols().split()
        return {one.name: one.address for one in (*data, *code)}


def _within(path: str, wanted: str) -> bool:
    return path == wanted or path.startswith((f"{wanted}.", f"{wanted}["))


_LOADED_AT = 1 << 24


@dataclass(frozen=True)
class Kernel(Image):
    """Addresses of x86-64: ``direct_map`` is where memory begins, moved by KASLR too.

    ``per_cpu`` is where CPU 0 has its per-CPU variables, ``per_cpu_unit`` what lies between two CPUs; bytes.
    """

    slide: int = 0x1D400000
    direct_map: int = 0xFFFF_9A83_4000_0000
    per_cpu: int = 0xFFFF_9A87_1F80_0000
    per_cpu_unit: int = 0x40000

    @cached_property
    def text(self) -> tuple[int, int]:
        """Where ``_text`` ran, and how long the code is."""
        begin, end = self.symbol("_text"), self.symbol("_etext")
        return begin + self.slide, end - begin

    def variable(self, name: str, offset: int = 0) -> Place:
        address = self.symbol(name) + offset + self.slide
        return Place(address, address - self.text[0] + _LOADED_AT)

    def per_cpu_variable(self, name: str, cpu: int, offset: int = 0) -> Place:
        return self.memory(self.per_cpu - self.direct_map + cpu * self.per_cpu_unit + self.symbol(name) + offset)

    def memory(self, physical: int) -> Place:
        """A byte of memory through the direct map, where slab objects and stacks lie."""
        return Place(self.direct_map + physical, physical)

    def slab(self, slabs_at: int, stride: int, slab_bytes: int, count: int) -> tuple[Place, ...]:
        """Objects of a cache, slab after slab; slabs lie apart, as the page allocator gives them out."""
        each = slab_bytes // stride
        return tuple(
            self.memory(slabs_at + (number // each) * slab_bytes * 3 + (number % each) * stride)
            for number in range(count)
        )


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
        return _placed(self.symbol(name) + offset + self.slide)

    def allocated(self, first: int, stride: int, count: int) -> tuple[Place, ...]:
        """Objects that ``malloc`` gave out one after another, ``first`` bytes into the heap."""
        return tuple(_placed(self.heap + first + number * stride) for number in range(count))


def _placed(address: int) -> Place:
    """Some page of memory for each page of the process."""
    page = address // _PAGE * 2654435761 % (1 << 21)
    return Place(address, (page << 12) | address % _PAGE)
