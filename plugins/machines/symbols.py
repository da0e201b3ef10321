# SPDX-License-Identifier: GPL-2.0-or-later
"""Names of code addresses, from the symbol tables of ELF files or from /proc/kallsyms."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from pathlib import Path

from linesmith.analyzer.base.elf import ElfSymbol
from linesmith.analyzer.base.errors import ElfError
from linesmith.plugins.machines.elf_image import opened


class SymbolTable:
    """Answers which symbol an address belongs to."""

    def __init__(self, symbols: Iterable[ElfSymbol]) -> None:
        self.symbols = tuple(sorted(symbols, key=lambda one: (one.address, one.size, one.name)))
        self._starts = [one.address for one in self.symbols]

    def at(self, address: int) -> ElfSymbol | None:
        """The symbol that holds ``address``, or the last one before it when that one's size is not known."""
        place = bisect_right(self._starts, address) - 1
        if place < 0:
            return None
        found = self.symbols[place]
        return found if not found.size or address < found.address + found.size else None

    def address_of(self, name: str) -> int | None:
        """Where the symbol called ``name`` begins; ``None`` when there is none."""
        return next((one.address for one in self.symbols if one.name == name), None)


def code_symbols(path: Path, offset: int = 0) -> tuple[ElfSymbol, ...]:
    """Functions of the ELF file at ``path``, moved up by ``offset`` bytes; raises ``ElfError`` when it is damaged."""
    with opened(path) as file:
        try:
            code, _ = file.symbols().split()
        except ValueError as error:
            raise ElfError(f"the symbols of {path} cannot be read ({error}); give a file that is whole") from error
    return tuple(ElfSymbol(one.name, one.address + offset, one.size) for one in code) if offset else code


def kallsyms_symbols(text: str) -> Iterator[ElfSymbol]:
    """Functions in the form of ``/proc/kallsyms``: address in hex, kind, name. Source: kernel/kallsyms.c, nm(1)."""
    for line in text.splitlines():
        words = line.split()
        if len(words) >= 3 and words[1] in "tTwW" and set(words[0]) != {"0"}:
            try:
                yield ElfSymbol(words[2], int(words[0], 16), 0)
            except ValueError:
                continue
