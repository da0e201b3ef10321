# SPDX-License-Identifier: GPL-2.0-or-later
"""The machine that a kernel was built for, as far as SLUB's rules depend on it."""

from __future__ import annotations

from linesmith.analyzer.model import SlabMachine

_ARM64 = "aarch64"
# arm64 aligned kmalloc() for DMA by devices that are not coherent, until small buffers were copied instead.
_ARM64_DMA_BYTES = 128
_BOUNCES = (6, 5)
_DEFAULT = SlabMachine()


def machine_of(
    name: str,
    release: tuple[int, int] | None,
    cpus: int = _DEFAULT.cpus,
    page_bytes: int = _DEFAULT.page_bytes,
) -> SlabMachine:
    """The machine of an ELF file by its ``name``; without a release the rules of Linux 6.12 hold."""
    rules = release or _DEFAULT.release
    kmalloc = _ARM64_DMA_BYTES if name == _ARM64 and rules < _BOUNCES else _DEFAULT.kmalloc_alignment
    return SlabMachine(cpus=cpus, page_bytes=page_bytes, release=rules, kmalloc_alignment=kmalloc)
