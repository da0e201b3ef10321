# SPDX-License-Identifier: GPL-2.0-or-later
"""What hotspots cost by who is with whom: a price for each set of them that lies on one line, phase by phase."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from linesmith.tuner.packing.problem import Company, Problem

Spots = Iterable[tuple[int, int]]
# Of so many hotspots all ways to share them out among lines are looked at.
PARTED = 12


class Companies:
    """The prices of one problem. ``unit`` is how much cost one unit is; ``alone`` what is spent before any item."""

    def __init__(self, problem: Problem, company: Company, unit: float) -> None:
        weights: dict[tuple[int, int], float] = defaultdict(float)
        for grid in problem.grids:
            for phase, share in grid.phases:
                weights[grid.line_bytes, phase + problem.base] += grid.weight * share
        self._phases = tuple((size, phase, weight) for (size, phase), weight in weights.items())
        self._company = company
        self._whole = sum(weights.values())
        self.unit = unit
        self._known: tuple[dict[int, int], ...] = tuple({0: 0} for _ in self._phases)
        self._fixed = tuple(
            _by_line(((company.count + at, byte - problem.base) for at, byte in enumerate(company.fixed)), size, phase)
            for size, phase, _ in self._phases
        )
        self.alone = sum(self._units(at, mask) for at, lines in enumerate(self._fixed) for mask in lines.values())

    def added(self, new: Spots, near: Spots) -> int:
        """Units that hotspots ``new`` (number, byte of the record) add to those that are ``near``; never negative."""
        total = 0
        new, near = list(new), list(near)
        for at, (size, phase, _) in enumerate(self._phases):
            before = _by_line(near, size, phase)
            fixed = self._fixed[at]
            for line, mask in _by_line(new, size, phase).items():
                here = before.get(line, 0) | fixed.get(line, 0)
                total += self._units(at, here | mask) - self._units(at, here)
        return total

    def _units(self, at: int, mask: int) -> int:
        known = self._known[at]
        if mask not in known:
            known[mask] = round(self._company.price(mask) * self._phases[at][2] / self.unit)
        return known[mask]

    def least(self) -> int:
        """Units that no order is below: the cheapest way to share the hotspots out among lines, whatever fits where.

        A part of them costs no more than all, so of too many only those count that make most of the cost.
        """
        chosen = self._dearest()
        count = len(chosen)
        price = [
            self._company.price(sum(bit for at, bit in enumerate(chosen) if mask >> at & 1))
            for mask in range(1 << count)
        ]
        found = [0.0] * (1 << count)
        for mask in range(1, len(found)):
            low = mask & -mask
            rest = part = mask ^ low
            best = price[mask]
            while part:
                part = (part - 1) & rest
                best = min(best, price[low | part] + found[rest ^ part])
            found[mask] = best
        # Each phase of each set is rounded by half a unit at most.
        return max(0, int(found[-1] * self._whole / self.unit) - count * len(self._phases))

    def _dearest(self) -> list[int]:
        """Bits of the hotspots without which all others together cost least."""
        everybody = (1 << self._company.count + len(self._company.fixed)) - 1
        bits = [1 << one for one in range(everybody.bit_length())]
        return sorted(bits, key=lambda bit: (self._company.price(everybody ^ bit), bit))[:PARTED]


def most(problem: Problem, company: Company) -> float:
    """More than any order costs."""
    everybody = company.count + len(company.fixed)
    each = sum(company.price(1 << one) for one in range(everybody))
    whole = sum(grid.weight * share for grid in problem.grids for _, share in grid.phases)
    return whole * (company.price((1 << everybody) - 1) + each)


def _by_line(spots: Spots, line_bytes: int, phase: int) -> dict[int, int]:
    """The hotspots of each line, a bit each."""
    lines: dict[int, int] = {}
    for number, byte in spots:
        line = (byte + phase) // line_bytes
        lines[line] = lines.get(line, 0) | 1 << number
    return lines
