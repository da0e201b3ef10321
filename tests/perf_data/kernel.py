# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel as it ran: moved by KASLR, with its objects in the direct map."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from perf_data.image import Image
from perf_data.scenario import Place

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
        """A byte of a global."""
        address = self.symbol(name) + offset + self.slide
        return Place(address, address - self.text[0] + _LOADED_AT)

    def per_cpu_variable(self, name: str, cpu: int, offset: int = 0) -> Place:
        """A byte of a CPU's own copy."""
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
