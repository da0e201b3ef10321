# SPDX-License-Identifier: GPL-2.0-or-later
"""Symbols and segments of an ELF file, by name and by address (System V ABI, chapters 4 and 5)."""

from __future__ import annotations

import mmap
import struct
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from linesmith.analyzer.base.errors import ElfError
from linesmith.analyzer.model import ElfIdentity

_OBJECT, _FUNCTION, _INDIRECT = 1, 2, 10
_SYMBOL_FIELDS = ("name", "info", "other", "section", "value", "size")
_SYMTAB, _DYNSYM, _PT_LOAD = 2, 11, 1


@dataclass(frozen=True, slots=True)
class ElfSymbol:
    """A named range of the file's addresses; ``size`` is 0 where the table does not say."""

    name: str
    address: int
    size: int


@dataclass(frozen=True, slots=True)
class LoadSegment:
    """What the loader maps: ``size`` bytes at ``address``, the first of them from ``offset`` in the file on."""

    offset: int
    address: int
    size: int


class ElfSymbols:
    """The symbols of one 64-bit file."""

    def __init__(self, table: NDArray[np.void], names: bytes, segments: tuple[LoadSegment, ...]) -> None:
        self._table = table[(table["section"] != 0) & (table["name"] != 0)]
        self._names = names
        self.segments = segments

    def address_of(self, name: str) -> int | None:
        """Where the symbol called ``name`` begins; the first of several."""
        return next((one.address for one in self.called(name)), None)

    def called(self, name: str) -> tuple[ElfSymbol, ...]:
        """Every symbol of that name."""
        # Linkers let a name be the end of a longer one, so that each place where it ends a string counts.
        wanted, found = name.encode() + b"\0", []
        ordered, rows = self._by_name
        at = self._names.find(wanted)
        while at >= 0:
            first, last = np.searchsorted(ordered, (at, at + 1))
            found += [self._symbol(row) for row in rows[first:last]]
            at = self._names.find(wanted, at + 1)
        return tuple(found)

    @cached_property
    def _by_name(self) -> tuple[NDArray[np.uint32], NDArray[np.void]]:
        rows = self._table[np.argsort(self._table["name"], kind="stable")]
        return rows["name"].copy(), rows

    def function_at(self, address: int) -> ElfSymbol | None:
        """The function that holds the code at an address."""
        starts, rows = self._functions
        number = bisect_right(starts, address) - 1
        found = self._symbol(rows[number]) if number >= 0 else None
        return found if found and address < found.address + max(found.size, 1) else None

    def objects(self, name: str) -> tuple[ElfSymbol, ...]:
        """Every variable of that name that lies at one address; not those that each thread has."""
        return tuple(one for one in self.called(name) if one in self.variables(one.address, one.address + 1))

    def variables(self, begin: int, end: int) -> Iterator[ElfSymbol]:
        """The variables that reach into a range of addresses; only those with a size are known."""
        starts, rows = self._variables
        first = max(bisect_right(starts, begin) - 1, 0)
        for row in rows[first : bisect_right(starts, end - 1)]:
            found = self._symbol(row)
            if found.address < end and begin < found.address + found.size:
                yield found

    @cached_property
    def _functions(self) -> tuple[list[int], NDArray[np.void]]:
        kind = self._table["info"] & 0xF
        return _sorted(self._table[(kind == _FUNCTION) | (kind == _INDIRECT)])

    @cached_property
    def _variables(self) -> tuple[list[int], NDArray[np.void]]:
        return _sorted(self._table[((self._table["info"] & 0xF) == _OBJECT) & (self._table["size"] > 0)])

    def _symbol(self, row: np.void) -> ElfSymbol:
        begin = int(row["name"])
        name = self._names[begin : self._names.find(b"\0", begin)].decode("utf-8", "replace")
        return ElfSymbol(name, int(row["value"]), int(row["size"]))


def _sorted(rows: NDArray[np.void]) -> tuple[list[int], NDArray[np.void]]:
    """By address; of several at one address the largest comes last, and is found."""
    ordered = rows[np.lexsort((rows["size"], rows["value"]))]
    return ordered["value"].tolist(), ordered


def read_symbols(identity: ElfIdentity) -> ElfSymbols:
    """The symbols of a file or, where it is stripped, of its debug file; without any, none. Raises ``ElfError``."""
    found = _read(Path(identity.path))
    if len(found[0]) or not identity.debug_path:
        return ElfSymbols(*found)
    table, names, _ = _read(Path(identity.debug_path))
    return ElfSymbols(table, names, found[2])


def _read(path: Path) -> tuple[NDArray[np.void], bytes, tuple[LoadSegment, ...]]:
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _parsed(data)
    except (OSError, ValueError, struct.error) as error:
        raise ElfError(f"{path}: its symbols cannot be read ({error}); give the file as it was built") from error


def _parsed(data: mmap.mmap) -> tuple[NDArray[np.void], bytes, tuple[LoadSegment, ...]]:
    if data[:5] != b"\x7fELF\x02":
        raise ValueError("it is no 64-bit ELF file")
    order = "<" if data[5] == 1 else ">"
    symbol = np.dtype(
        [(name, order + kind) for name, kind in zip(_SYMBOL_FIELDS, ("u4", "u1", "u1", "u2", "u8", "u8"), strict=True)]
    )
    segments_at, sections_at = struct.unpack_from(order + "QQ", data, 32)
    _, segments, section_bytes, sections, _ = struct.unpack_from(order + "5H", data, 54)
    loaded = []
    for number in range(segments):
        kind, _, offset, address, _, _, size, _ = struct.unpack_from(
            order + "IIQQQQQQ", data, segments_at + number * 56
        )
        if kind == _PT_LOAD:
            loaded.append(LoadSegment(offset, address, size))
    headers = [
        struct.unpack_from(order + "IIQQQQIIQQ", data, sections_at + number * section_bytes)
        for number in range(sections)
    ]
    for wanted in (_SYMTAB, _DYNSYM):
        for header in headers:
            if header[1] == wanted and header[5] and header[6] < sections:
                names = headers[header[6]]
                count = min(header[5], len(data) - header[4]) // symbol.itemsize
                table = np.frombuffer(data[header[4] : header[4] + count * symbol.itemsize], symbol)
                return table, data[names[4] : names[4] + names[5]] + b"\0", tuple(loaded)
    return np.empty(0, symbol), b"\0", tuple(loaded)
