# SPDX-License-Identifier: GPL-2.0-or-later
"""Which part of a kernel's address space an address lies in, as far as every start of the kernel keeps to it.

Sources: Documentation/arch/x86/x86_64/mm.rst, arch/x86/mm/kaslr.c (bases move, their order and the room of the vmalloc
area stay), Documentation/arch/arm64/memory.rst.
"""

from __future__ import annotations

# Physical memory is mapped here, and nothing else is: x86-64 with four and with five levels of page tables, up to the
# lowest address that the array of struct page can have behind the vmalloc area; arm64.
_LINEAR_MAPS = (
    range(0xFFFF_8880_0000_0000, 0xFFFF_A880_0000_0000),
    range(0xFF11_0000_0000_0000, 0xFF43_0000_0000_0000),
    range(0xFFFF_0000_0000_0000, 0xFFFF_8000_0000_0000),
)


def in_linear_map(address: int) -> bool:
    """Whether slab objects and pages lie there, but never a ``struct page``, which describes them from elsewhere."""
    return any(address in one for one in _LINEAR_MAPS)
