# SPDX-License-Identifier: GPL-2.0-or-later
"""What one hot item at its place costs all others at theirs, as arrays.

Prices depend on a place modulo the longest line and the largest alignment only, so each array is made once.
"""

from __future__ import annotations

from functools import lru_cache
from math import lcm

import numpy as np
from numpy.typing import NDArray

from linesmith.analyzer.geometry.placement import BYTE
from linesmith.tuner.packing.prices import FORBIDDEN
from linesmith.tuner.packing.scene import Scene

Places = NDArray[np.int64]


class Neighbours:
    """Prices between hot items of one scene; places are multiples of ``step`` bits."""

    def __init__(self, scene: Scene, hot: tuple[int, ...], step: int) -> None:
        self._scene = scene
        self._hot = hot
        self._step = step
        self._period = lcm(scene.placer.modulus, scene.prices.period * BYTE, step)
        self._tables = {
            (one, other): np.array(table)
            for one, others in scene.prices.partners.items()
            for other, table in others.items()
        }
        self._ends = [np.array([scene.placer.step(item, at).end for at in self._residues]) for item in hot]
        sizes = [int(ends.max()) for ends in self._ends]
        spots = [scene.problem.hotspots[number].size * BYTE for number in scene.prices.partners]
        self._reach = scene.prices.reach * BYTE + max([0, *sizes]) + max([0, *spots])
        self._blocks: dict[tuple[int, int], NDArray[np.int64]] = {}
        self._starts = lru_cache(maxsize=None)(self._starts_of)

    @property
    def _residues(self) -> range:
        return range(0, self._period, self._step)

    def lengths(self, number: int, places: Places) -> Places:
        """Bits from each place to the end of hot item ``number`` there."""
        found: Places = self._ends[number][places % self._period // self._step]
        return found

    def alone(self, number: int, places: Places) -> Places:
        """What the item costs at each place by itself; forbidden where it cannot begin."""
        inside = self._scene.by_item[self._hot[number]]
        total = np.where(self._first(number, places) == 0, 0, FORBIDDEN)
        for at, (one, member, start) in enumerate(inside):
            for other, second, begin in inside[:at]:
                if (one, other) in self._tables:
                    here = self._bytes(number, member, places) + start
                    there = self._bytes(number, second, places) + begin
                    total = total + self._priced(one, here, other, there)
        return total

    def far(self, number: int) -> NDArray[np.int64]:
        """Units of each hot item out of reach of item ``number``."""
        known = self._scene.prices.far
        mine = [spot for spot, _, _ in self._scene.by_item[self._hot[number]]]
        theirs = [[spot for spot, _, _ in self._scene.by_item[item]] for item in self._hot]
        units = [sum(known.get((one, two), 0) for one in mine for two in spots) for spots in theirs]
        units[number] = 0
        return np.array(units, dtype=np.int64)

    def block(self, number: int, place: int) -> tuple[int, NDArray[np.int64]]:
        """The first column's place, and units by hot item (row) and place (column) with item ``number`` at ``place``.

        They are those beyond what the two cost out of reach.
        """
        around = -(-self._reach // self._step)
        residue = place * self._step % self._period
        if (number, residue) not in self._blocks:
            self._blocks[number, residue] = self._block(number, residue, around)
        return place - around, self._blocks[number, residue]

    def _block(self, number: int, residue: int, around: int) -> NDArray[np.int64]:
        # Moved up by whole periods, so that no place is negative.
        here = residue + -(-around * self._step // self._period) * self._period
        places = here + np.arange(-around, around + 1, dtype=np.int64) * self._step
        rows = [
            np.zeros(len(places), dtype=np.int64) if other == number else self._row(number, here, other, places)
            for other in range(len(self._hot))
        ]
        return np.array(rows)

    def _row(self, number: int, here: int, other: int, places: Places) -> Places:
        """Units of hot item ``other`` at each of ``places`` with item ``number`` at bit ``here``."""
        end = here + int(self.lengths(number, np.array([here]))[0])
        overlap = (places < end) & (places + self.lengths(other, places) > here)
        total = np.where(overlap, FORBIDDEN, 0)
        at = np.array([here])
        for one, member, start in self._scene.by_item[self._hot[number]]:
            for two, second, begin in self._scene.by_item[self._hot[other]]:
                if (one, two) in self._tables:
                    mine = int(self._bytes(number, member, at)[0]) + start
                    there = self._bytes(other, second, places) + begin
                    far = self._scene.prices.far.get((one, two), 0)
                    total = total + self._priced(one, np.array([mine]), two, there) - far
        return total

    def _priced(self, one: int, here: Places, other: int, there: Places) -> Places:
        """Units of two hotspots at these bytes of the record."""
        table = self._tables[one, other]
        distance = there - here + self._scene.prices.reach + self._scene.problem.hotspots[other].size
        inside = (distance >= 0) & (distance < table.shape[1])
        row = (here + self._scene.problem.base) % self._scene.prices.period
        far = self._scene.prices.far.get((one, other), 0)
        found: Places = np.where(inside, table[row, np.clip(distance, 0, table.shape[1] - 1)], far)
        return found

    def _bytes(self, number: int, member: int, places: Places) -> Places:
        """First byte of the item's member where the item is placed behind each of ``places``."""
        begin: Places = (places + self._starts(number, member)[places % self._period // self._step]) // BYTE
        return begin

    def _first(self, number: int, places: Places) -> Places:
        found: Places = self._starts(number, 0)[places % self._period // self._step]
        return found

    def _starts_of(self, number: int, member: int) -> Places:
        item = self._hot[number]
        return np.array([self._scene.placer.step(item, at).starts[member] for at in self._residues])
