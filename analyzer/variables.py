# SPDX-License-Identifier: GPL-2.0-or-later
"""Which variables lie on the lines of a sampled profile: names by symbols, types by the code that touches them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache

import numpy as np

from linesmith.analyzer.access import NO_ROW, AccessMap, resolve
from linesmith.analyzer.access.access_map import OUTCOMES
from linesmith.analyzer.elf_symbols import ElfSymbols, Symbol
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Access, AccessOutcome, ObjectArea, ObjectKind, Profile, SharedLine

Shift = Callable[[int, int | None], int | None]
# The kernel gives every CPU's copy whole pages (mm/percpu.c).
_PAGE = 4096


def variable_areas(
    profile: Profile, symbols: ElfSymbols, layouts: Layouts, accesses: AccessMap | None, shift: Shift, kernel: bool
) -> tuple[ObjectArea, ...]:
    """The variables on the profile's lines at their run-time addresses; ``shift`` is how far an address was moved.

    Of a kernel those of a CPU are known where its own instructions show where its copy begins.
    """
    typed = _Types(symbols, layouts, accesses)
    found: dict[int, ObjectArea] = {}
    for line in profile.lines:
        if line.address is not None and (distance := shift(line.address, line.pid)) is not None:
            found |= {area.address: area for area in typed.on(line, distance)}
    if kernel and accesses is not None:
        copies = _copies(profile, symbols, accesses)
        begin, end = symbols.address_of("__per_cpu_start"), symbols.address_of("__per_cpu_end")
        section = range(begin or 0, end or 0)
        for line in profile.lines:
            found |= {area.address: area for area in _of_cpu(line, section, copies, typed)}
    return tuple(found[address] for address in sorted(found))


class _Types:
    """Areas of variables, with the record that the code takes each for."""

    def __init__(self, symbols: ElfSymbols, layouts: Layouts, accesses: AccessMap | None) -> None:
        self._symbols = symbols
        self._layouts = layouts
        self._accesses = accesses
        self._record_of = cache(self._record)

    def on(self, line: SharedLine, distance: int) -> Iterator[ObjectArea]:
        """The variables on a line that lies ``distance`` above its place in the file."""
        begin = (line.address or 0) - distance
        for one in self._symbols.variables(begin, begin + line.bytes):
            yield self.area(one, distance)

    def area(self, symbol: Symbol, distance: int) -> ObjectArea:
        """One variable; an array of records is a row of them."""
        name, size = self._record_of(symbol)
        return ObjectArea(
            ObjectKind.GLOBAL,
            symbol.name,
            symbol.address + distance,
            size,
            size,
            symbol.size // size,
            (name,) if name else (),
        )

    def _record(self, symbol: Symbol) -> tuple[str, int]:
        """Name and size of the record that most code takes the variable, or its elements, for."""
        if self._accesses is None or len({one.size for one in self._symbols.called(symbol.name)}) != 1:
            return "", symbol.size
        for name, _ in _types_of(symbol.name, self._accesses).most_common():
            sizes = [one.size for one in self._layouts.variants(name)]
            if fitting := [size for size in sizes if size and symbol.size % size == 0]:
                return name, max(fitting)
        return "", symbol.size


def _types_of(name: str, accesses: AccessMap) -> Counter[str]:
    """How many accesses to the variable take it for which record, without the word ``struct``."""
    numbers = accesses.variables.called(name)
    if not numbers:
        return Counter()
    rows = np.flatnonzero(np.isin(accesses.variable, numbers) & (accesses.place != 0))
    places, counts = np.unique(accesses.place[rows], return_counts=True)
    found: Counter[str] = Counter()
    for place, count in zip(places.tolist(), counts.tolist(), strict=True):
        spelling = accesses.types[int(accesses.place_type[place])]
        if accesses.place_offset[place] >= 0 and not spelling.endswith("*"):
            found[spelling.split()[-1]] += count
    return found


def _copies(profile: Profile, symbols: ElfSymbols, accesses: AccessMap) -> dict[int, int]:
    """How far each CPU's copy of the per-CPU section is from the section, as most of its own accesses tell."""
    votes: dict[int, Counter[int]] = {}
    for line in profile.lines:
        for access in line.accesses:
            for distance in _distances(line, access, symbols, accesses):
                for one in access.by_cpu:
                    votes.setdefault(one.cpu, Counter())[distance] += one.loads + one.stores
    return {cpu: found.most_common(1)[0][0] for cpu, found in votes.items()}


def _distances(line: SharedLine, access: Access, symbols: ElfSymbols, accesses: AccessMap) -> Iterator[int]:
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


def _of_cpu(line: SharedLine, section: range, copies: Mapping[int, int], typed: _Types) -> Iterator[ObjectArea]:
    """The per-CPU variables on a line of some CPU's copy of the section."""
    for cpu, distance in copies.items():
        if line.address is not None and line.address - distance in section:
            for area in typed.on(line, distance):
                yield replace(area, kind=ObjectKind.PER_CPU, cpu=cpu)
