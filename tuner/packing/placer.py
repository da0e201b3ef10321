# SPDX-License-Identifier: GPL-2.0-or-later
"""Where an item comes to lie behind what is already placed, remembered by the residue that decides it."""

from __future__ import annotations

from dataclasses import dataclass
from math import lcm

from linesmith.analyzer.geometry.placement import BYTE, bit_field_start, round_up
from linesmith.tuner.packing.problem import Problem


@dataclass(frozen=True, slots=True)
class Step:
    """What placing an item adds, in bits from the end before it: the new ``end``, and where its members begin."""

    end: int
    starts: tuple[int, ...]


class Placer:
    """Places items of one problem, one behind the other.

    All alignments are powers of two, so what an item adds depends on the end before it modulo the largest one.
    """

    def __init__(self, problem: Problem) -> None:
        shapes = [shape for item in problem.items for shape in item.shapes]
        steps = [step for shape in shapes for step in (shape.alignment, shape.forced)]
        alignment = lcm(problem.alignment * BYTE, *steps)
        self._items = problem.items
        self.modulus = lcm(alignment, BYTE)
        self.limit = problem.size_limit * BYTE // alignment * alignment
        self._alignment = alignment
        self._known: list[dict[int, Step]] = [{} for _ in problem.items]
        self.least = tuple(sum(s.size if s.width is None else s.width for s in item.shapes) for item in problem.items)

    def step(self, item: int, end: int) -> Step:
        """``item`` placed behind ``end`` bits."""
        residue = end % self.modulus
        known = self._known[item].get(residue)
        if known is None:
            known = self._known[item][residue] = self._placed(item, residue)
        return known

    def _placed(self, item: int, residue: int) -> Step:
        end = residue
        starts: list[int] = []
        for shape in self._items[item].shapes:
            if shape.width is None:
                start = round_up(end, shape.alignment)
                end = start + shape.size
            else:
                start = bit_field_start(shape, end)
                end = start + shape.width
            starts.append(start - residue)
        return Step(end - residue, tuple(starts))

    def size(self, end: int) -> int:
        """Bytes of a record whose last bit is before ``end``."""
        return round_up(end, self._alignment) // BYTE
