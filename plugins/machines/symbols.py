# SPDX-License-Identifier: GPL-2.0-or-later
"""Names of code and data addresses, from the symbol tables of ELF files or from /proc/kallsyms."""

from __future__ import annotations

import mmap
import struct
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.base.errors import ElfError
from linesmith.plugins.machines.elf_image import mapped

# Source: the generic ABI, chapter 4, "Symbol Table".
_SHT_SYMTAB, _SHT_DYNSYM = 2, 11
_STT_OBJECT, _STT_FUNC, _STT_GNU_IFUNC, _STT_NOTYPE = 1, 2, 10, 0
_SYMBOL = struct.Struct("<IBBHQQ")
_SHF_EXECINSTR = 4


@dataclass(frozen=True, slots=True)
class AddressSymbol:
    """A named range of addresses; ``size`` 0 means that the table does not say."""

    address: int
    size: int
    name: str
    is_code: bool


class SymbolTable:
    """Answers which symbol an address belongs to."""

    def __init__(self, symbols: Iterable[AddressSymbol]) -> None:
        self.symbols = tuple(sorted(symbols, key=lambda one: (one.address, one.size, one.name)))
        self._starts = [one.address for one in self.symbols]

    def at(self, address: int) -> AddressSymbol | None:
        """The symbol that holds ``address``, or the last one before it when that one's size is not known."""
        place = bisect_right(self._starts, address) - 1
        if place < 0:
            return None
        found = self.symbols[place]
        return found if not found.size or address < found.address + found.size else None

    def address_of(self, name: str) -> int | None:
        """Where the symbol called ``name`` begins; ``None`` when there is none."""
        return next((one.address for one in self.symbols if one.name == name), None)


def code_symbols(path: Path, offset: int = 0) -> tuple[AddressSymbol, ...]:
    """Functions of the ELF file at ``path``, moved up by ``offset`` bytes; raises ``ElfError`` when it is damaged."""
    return tuple(one for one in _symbols(path, offset) if one.is_code)


def data_symbols(path: Path, offset: int = 0) -> tuple[AddressSymbol, ...]:
    """Variables of the ELF file at ``path``, moved up by ``offset`` bytes; raises ``ElfError`` when it is damaged."""
    return tuple(one for one in _symbols(path, offset) if not one.is_code)


def kallsyms_symbols(text: str) -> Iterator[AddressSymbol]:
    """Functions in the form of ``/proc/kallsyms``: address in hex, kind, name. Source: kernel/kallsyms.c, nm(1)."""
    for line in text.splitlines():
        words = line.split()
        if len(words) >= 3 and words[1] in "tTwW" and set(words[0]) != {"0"}:
            try:
                yield AddressSymbol(int(words[0], 16), 0, words[2], is_code=True)
            except ValueError:
                continue


def _symbols(path: Path, offset: int) -> tuple[AddressSymbol, ...]:
    with mapped(path) as data:
        try:
            sections = tuple(_sections(data))
            return tuple(_read(data, sections, offset))
        except (struct.error, IndexError, ValueError, OverflowError) as error:
            raise ElfError(f"the symbols of {path} cannot be read ({error}); give a file that is whole") from error


@dataclass(frozen=True, slots=True)
class _SymbolSection:
    kind: int
    flags: int
    offset: int
    size: int
    link: int


def _sections(data: mmap.mmap) -> Iterator[_SymbolSection]:
    (table,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    for index in range(count if table else 0):
        place = table + index * size
        _, kind, flags, _, offset, length, link = struct.unpack_from("<IIQQQQI", data, place)
        yield _SymbolSection(kind, flags, offset, length, link)


def _read(data: mmap.mmap, sections: tuple[_SymbolSection, ...], moved: int) -> Iterator[AddressSymbol]:
    """Symbols of .symtab, or of .dynsym in a stripped file."""
    tables = [one for one in sections if one.kind == _SHT_SYMTAB]
    tables = tables or [one for one in sections if one.kind == _SHT_DYNSYM]
    code = {index for index, one in enumerate(sections) if one.flags & _SHF_EXECINSTR}
    for table in tables:
        strings = sections[table.link]
        names = data[strings.offset : strings.offset + strings.size]
        rows = data[table.offset : table.offset + table.size]
        for name, info, _, section, address, size in _SYMBOL.iter_unpack(
            rows[: len(rows) // _SYMBOL.size * _SYMBOL.size]
        ):
            if info & 15 in (_STT_FUNC, _STT_GNU_IFUNC, _STT_OBJECT) or (info & 15 == _STT_NOTYPE and section in code):
                text = names[name : names.index(b"\0", name)].decode("utf-8", "replace")
                if section and text and not text.startswith("$"):
                    yield AddressSymbol(address + moved, size, text, section in code)
