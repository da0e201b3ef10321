# SPDX-License-Identifier: GPL-2.0-or-later
"""What code really touches, by function and by instruction: the access map as attribution asks it.

A spot is a record (a layout id) with an offset in bytes; elements of an array share the spot of the first. The record
is the outermost that the code is known to work on: who reads a lock of an ``inode`` speaks for an ``inode``.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linesmith.analyzer.access.access_map import OUTCOMES, AccessMap, NameTable
from linesmith.analyzer.access.questions import NO_ROW, resolve
from linesmith.analyzer.base.elf import read_symbols
from linesmith.analyzer.base.text import cxx_name, plain_name
from linesmith.analyzer.layouts.containment import Containment
from linesmith.analyzer.model import CACHE_LINE_BYTES, Access, AccessCounts, AccessOutcome, ElfIdentity, Leaf, Profile

Spot = tuple[int, int]

# A report may be of another build: of what a function of Linux 6.12 touches, 0.889 is what it touched in 6.1.
BY_FUNCTION = 0.88
# An instruction of the same build: only the map itself can be wrong. docs/access.md tells how often.
BY_INSTRUCTION = 0.98

_RESOLVED = np.array([outcome.resolved for outcome in OUTCOMES])
_COUNTS = np.array([outcome.counts for outcome in OUTCOMES])
_OWN = OUTCOMES.index(AccessOutcome.PER_CPU)
_NOTHING = AccessCounts()


@dataclass(frozen=True, slots=True)
class SampledKinds:
    """Which kinds of access were sampled: a load must be one that reads, a store one that writes."""

    loaded: bool
    stored: bool

    def suits(self, counts: AccessCounts) -> bool:
        """Whether accesses of these kinds can be what was sampled."""
        return bool(counts.total and (counts.reading or not self.loaded) and (counts.writing or not self.stored))

    def of(self, counts: AccessCounts) -> int:
        """How many of them can be."""
        return counts.writing if self.stored else counts.reading if self.loaded else counts.total


_Met = list[tuple[Leaf, int]]


@dataclass(frozen=True, slots=True)
class CodeTouches:
    """Accesses by spot, and what they are of all.

    ``spots`` are of the outermost record known; ``inside`` are the same accesses seen from the records within it
    that fill a line or more, each an object in its own right. ``resolved`` and ``counted`` are those with a known
    record, and all that are neither to the stack nor in patched text. ``trust`` is the share of the resolved ones
    that is taken to be right, 0 to 1. ``places`` are what is touched, in the words of C, most often first.
    ``elements`` are spots of array elements other than the first, where the code names one. ``width`` is how many bytes
    an instruction touches at once, 0 where that is not known. ``records`` are those of all spots, ``asked`` is what
    ``touching_leaves`` found so far.
    """

    spots: Mapping[Spot, AccessCounts]
    inside: Mapping[Spot, AccessCounts]
    resolved: AccessCounts = _NOTHING
    counted: AccessCounts = _NOTHING
    trust: float = BY_FUNCTION
    places: tuple[str, ...] = ()
    elements: frozenset[Spot] = frozenset()
    width: int = 0
    records: frozenset[int] = field(init=False, compare=False, repr=False)
    asked: dict[tuple[bool, bool, int, int], _Met] = field(default_factory=dict, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "records", frozenset(record for record, _ in (*self.spots, *self.inside)))


UNTOUCHED = CodeTouches({}, {})


def share_known(touches: CodeTouches, sampled: SampledKinds) -> float:
    """Share of the accesses that were sampled, 0 to 1, whose spot is known and can be trusted."""
    counted = sampled.of(touches.counted)
    return touches.trust * sampled.of(touches.resolved) / counted if counted else 0.0


def touching_leaves(
    touches: CodeTouches, sampled: SampledKinds, layout: int, offset: int, containment: Containment
) -> _Met:
    """The leaves at ``offset`` of a layout that the code touches, with the number of the record it knows them by.

    Records are counted along ``Leaf.entered``; where the code knows the layout as part of an outer one, it is -1.
    """
    if touches.records.isdisjoint(containment.records_at(layout, offset)):
        return []
    leaves = containment.leaves(layout, offset)
    question = sampled.loaded, sampled.stored, layout, offset
    found = touches.asked.get(question)
    if found is None:
        found = [
            (leaf, number)
            for leaf in leaves
            for number, one in enumerate(leaf.entered)
            if _touched(touches.spots, sampled, one.record, offset - one.offset, containment)
        ]
        if not found and _touched(touches.inside, sampled, layout, offset, containment):
            found = [(leaves[0], -1)]
        touches.asked[question] = found
    return found


def _touched(
    spots: Mapping[Spot, AccessCounts], sampled: SampledKinds, record: int, offset: int, containment: Containment
) -> bool:
    """Whether one of the spots is this place of the record, or of one that names the same memory."""
    return sampled.suits(spots.get(containment.folded(record, offset), _NOTHING)) or any(
        sampled.suits(spots.get(containment.folded(one, offset), _NOTHING)) for one in containment.overlays(record)
    )


@dataclass(frozen=True, slots=True)
class _CxxFunctions:
    """The functions of C++ in an access map: numbers by symbol, and symbols by the name that people write."""

    numbers: Mapping[str, Sequence[int]]
    symbols: Mapping[str, Collection[str]]

    @classmethod
    def of(cls, accesses: AccessMap, identity: ElfIdentity) -> _CxxFunctions:
        """Those that the symbols of the file name; a part or a clone is its function's."""
        symbols = read_symbols(identity)
        numbers, known = defaultdict[str, list[int]](list), defaultdict[str, set[str]](set)
        for number, low in enumerate(accesses.function_low.tolist()):
            symbol = symbols.function_at(low)
            if symbol is not None and symbol.name.startswith("_Z"):
                own = symbol.name.partition(".")[0]
                numbers[own].append(number)
                known[cxx_name(own)].add(own)
        return cls(numbers, known)

    def symbol(self, name: str, whole: bool) -> str:
        """Of the only function that ``name`` may be, empty if there is none, or several.

        A name that was cut behind its parameters may be that of code within the function.
        """
        if name in self.numbers:
            return name
        plain = plain_name(name)
        begins = plain + "::" * ("(" in name)
        cut = () if whole else (self.symbols[one] for one in self.symbols if one.startswith(begins))
        found = set(self.symbols.get(plain, ())).union(*cut)
        return found.pop() if len(found) == 1 else ""


