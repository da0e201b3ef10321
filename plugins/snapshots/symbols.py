# SPDX-License-Identifier: GPL-2.0-or-later
"""Which symbol covers an address."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

# Symbols may lie within others (a member that assembly names), but never deeply.
_LOOK_BACK = 8


@dataclass(frozen=True, slots=True, order=True)
class DataSymbol:
    """A symbol of ``size`` bytes; 0 where the assembler gave none."""

    address: int
    size: int
    name: str

    def covers(self, address: int) -> bool:
        """Whether ``address`` lies within the symbol."""
        return self.address <= address < self.address + self.size


class SymbolMap:
    """Symbols by address."""

    def __init__(self, symbols: Iterable[DataSymbol]) -> None:
        """Of several at one address the largest counts, and of equal ones the first by name."""
        largest: dict[int, DataSymbol] = {}
        for symbol in sorted(symbols, key=lambda symbol: (symbol.address, -symbol.size, symbol.name)):
            largest.setdefault(symbol.address, symbol)
        self._symbols = tuple(largest.values())
        self._starts = tuple(largest)

    def at(self, address: int) -> DataSymbol | None:
        """The innermost symbol that covers ``address``; one without a size reaches to the next symbol."""
        index = bisect_right(self._starts, address)
        before = self._symbols[max(index - _LOOK_BACK, 0) : index]
        covering = next((symbol for symbol in reversed(before) if symbol.covers(address)), None)
        if covering is not None or not before or before[-1].size or index == len(self._symbols):
            return covering
        return DataSymbol(before[-1].address, self._starts[index] - before[-1].address, before[-1].name)

    def gap(self, address: int, within: range) -> range:
        """The addresses of ``within`` around ``address`` up to the next symbols on both sides."""
        index = bisect_right(self._starts, address)
        start = max((one.address + one.size for one in self._symbols[max(index - _LOOK_BACK, 0) : index]), default=0)
        end = self._starts[index] if index < len(self._starts) else within.stop
        return range(max(start, within.start), min(end, within.stop))
