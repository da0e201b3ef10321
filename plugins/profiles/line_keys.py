# SPDX-License-Identifier: GPL-2.0-or-later
"""Numbers small values that are far apart: lines of address spaces, and data sources."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linesmith.plugins.profiles.data_source import DataSource, decoded

Words = NDArray[np.uint64]
Numbers = NDArray[np.int64]

_REGION_BITS = 36
# Of a data source: load or store, level, hit or HITM, lock, level's number, remote, peer, hops.
_TELLING = 0x06 | 0x3FFF << 5 | 0x14 << 19 | 0x2 << 24 | 0xF << 33 | 1 << 37 | 0x2 << 38 | 0x7 << 43


class Numbering:
    """Gives every new value the next number."""

    def __init__(self) -> None:
        self.values: list[int] = []
        self._sorted = np.empty(0, np.uint64)
        self._numbers = np.empty(0, np.int64)

    def of(self, values: Words) -> Numbers:
        """The number of each value."""
        at, known = self._look_up(values)
        if not known.all():
            new = np.unique(values[~known])
            numbers = np.arange(len(self.values), len(self.values) + len(new))
            self.values += new.tolist()
            together = np.concatenate((self._sorted, new))
            order = np.argsort(together)
            self._sorted = together[order]
            self._numbers = np.concatenate((self._numbers, numbers))[order]
            at, _ = self._look_up(values)
        return self._numbers[at]

    def _look_up(self, values: Words) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        if not len(self._sorted):
            return np.zeros(len(values), np.intp), np.zeros(len(values), np.bool_)
        at = np.minimum(np.searchsorted(self._sorted, values), len(self._sorted) - 1)
        return at, self._sorted[at] == values


class LineKeys:
    """One 64-bit key for a line of a space: the number of its 64 GiB of address space, then the line in them."""

    def __init__(self, line_bytes: int) -> None:
        self._shift = np.uint64(line_bytes.bit_length() - 1)
        self._regions = Numbering()
        self._mask = np.uint64((1 << _REGION_BITS) - 1)

    def of(self, address: Words, space: NDArray[np.uint32]) -> Words:
        """The key of the line that holds each address."""
        region = space.astype(np.uint64) << np.uint64(64 - _REGION_BITS) | address >> np.uint64(_REGION_BITS)
        number = self._regions.of(region).astype(np.uint64)
        return number << np.uint64(_REGION_BITS) | (address & self._mask) >> self._shift

    def place(self, key: int) -> tuple[int, int]:
        """The space and the address of a line."""
        region = self._regions.values[key >> _REGION_BITS]
        line = (key & int(self._mask)) << int(self._shift)
        return region >> (64 - _REGION_BITS), (region & ((1 << (64 - _REGION_BITS)) - 1)) << _REGION_BITS | line


class DataSources:
    """The data sources met, each decoded once."""

    def __init__(self) -> None:
        self._numbering = Numbering()
        self._decoded: list[DataSource] = []

    def of(self, bits: Words) -> Numbers:
        """The number of each data source."""
        found = self._numbering.of(bits & np.uint64(_TELLING))
        self._decoded += map(decoded, self._numbering.values[len(self._decoded) :])
        return found

    def column(self, name: str) -> Numbers:
        """A count of ``DataSource`` by number."""
        return np.array([getattr(one, name) for one in self._decoded], np.int64)

    def __len__(self) -> int:
        return len(self._decoded)
