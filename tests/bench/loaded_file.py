# SPDX-License-Identifier: GPL-2.0-or-later
"""What an ELF file loads, by address and by place in the file."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_LOAD = 1  # PT_LOAD


@dataclass(frozen=True, slots=True)
class Segment:
    """``size`` bytes at ``offset`` of the file that are loaded at ``address``."""

    offset: int
    address: int
    size: int


class LoadedFile:
    """A 64-bit little-endian ELF file; others load nothing. Source: elf(5), ``Elf64_Phdr``."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._segments = tuple(self._load_segments())

    def address_of(self, offset: int) -> int:
        """The address of a byte of the file; a number that is no such place is taken for an address already."""
        for one in self._segments:
            if one.offset <= offset < one.offset + one.size:
                return offset - one.offset + one.address
        return offset

    def bytes_at(self, address: int, count: int) -> bytes:
        """Up to ``count`` bytes that are loaded at ``address``."""
        for one in self._segments:
            if one.address <= address < one.address + one.size:
                start = address - one.address + one.offset
                return self._data[start : start + min(count, one.address + one.size - address)]
        return b""

    def _load_segments(self) -> Iterator[Segment]:
        if self._data[:6] != b"\x7fELF\x02\x01":
            return
        table, size, count = *struct.unpack_from("<Q", self._data, 32), *struct.unpack_from("<HH", self._data, 54)
        for place in range(table, table + size * count, size):
            kind, _, offset, address, _, stored = struct.unpack_from("<IIQQQQ", self._data, place)
            if kind == _LOAD:
                yield Segment(offset, address, stored)
