# SPDX-License-Identifier: GPL-2.0-or-later
"""In which phases the objects of a record start: where slabs put them, and at each multiple of their alignment."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate

from linesmith.analyzer.geometry import phases
from linesmith.analyzer.geometry.placement import round_up
from linesmith.analyzer.model import ADJACENT_LINE_BYTES, CACHE_LINE_BYTES, PlacePhases, VariableRow

# Shares are sums of fractions; what is nearer to nothing than this is nothing.
_ROUNDING = 1e-12
LINE_SIZES = (CACHE_LINE_BYTES, ADJACENT_LINE_BYTES)


@dataclass(frozen=True, slots=True)
class PhaseMix:
    """Where objects of one size and alignment can start: ``places``, each at lines of 64 and of 128 bytes.

    All places count the same. ``summed`` are the shares of the phases from 0 on, added up over two lines, by line size.
    """

    places: tuple[PlacePhases, ...]
    summed: Mapping[int, tuple[float, ...]]

    def at(self, line_bytes: int) -> tuple[PlacePhases, ...]:
        """The places at lines of ``line_bytes``."""
        return tuple(place for place in self.places if place.line_bytes == line_bytes)

    def phases(self, line_bytes: int = CACHE_LINE_BYTES) -> tuple[tuple[int, float], ...]:
        """The phases of all places together, each with its share of the objects."""
        return _together(self.at(line_bytes))

    def share(self, last: int, first: int, line_bytes: int = CACHE_LINE_BYTES) -> float:
        """Share of the objects in which byte ``last`` and the byte ``first`` behind it are on one line."""
        apart = first - last
        if apart >= line_bytes:
            return 0.0
        if apart <= 0:
            return 1.0
        begin = -last % line_bytes
        sums = self.summed[line_bytes]
        share = sums[begin + line_bytes - apart] - sums[begin]
        return share if share > _ROUNDING else 0.0


def phase_mix(places: Iterable[PlacePhases]) -> PhaseMix:
    """The mix of ``places``, of which there is at least one for each line size that is asked for."""
    known = tuple(places)
    sizes = dict.fromkeys(place.line_bytes for place in known)
    return PhaseMix(known, {size: _summed([one for one in known if one.line_bytes == size], size) for size in sizes})


def line_sizes(line_bytes: int) -> tuple[int, ...]:
    """Sizes of lines to look at where those of the profile are of ``line_bytes``: 64, 128 and these."""
    return tuple(dict.fromkeys((*LINE_SIZES, line_bytes)))


def every_start(granule: int, line_bytes: int) -> PlacePhases:
    """Every multiple of ``granule``, of which nothing else is known."""
    starts = phases(granule, line_bytes)
    return PlacePhases("", line_bytes, tuple((phase, 1 / len(starts)) for phase in starts))


def of_row(row: VariableRow, granule: int, growth: int, line_bytes: int) -> PlacePhases:
    """Those of a variable, or of the elements of an array, when each is aligned to ``granule`` and ``growth`` larger.

    The linker puts what does not need more alignment where it was.
    """
    seen = Counter(start % line_bytes for start in starts_of(row, granule, growth, line_bytes))
    total = seen.total()
    return PlacePhases(row.name, line_bytes, tuple((phase, seen[phase] / total) for phase in sorted(seen)))


def starts_of(row: VariableRow, granule: int, growth: int, line_bytes: int) -> range:
    """Addresses of the elements, of as many as differ in where they begin in a line."""
    stride = round_up(row.stride + growth, granule)
    first = round_up(row.address, granule)
    return range(first, first + stride * min(row.count, line_bytes), max(stride, 1))


def _together(places: Iterable[PlacePhases]) -> tuple[tuple[int, float], ...]:
    known = tuple(places)
    shares: dict[int, float] = defaultdict(float)
    for place in known:
        for phase, share in place.phases:
            shares[phase] += share / len(known)
    return tuple(sorted(shares.items()))


def _summed(places: Iterable[PlacePhases], line_bytes: int) -> tuple[float, ...]:
    shares = dict(_together(places))
    return tuple(accumulate((shares.get(byte % line_bytes, 0.0) for byte in range(2 * line_bytes)), initial=0.0))
