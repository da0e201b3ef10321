# SPDX-License-Identifier: GPL-2.0-or-later
"""Which variables lie on the lines of a sampled profile: names by symbols, types by the code that touches them.

``ObjectMap`` finds these and the objects of a snapshot by address.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from linesmith.analyzer.access.access_map import OUTCOMES, AccessMap
from linesmith.analyzer.access.questions import NO_ROW, resolve
from linesmith.analyzer.base.elf import ElfSymbol, ElfSymbols
from linesmith.analyzer.layouts.collection import Layouts, bare_name
from linesmith.analyzer.model import Access, AccessOutcome, CacheLine, ObjectArea, ObjectKind, Profile

# How far an address of the profile, in a process, is from that in the file; ``None`` where it is not in the file.
Shift = Callable[[int, int | None], int | None]
# The kernel gives every CPU's copy whole pages (mm/percpu.c).
_PAGE = 4096
_NO_ROWS = np.empty(0, np.int64)
_RECORDS = ("struct ", "union ", "class ")


def variable_areas(
    profile: Profile, symbols: ElfSymbols, layouts: Layouts, accesses: AccessMap | None, shift: Shift, kernel: bool
) -> tuple[ObjectArea, ...]:
    """The variables on the profile's lines at their run-time addresses; ``shift`` is how far an address was moved.

    Of a kernel those of a CPU are known where its own instructions show where its copy begins.
    """
    typed = _TypedVariables(profile, symbols, layouts, accesses)
    copies: dict[int, int] = {}
    if kernel and accesses is not None:
        copies = _copies(profile, symbols, accesses)
    begin, end = symbols.address_of("__per_cpu_start"), symbols.address_of("__per_cpu_end")
    section = range(begin or 0, end or 0)
    found: dict[int, ObjectArea] = {}
    for line in profile.lines:
        if line.address is not None and (distance := shift(line.address, line.pid)) is not None:
            found |= {area.address: area for area in typed.on(line, distance)}
        for cpu, distance in copies.items():
            if line.address is not None and line.address - distance in section:
                own = (replace(area, kind=ObjectKind.PER_CPU, cpu=cpu) for area in typed.on(line, distance))
                found |= {area.address: area for area in own}
    return tuple(found[address] for address in sorted(found))


class _TypedVariables:
    """Areas of variables, with the record that the code takes each for."""

    def __init__(self, profile: Profile, symbols: ElfSymbols, layouts: Layouts, accesses: AccessMap | None) -> None:
        self._symbols = symbols
        self._layouts = layouts
        self._accesses = accesses
        self._seen = _seen(profile, accesses) if accesses is not None else {}
        self._declared = cache(self._by_name)
        self._plain = cache(self._element)

    def on(self, line: CacheLine, distance: int) -> Iterator[ObjectArea]:
        """The variables on a line that lies ``distance`` above its place in the file."""
        begin = (line.address or 0) - distance
        for one in self._symbols.variables(begin, begin + line.bytes):
            area = self._area(one, distance, line)
            yield area
            if not area.types and area.count == 1:
                yield from self._inside(one, distance, line)

    def _area(self, symbol: ElfSymbol, distance: int, line: CacheLine) -> ObjectArea:
        """One variable; an array is a row of its elements."""
        name, size = self._declared(symbol)
        if not name:
            name, size = self._by_instructions(symbol, distance, line)
        if not name:
            size = self._plain(symbol)
        types = (name,) if name else ()
        start = symbol.address + distance
        return ObjectArea(ObjectKind.GLOBAL, symbol.name, start, size, size, symbol.size // size, types)

    def _inside(self, symbol: ElfSymbol, distance: int, line: CacheLine) -> Iterator[ObjectArea]:
        """The record that instructions know within a variable whose type has no name, if it fills most of it."""
        begin = (line.address or 0) - distance - symbol.address
        found = set()
        for offset, spelling, into in self._seen.get(id(line), ()):
            at, name = begin + offset - into, _bare(spelling)
            size = max((one.size for one in self._layouts.variants(name)), default=0)
            if at > 0 and at + size <= symbol.size < 2 * size:
                found.add((at, size, name))
        if len(found) == 1:
            at, size, name = found.pop()
            yield ObjectArea(ObjectKind.GLOBAL, symbol.name, symbol.address + distance + at, size, size, 1, (name,))

    def _by_name(self, symbol: ElfSymbol) -> tuple[str, int]:
        """Name and size of the record that most code takes the variable, or its elements, for."""
        if self._accesses is None or not self._is_one_size(symbol):
            return "", symbol.size
        for name, _ in _types_of(symbol.name, self._accesses).most_common():
            if size := self._fitting(name, symbol.size):
                return name, size
        return "", symbol.size

    def _is_one_size(self, symbol: ElfSymbol) -> bool:
        """Whether all variables of its name have its size, so that what code does to one tells of each."""
        return len({one.size for one in self._symbols.called(symbol.name)}) == 1

    def _element(self, symbol: ElfSymbol) -> int:
        """Bytes of each element of an array of plain values, as all code takes it; of anything else the whole."""
        if self._accesses is None or not self._is_one_size(symbol):
            return symbol.size
        taken = _taken_for(symbol.name, self._accesses)
        spelling, width, into = next(iter(taken), ("", 0, 0))
        record = spelling.startswith(_RECORDS) or self._layouts.variants(spelling)
        if len(taken) != 1 or record or into or not width or symbol.size % width:
            return symbol.size
        return width

    def _by_instructions(self, symbol: ElfSymbol, distance: int, line: CacheLine) -> tuple[str, int]:
        """The largest record that instructions take what lies there for, each at its place in a row of them."""
        found: dict[str, int] = {}
        begin = (line.address or 0) - distance - symbol.address
        for offset, spelling, into in self._seen.get(id(line), ()):
            at, size = begin + offset - into, self._fitting(_bare(spelling), symbol.size)
            if 0 <= begin + offset < symbol.size and size and at % size == 0:
                found[_bare(spelling)] = size
        largest = max(found, key=lambda name: found[name], default="")
        return largest, found.get(largest, symbol.size)

    def _fitting(self, name: str, room: int) -> int:
        """Size of the largest record of that name of which some fill the room; 0 where there is none."""
        sizes = (one.size for one in self._layouts.variants(name))
        return max((size for size in sizes if size and room % size == 0), default=0)


def _seen(profile: Profile, accesses: AccessMap) -> dict[int, list[tuple[int, str, int]]]:
    """Of each line the offsets touched, as which type, at which offset in it."""
    found: dict[int, list[tuple[int, str, int]]] = {}
    for line in profile.lines:
        known = [(one.offset, one.code_address) for one in line.accesses if one.offset is not None and one.code_address]
        rows = resolve(np.array([code for _, code in known], np.uint64), accesses)
        for (offset, _), row in zip(known, rows.tolist(), strict=True):
            if row != NO_ROW and (place := int(accesses.place[row])):
                spelling = accesses.types[int(accesses.place_type[place])]
                found.setdefault(id(line), []).append((offset, spelling, int(accesses.place_offset[place])))
    return found


def _bare(spelling: str) -> str:
    """The name of a record without ``struct``; nothing for pointers."""
    return "" if spelling.endswith("*") else bare_name(spelling)


def _rows_on(name: str, accesses: AccessMap) -> NDArray[np.int64]:
    """The rows of the access map that are of the variables of a name, at a place that is known."""
    numbers = accesses.variables.called(name)
    return np.flatnonzero(np.isin(accesses.variable, numbers) & (accesses.place != 0)) if numbers else _NO_ROWS


def _types_of(name: str, accesses: AccessMap) -> Counter[str]:
    """How many accesses to the variable take it for which record, without the word ``struct``."""
    places, counts = np.unique(accesses.place[_rows_on(name, accesses)], return_counts=True)
    found: Counter[str] = Counter()
    for place, count in zip(places.tolist(), counts.tolist(), strict=True):
        spelling = accesses.types[int(accesses.place_type[place])]
        if accesses.place_offset[place] >= 0 and (bare := _bare(spelling)):
            found[bare] += count
    return found


def _taken_for(name: str, accesses: AccessMap) -> set[tuple[str, int, int]]:
    """As which type the code takes the variable, how many bytes it touches of that at once, and how far into it."""
    rows = _rows_on(name, accesses)
    places = accesses.place[rows]
    told = zip(accesses.place_type[places], accesses.width[rows], accesses.place_offset[places], strict=True)
    return {(accesses.types[int(type_)], int(width), int(into)) for type_, width, into in set(told)}


def _copies(profile: Profile, symbols: ElfSymbols, accesses: AccessMap) -> dict[int, int]:
    """How far each CPU's copy of the per-CPU section is from the section, as most of its own accesses tell."""
    votes: dict[int, Counter[int]] = {}
    for line in profile.lines:
        for access in line.accesses:
            for distance in _distances(line, access, symbols, accesses):
                for one in access.by_cpu:
                    votes.setdefault(one.cpu, Counter())[distance] += one.loads + one.stores
    return {cpu: found.most_common(1)[0][0] for cpu, found in votes.items()}