def with_written_names(
    profile: Profile, accesses: AccessMap, identity: ElfIdentity
) -> tuple[Profile, AccessMap, Mapping[str, str]]:
    """The map with functions of C++ called as the profile writes them, and their symbols by these names.

    What the profile calls by several names has the shortest whole one in both.
    """
    rows = (row for line in profile.lines for row in line.accesses if not row.kernel)
    written = {(not row.symbol_cut, row.function) for row in rows if row.function}
    if not any(not whole or name.startswith("_Z") or {*":("} & {*name} for whole, name in written):
        return profile, accesses, {}
    functions, names = _CxxFunctions.of(accesses, identity), list(accesses.functions)
    called: dict[str, str] = {}
    again: dict[tuple[bool, str], str] = {}
    for whole, name in sorted(written, key=lambda one: (not one[0], len(one[1]), one)):
        symbol = functions.symbol(name, whole)
        if symbol in called:
            again[whole, name] = called[symbol]
        elif symbol:
            called[symbol] = name
            for number in functions.numbers[symbol]:
                names[number] = name
    renamed = replace(accesses, functions=NameTable.of(names))
    return _called_alike(profile, again), renamed, {name: symbol for symbol, name in called.items()}


def _called_alike(profile: Profile, names: Mapping[tuple[bool, str], str]) -> Profile:
    """The profile with one name for each function: ``names`` has it by whether a name is whole, and the name."""
    if not names:
        return profile

    def named(access: Access) -> Access:
        name = names.get((not access.symbol_cut, access.function or "")) if not access.kernel else None
        return replace(access, function=name, symbol_cut=False) if name else access

    return replace(
        profile, lines=tuple(replace(one, accesses=tuple(map(named, one.accesses))) for one in profile.lines)
    )


