# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel as it ran: the facts of its vmlinux, moved by KASLR, and where its objects lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from perf_data.scenario import Place

from linesmith.analyzer import dwarf
from linesmith.analyzer.access import AccessMap, accesses_in, read_accesses
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import AccessKind, CodeAccess
from linesmith.plugins.machines.symbols import SymbolTable, code_symbols, data_symbols


@dataclass(frozen=True)
class Kernel:
    """Addresses of x86-64: ``slide`` is how far KASLR moved code and data, ``direct_map`` where memory begins.

    ``per_cpu`` is where CPU 0 has its per-CPU variables, ``per_cpu_unit`` what lies between two CPUs; bytes.
    """

    vmlinux: Path
    slide: int = 0x1D400000
    direct_map: int = 0xFFFF_9A83_4000_0000
    per_cpu: int = 0xFFFF_9A87_1F80_0000
    per_cpu_unit: int = 0x40000

    @cached_property
    def text(self) -> tuple[int, int]:
        """Where ``_text`` ran, and how long the code is."""
        begin, end = self._symbol("_text"), self._symbol("_etext")
        return begin + self.slide, end - begin

    @cached_property
    def build_id(self) -> bytes:
        """As the file has it."""
        return bytes.fromhex(dwarf.identify(self.vmlinux).build_id or "")

    def code(self, function: str, into: int) -> int:
        """An instruction as it ran, so many bytes into a function."""
        return self._symbol(function) + into + self.slide

    def variable(self, name: str, offset: int = 0) -> Place:
        """A byte of a global; its physical address is that of an image loaded at 16 MiB, moved alike."""
        address = self._symbol(name) + offset + self.slide
        return Place(address, address - self.text[0] + (1 << 24))

    def per_cpu_variable(self, name: str, cpu: int, offset: int = 0) -> Place:
        """A byte of a CPU's own copy."""
        return self.memory(self.per_cpu - self.direct_map + cpu * self.per_cpu_unit + self._symbol(name) + offset)

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
        """Bytes of a record."""
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
        return dwarf.read_layouts(self.vmlinux).layouts

    @cached_property
    def _accesses(self) -> AccessMap:
        return read_accesses(self.vmlinux).accesses

    def _symbol(self, name: str) -> int:
        for table in _symbols(self.vmlinux):
            address = table.address_of(name)
            if address is not None:
                return address
        raise LookupError(f"{name} is no symbol of {self.vmlinux}")


@cache
def _symbols(vmlinux: Path) -> tuple[SymbolTable, SymbolTable]:
    return SymbolTable(code_symbols(vmlinux)), SymbolTable(data_symbols(vmlinux))


def _within(path: str, wanted: str) -> bool:
    return path == wanted or path.startswith((f"{wanted}.", f"{wanted}["))