def _distances(line: CacheLine, access: Access, symbols: ElfSymbols, accesses: AccessMap) -> Iterator[int]:
    """From a per-CPU variable in the file to the copy that an instruction of its own CPU touched."""
    if access.code_address is None or access.offset is None or line.address is None or not 0 < len(access.by_cpu) < 2:
        return
    row = int(resolve(np.array([access.code_address], np.uint64), accesses)[0])
    if row == NO_ROW or OUTCOMES[accesses.outcome[row]] is not AccessOutcome.PER_CPU or not accesses.variable[row]:
        return
    into = int(accesses.place_offset[accesses.place[row]])
    for one in symbols.called(accesses.variables[int(accesses.variable[row])]):
        distance = line.address + access.offset - one.address - into
        if distance % _PAGE == 0:
            yield distance


@dataclass(frozen=True, slots=True)
class PlacedObject:
    """One object of an area; ``start`` is its first address."""

    area: ObjectArea
    start: int

    @property
    def end(self) -> int:
        """First address behind the object."""
        return self.start + self.area.size


class ObjectMap:
    """Finds objects by address; areas must not overlap (of those that do, the one that begins last wins)."""

    def __init__(self, areas: Iterable[ObjectArea]) -> None:
        self._areas = sorted(areas, key=lambda area: area.address)
        self._starts = [area.address for area in self._areas]

    def meets(self, line: CacheLine) -> bool:
        """Whether an area reaches onto the line."""
        index = bisect_left(self._starts, (line.address or 0) + line.bytes) - 1
        return index >= 0 and self._areas[index].end > (line.address or 0)

    def element_at(self, address: int) -> PlacedObject | None:
        """The same, named as an element where a variable is an array: ``per_thread[3]``."""
        place = self.at(address)
        if place is None or place.area.count == 1 or place.area.kind not in (ObjectKind.GLOBAL, ObjectKind.PER_CPU):
            return place
        number = (place.start - place.area.address) // place.area.stride
        return PlacedObject(replace(place.area, name=f"{place.area.name}[{number}]"), place.start)

    def at(self, address: int) -> PlacedObject | None:
        """The object that holds the byte at ``address``; ``None`` between objects and where nothing is known."""
        index = bisect_right(self._starts, address) - 1
        if index < 0:
            return None
        area = self._areas[index]
        start = area.address + min((address - area.address) // max(area.stride, 1), area.count - 1) * area.stride
        return PlacedObject(area, start) if start <= address < start + area.size else None