def by_function(
    names: Collection[str], prefixes: Iterable[str], accesses: AccessMap, containment: Containment
) -> dict[str, CodeTouches]:
    """What the functions of that name (or with a name that begins with a prefix) touch, clones taken together."""
    cut = tuple(prefixes)
    wanted = frozenset(names)
    numbers: dict[str, list[int]] = {}
    for number, name in enumerate(accesses.functions):
        base = name if name in wanted else name.partition(".")[0] or name
        if base in wanted or (cut and base.startswith(cut)):
            numbers.setdefault(base, []).append(number)
    outermost = _outermost(accesses, containment)
    found = {}
    for name, group in numbers.items():
        rows = np.concatenate([accesses.rows_of_function(number) for number in group]).astype(np.int64)
        # What a CPU or thread reaches as its own mostly meets no line that CPUs share.
        found[name] = _touches(rows[accesses.outcome[rows] != _OWN], BY_FUNCTION, outermost)
    return found


def by_instruction(addresses: Iterable[int], accesses: AccessMap, containment: Containment) -> dict[int, CodeTouches]:
    """What the instructions at these addresses of the file touch; those of which that is not known are left out."""
    asked = np.array(sorted(set(addresses)), np.uint64)
    rows = resolve(asked, accesses)
    outermost = _outermost(accesses, containment)
    found = {}
    for address, row in zip(asked.tolist(), rows.tolist(), strict=True):
        if row != NO_ROW:
            end = int(np.searchsorted(accesses.address, np.uint64(address), side="right"))
            touched = _touches(np.arange(row, end), BY_INSTRUCTION, outermost)
            found[address] = replace(touched, width=int(accesses.width[row:end].max()))
    return {address: touches for address, touches in found.items() if touches.spots}


def together(many: Iterable[CodeTouches]) -> CodeTouches:
    """What several pieces of code touch."""
    distinct = list({id(one): one for one in many}.values())
    if len(distinct) < 2:
        return distinct[0] if distinct else UNTOUCHED
    spots: dict[Spot, AccessCounts] = {}
    inside: dict[Spot, AccessCounts] = {}
    for one in distinct:
        for known, more in ((spots, one.spots), (inside, one.inside)):
            for spot, counts in more.items():
                known[spot] = _sum(known.get(spot, _NOTHING), counts)
    resolved, counted = _NOTHING, _NOTHING
    for one in distinct:
        resolved, counted = _sum(resolved, one.resolved), _sum(counted, one.counted)
    places = tuple(dict.fromkeys(place for one in distinct for place in one.places))
    elements = frozenset(spot for one in distinct for spot in one.elements)
    return CodeTouches(spots, inside, resolved, counted, min(one.trust for one in distinct), places, elements)


class _Touch(NamedTuple):
    """What an access to a place touches: the ``spot`` in the outermost record, and what else it means.

    ``element`` is the same with elements of arrays distinguished, ``inside`` the same bytes as spots of the larger
    records in which they lie, ``words`` name it.
    """

    spot: Spot
    element: Spot
    inside: frozenset[Spot]
    words: str


@lru_cache(maxsize=1)
def _outermost(accesses: AccessMap, containment: Containment) -> _Outermost:
    return _Outermost(accesses, containment)


