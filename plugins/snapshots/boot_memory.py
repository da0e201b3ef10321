# SPDX-License-Identifier: GPL-2.0-or-later
"""Memory handed out before the allocators ran: what it holds is told by the variables that point to it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from linesmith.analyzer.model import ObjectArea, ObjectKind
from linesmith.plugins.snapshots.cache_types import RecordSize
from linesmith.plugins.snapshots.direct_map import DirectMap
from linesmith.plugins.snapshots.pointed import BUCKET_BYTES, words_where
from linesmith.plugins.snapshots.typed_memory import KernelMemory

# Other variables may point into the midst of a record.
_LOOK_BACK = 64
_MOST_TABLE_BYTES = 64 << 20


class BootMemory:
    """The pointers of variables into the direct map."""

    def __init__(self, memory: KernelMemory, direct: DirectMap, size_of: RecordSize) -> None:
        """Searches the variables."""
        within = direct.addresses.__contains__
        found = ((word, at, one) for one in memory.variables() for at, word in words_where(one, within))
        self._pointers = sorted(found, key=lambda row: row[:2])
        self._values = [value for value, _, _ in self._pointers]
        self._memory = memory
        self._direct = direct
        self._size_of = size_of

    def area(self, address: int) -> ObjectArea | None:
        """The record, or the table of small records, that a variable says lies at ``address``."""
        return self._pointed(address) if self._direct.is_boot_memory(address) else None

    def _pointed(self, address: int) -> ObjectArea | None:
        behind = bisect_right(self._values, address)
        candidates = (self._at(index) for index in range(behind - 1, max(behind - _LOOK_BACK, 0) - 1, -1))
        return next((area for areas in candidates for area in areas if address < area.end), None)

    def _at(self, index: int) -> Iterator[ObjectArea]:
        """What the pointer ``index`` says, once for each record that it may point to."""
        value, place, source = self._pointers[index]
        behind = next((other for other in self._values[index : index + _LOOK_BACK] if other > value), value)
        name = self._memory.variable(place) or "a variable"
        for record in source.declared(place):
            size = self._size_of(record) or 0
            count = 1 if size > BUCKET_BYTES else _whole_table(self._room(value, behind), size)
            if size > BUCKET_BYTES or (size and self._memory.is_pointer_variable(place)):
                detail = f"pointed to by {name}"
                yield ObjectArea(ObjectKind.BOOT, name, value, size, size, count, (record,), detail=detail)

    def _room(self, start: int, behind: int) -> int:
        """Bytes of boot memory from ``start`` on, up to what another variable points to."""
        pages = range(start, min(max(behind, start), start + _MOST_TABLE_BYTES), self._direct.page_bytes)
        end = next((page for page in pages if not self._direct.is_boot_memory(page)), pages.stop)
        return end - start


def _whole_table(room: int, size: int) -> int:
    """Elements of a table that fits into ``room`` bytes: tables of the boot allocator have a power of two."""
    count = room // size if size else 0
    return 1 << count.bit_length() - 1 if count else 1
