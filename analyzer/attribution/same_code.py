# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether the code addresses of a pasted report are those of the ELF file, moved as a whole: then it is of that build.

A report names no build. But where every row's address lies in the function that the row names, and on an instruction
that touches memory, all by one and the same distance, no other build is meant: the distance is that of KASLR, or of
where a program was loaded.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Set
from dataclasses import dataclass, replace

import numpy as np

from linesmith.analyzer.access.access_map import AccessMap
from linesmith.analyzer.access.questions import NO_ROW, resolve
from linesmith.analyzer.base.elf import ElfSymbols, read_symbols
from linesmith.analyzer.model import Access, ElfIdentity, Profile, Remark

# Kernels and programs are moved by whole pages.
PAGE = 4096
# So many places in the code, in so many functions, must agree; less may be chance.
PLACES = 6
FUNCTIONS = 3
# Fewer are enough if what they touch lies in the variables that their code names: places of code that do so.
_FEWEST = 2
# Share of the rows that must lie in their function, and of those on an instruction that touches memory: what a sample
# names is now and then the instruction behind (docs/access.md).
INSIDE = 0.95
TOUCHING = 0.8

_INTO = re.compile(r"(?P<name>[\w.$]+)\+(?P<bytes>0x[0-9a-fA-F]+|\d+)")

_ANOTHER_BUILD = "the code addresses are not those of the ELF file; functions are matched by name"


@dataclass(frozen=True, slots=True)
class _CodeRow:
    """A place in the code as the report tells it; ``spans`` are those of the functions with its name.

    ``into`` is how many bytes into its function the source column (``name+12``) says that it is.
    """

    function: str
    address: int
    spans: tuple[tuple[int, int], ...]
    into: int | None

    def fits(self, distance: int) -> bool:
        """Whether the address, moved back by ``distance``, lies in the function, and where the report says."""
        place = self.address - distance
        return any(low <= place < high and self.into in (None, place - low) for low, high in self.spans)

    def distances(self) -> Iterator[int]:
        """The whole pages by which the function may have been moved."""
        for low, high in self.spans:
            if self.into is not None:
                yield from () if (self.address - self.into - low) % PAGE else (self.address - self.into - low,)
                continue
            last = (self.address - low) // PAGE
            first = -((high - 1 - self.address) // PAGE)
            yield from (page * PAGE for page in range(first, last + 1))


def with_linked_code(
    profile: Profile, accesses: AccessMap, kernel: bool, identity: ElfIdentity | None = None
) -> tuple[Profile, int | None]:
    """The profile with code addresses as in the ELF file, and by how many bytes they were moved, if they are of it.

    ``None`` tells that they were not found to be of its build. Addresses that do not fit are left out. A remark says
    which it was; there is none for a report with too few of them to tell. Of a program's few, the symbols of
    ``identity`` may tell: variables were moved by the same distance.
    """
    rows = _rows(profile, accesses, kernel)
    if not _enough(rows):
        distance = None if kernel or identity is None else _by_variables(profile, rows, accesses, identity)
        if distance is None:
            return profile, None
    elif (distance := _distance(rows, accesses)) is None:
        return replace(profile, remarks=(*profile.remarks, Remark(_ANOTHER_BUILD))), None
    fitting = {row.address for row in rows if row.fits(distance)}
    words = (
        f"{len(fitting)} of {len(rows)} code addresses are those of the ELF file, moved by {distance:#x}: "
        "what each instruction touches is known"
    )
    return _linked(profile, fitting, distance, words), distance


def is_of_another_build(profile: Profile) -> bool:
    """Whether ``with_linked_code`` found that the report was taken on another build than the ELF file is of."""
    return any(remark.text == _ANOTHER_BUILD for remark in profile.remarks)


def _linked(profile: Profile, places: Set[int], distance: int, words: str) -> Profile:
    """The profile with a remark, and with the code addresses among ``places`` as in the file, the others left out."""

    def linked(access: Access) -> Access:
        address = access.code_address
        if address is None or address not in places:
            return replace(access, code_address=None)
        return replace(access, code_address=address - distance)

    lines = tuple(replace(line, accesses=tuple(map(linked, line.accesses))) for line in profile.lines)
    return replace(profile, lines=lines, remarks=(*profile.remarks, Remark(words)))


def _rows(profile: Profile, accesses: AccessMap, kernel: bool) -> list[_CodeRow]:
    """The distinct places in the code whose function the ELF file has."""
    told = [access for line in profile.lines for access in line.accesses if access.kernel in (kernel, None)]
    distinct = {(one.function, one.code_address): one for one in told if one.function and not one.symbol_cut}
    found = []
    for (function, address), access in distinct.items():
        numbers = accesses.functions.called(function) if function and address is not None else ()
        spans = tuple((int(accesses.function_low[one]), int(accesses.function_high[one])) for one in numbers)
        if spans and function and address is not None:
            match = _INTO.fullmatch(access.source or "")
            into = int(match["bytes"], 0) if match and match["name"] == function else None
            found.append(_CodeRow(function, address, spans, into))
    return found


def _distance(rows: list[_CodeRow], accesses: AccessMap) -> int | None:
    """The distance that most rows agree on, if they are enough."""
    votes = Counter(distance for row in rows for distance in set(row.distances()))
    if not votes:
        return None
    best = max(votes, key=lambda distance: (votes[distance], -abs(distance)))
    fitting = [row for row in rows if row.fits(best)]
    linked = np.array([row.address - best for row in fitting], np.uint64)
    touching = int((resolve(linked, accesses) != NO_ROW).sum())
    right = len(fitting) >= INSIDE * len(rows) and touching >= TOUCHING * len(fitting)
    return best if right and _enough(fitting) else None


def _by_variables(profile: Profile, rows: list[_CodeRow], accesses: AccessMap, identity: ElfIdentity) -> int | None:
    """The distance by which all code lies in its functions, and what it touches in the variables that it names."""
    possible = set.intersection(*(set(row.distances()) for row in rows)) if len(rows) >= _FEWEST else set[int]()
    symbols = read_symbols(identity) if possible else None
    for distance in sorted(possible, key=abs):
        met = set(_variables_met(profile, distance, accesses, symbols)) if symbols else set()
        inside = sum(within for _, _, within in met)
        if inside >= PLACES and inside >= INSIDE * len(met) and len({code for code, _, _ in met}) >= _FEWEST:
            return distance
    return None


def _variables_met(
    profile: Profile, distance: int, accesses: AccessMap, symbols: ElfSymbols
) -> Iterator[tuple[int, int, bool]]:
    """Addresses of code that touches a variable by its name, and of data; whether that is in the variable."""
    for line in profile.lines:
        for access in line.accesses:
            if access.code_address is None or access.offset is None or line.address is None:
                continue
            row = int(resolve(np.array([access.code_address - distance], np.uint64), accesses)[0])
            if row == NO_ROW or not accesses.variable[row]:
                continue
            data = line.address + access.offset - distance
            named = symbols.objects(accesses.variables[int(accesses.variable[row])])
            if named:
                yield access.code_address, data, any(one.address <= data < one.address + one.size for one in named)


def _enough(rows: list[_CodeRow]) -> bool:
    return len(rows) >= PLACES and len({row.function for row in rows}) >= FUNCTIONS