class _Outermost:
    """What each place of a map is of the outermost record; functions share places, so each is looked up once."""

    def __init__(self, accesses: AccessMap, containment: Containment) -> None:
        self.accesses = accesses
        self.containment = containment
        self._known: dict[int, _Touch | None] = {}
        whole = (accesses.entry_path == 0) & (accesses.entry_offset == accesses.place_offset[accesses.entry_place])
        self._places = accesses.entry_place[whole]
        self._layouts = accesses.entry_layout[whole]
        order = np.argsort(self._places, kind="stable")
        self._places, self._layouts = self._places[order], self._layouts[order]

    def touch(self, place: int) -> _Touch | None:
        """What an access to the place touches; ``None`` of one in no record."""
        if place not in self._known:
            self._known[place] = self._touch(place)
        return self._known[place]

    def _touch(self, place: int) -> _Touch | None:
        first, last = self._places.searchsorted(np.array((place, place + 1), self._places.dtype)).tolist()
        records = [self.containment.layouts.by_id(one) for one in self._layouts[first:last].tolist()]
        if not records:
            return None
        # A nameless first member begins where its record does, so that both look like the outermost one.
        outer = max(records, key=lambda record: (record.size, bool(record.name), -record.id))
        accesses, offset = self.accesses, int(self.accesses.place_offset[place])
        spot, path = self.containment.folded(outer.id, offset), accesses.place_path[place]
        member = f".{path}" if path else f"+{offset:#x}"
        words = accesses.types[int(accesses.place_type[place])] + member
        return _Touch(spot, (outer.id, offset), self._inside(*spot), words)

    def _inside(self, layout: int, offset: int) -> frozenset[Spot]:
        entered = {
            one for leaf in self.containment.leaves(layout, offset) for one in leaf.entered if one.offset or one.path
        }
        large = (one for one in entered if self.containment.layouts.by_id(one.record).size >= CACHE_LINE_BYTES)
        return frozenset(self.containment.folded(one.record, offset - one.offset) for one in large)


def _touches(rows: NDArray[np.int64], trust: float, outermost: _Outermost) -> CodeTouches:
    accesses = outermost.accesses
    outcomes = accesses.outcome[rows]
    counting = rows[_COUNTS[outcomes]]
    known = rows[_RESOLVED[outcomes] & (accesses.place[rows] != 0)]
    keys, counts = np.unique(accesses.place[known].astype(np.int64) * 4 + accesses.kind[known], return_counts=True)
    spots: dict[Spot, AccessCounts] = {}
    inside: dict[Spot, AccessCounts] = {}
    resolved = _NOTHING
    places: Counter[str] = Counter()
    elements: set[Spot] = set()
    for key, count in zip(keys.tolist(), counts.tolist(), strict=True):
        place, kind = divmod(key, 4)
        touch = outermost.touch(place)
        if touch is None:
            continue
        elements |= {touch.element} - {touch.spot}
        one = AccessCounts(*(count if number == kind else 0 for number in range(4)))
        resolved = _sum(resolved, one)
        spots[touch.spot] = _sum(spots.get(touch.spot, _NOTHING), one)
        for within in touch.inside:
            inside[within] = _sum(inside.get(within, _NOTHING), one)
        places[touch.words] += count
    most = tuple(sorted(places, key=lambda words: (-places[words], words)))
    counted = accesses.counts(counting.astype(np.uint32))
    return CodeTouches(spots, inside, resolved, counted, trust, most, frozenset(elements))


def _sum(one: AccessCounts, other: AccessCounts) -> AccessCounts:
    reads, writes = one.reads + other.reads, one.writes + other.writes
    return AccessCounts(reads, writes, one.updates + other.updates, one.atomics + other.atomics)


def source_places(code_addresses: Iterable[int], accesses: AccessMap) -> dict[int, str]:
    """Where the instructions at these addresses were written, as ``mm/mmap.c:120``; those that the map knows."""
    wanted = np.unique(np.fromiter(code_addresses, np.uint64))
    rows = np.minimum(np.searchsorted(accesses.address, wanted), max(len(accesses.address) - 1, 0))
    if not len(accesses.address):
        return {}
    known = (accesses.address[rows] == wanted) & (accesses.line[rows] > 0)
    places = zip(accesses.file[rows[known]].tolist(), accesses.line[rows[known]].tolist(), strict=True)
    written = (f"{accesses.files[file]}:{line}" for file, line in places)
    return dict(zip(wanted[known].tolist(), written, strict=True))
