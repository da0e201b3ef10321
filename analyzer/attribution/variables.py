# SPDX-License-Identifier: GPL-2.0-or-later
"""Which objects lie at an address: variables by DWARF, else by symbols, those of a snapshot; and whose these are.

Where the variables of a thread or CPU begin, the instructions that touched one of them tell.

Emulated CPUs execute far fewer instructions between two ticks than real ones do, so that keeping time, RCU's grace
periods and spreading work make up far more of a recorded kernel. Which lines are theirs their objects tell, by address
and type, never a function.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from linesmith.analyzer.access.access_map import OUTCOMES, AccessMap
from linesmith.analyzer.access.questions import NO_ROW, resolve
from linesmith.analyzer.base.elf import ElfSymbol, ElfSymbols
from linesmith.analyzer.base.text import cxx_name
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.model import Access, AccessOutcome, CacheLine, Finding, ObjectArea, ObjectKind, Profile

# How far an address of the profile, in a process, is from that in the file; ``None`` where it is not in the file.
Shift = Callable[[int, int | None], int | None]
# The kernel gives every CPU's copy whole pages (mm/percpu.c).
_PAGE = 4096
# The longest line, in bytes; of so many threads the own variables are named, on so many lines each.
_LONGEST_LINE, _MOST_BLOCKS, _MOST_LINES = 256, 1024, 4096
_NESTED, _OF_FUNCTION = "_ZN", "_ZZ"
# Damaged profiles have objects that run over the end of memory.
TOP = (1 << 64) - (1 << 16)
# Where lines without an address are taken to lie: in the direct map (Documentation/arch/x86/x86_64/mm.rst), at a
# multiple of every slab's size.
SLABS_AT = 0xFFFF_8881_0400_0000


def variable_areas(
    profile: Profile, symbols: ElfSymbols, layouts: Layouts, accesses: AccessMap | None, shift: Shift, kernel: bool
) -> tuple[ObjectArea, ...]:
    """The variables on the profile's lines at their run-time addresses; ``shift`` is how far an address was moved.

    Those of a CPU or of a thread are known where its own instructions show where its copy begins.
    """
    plain = _StaticVariables(symbols, layouts, accesses, of_threads=False)
    copies = _copies(profile, symbols, accesses) if kernel and accesses is not None else {}
    begin, end = symbols.address_of("__per_cpu_start"), symbols.address_of("__per_cpu_end")
    section = range(begin or 0, end or 0)
    found: dict[int, ObjectArea] = {}
    for line in (one for one in profile.lines if one.address is not None):
        address = line.address or 0
        if (distance := shift(address, line.pid)) is not None:
            found |= {area.address: area for area in plain.on(line, distance)}
        for cpu, distance in copies.items():
            if address - distance in section:
                areas = (replace(area, kind=ObjectKind.PER_CPU, cpu=cpu) for area in plain.on(line, distance))
                found |= {area.address: area for area in areas}
    if not kernel and accesses is not None:
        found |= _of_threads(profile, _StaticVariables(symbols, layouts, accesses, of_threads=True), accesses)
    return tuple(found[address] for address in sorted(found))


def _of_threads(profile: Profile, own: _StaticVariables, accesses: AccessMap) -> dict[int, ObjectArea]:
    """The variables that threads have of their own, by address, in every block that is known."""
    lines = sorted((one for one in profile.lines if one.address is not None), key=lambda one: one.address or 0)
    addresses = [line.address or 0 for line in lines]
    found: dict[int, ObjectArea] = {}
    for distance in _blocks(profile, accesses):
        first = bisect_right(addresses, distance + own.span.start - _LONGEST_LINE)
        last = bisect_right(addresses, distance + own.span.stop - 1)
        for line in lines[first : min(last, first + _MOST_LINES)]:
            found |= {area.address: replace(area, detail="of a thread") for area in own.on(line, distance)}
    return found


class _StaticVariables:
    """Those of the file, or the own ones of its threads, by address."""

    def __init__(self, symbols: ElfSymbols, layouts: Layouts, accesses: AccessMap | None, of_threads: bool) -> None:
        self._symbols = None if of_threads else symbols
        self._layouts = layouts
        self._accesses = accesses
        self._rows: list[int] = []
        self._starts: list[int] = []
        if accesses is not None:
            # What a linker has thrown away is described at address 0.
            placed = (accesses.static_of_thread == of_threads) & ((accesses.static_address != 0) | of_threads)
            self._rows = np.flatnonzero(placed).tolist()
            self._starts = accesses.static_address[self._rows].tolist()

    @property
    def span(self) -> range:
        """From the first of them to the end of the last."""
        if self._accesses is None or not self._rows:
            return range(0)
        return range(self._starts[0], self._starts[-1] + int(self._accesses.static_bytes[self._rows[-1]]))

    def on(self, line: CacheLine, distance: int) -> Iterator[ObjectArea]:
        """The variables on a line that lies ``distance`` above its place in the file."""
        begin = (line.address or 0) - distance
        end = begin + line.bytes
        symbols = {one.address: one for one in self._symbols.variables(begin, end)} if self._symbols else {}
        first, last = max(bisect_right(self._starts, begin) - 1, 0), bisect_right(self._starts, end - 1)
        for row in self._rows[first:last]:
            area = self._accesses and _described(self._accesses, row, symbols, self._layouts)
            if area and area.size and begin < area.end:
                symbols.pop(area.address, None)
                yield replace(area, address=area.address + distance)
        for one in symbols.values():
            yield ObjectArea(ObjectKind.GLOBAL, cxx_name(one.name), one.address + distance, one.size, one.size)


def _described(accesses: AccessMap, row: int, symbols: Mapping[int, ElfSymbol], layouts: Layouts) -> ObjectArea:
    """A variable as DWARF has it, an array as a row of its elements; of no size where nothing says it."""
    address, layout = int(accesses.static_address[row]), int(accesses.static_layout[row])
    symbol = symbols.get(address)
    size = int(accesses.static_bytes[row]) or (symbol.size if symbol else 0)
    element = int(accesses.static_element[row]) or size
    if layout >= 0 and size == element and symbol:
        size = element = max(size, symbol.size)  # it may end with an array that DWARF gives no length
    if not element or size % element or not size:
        element = size
    name, title = accesses.statics[row], layouts.by_id(layout).name if layout >= 0 else ""
    # In its scopes as far as the symbol tells them.
    scoped = cxx_name(symbol.name if symbol and not symbol.name.startswith(_OF_FUNCTION) else name)
    name = scoped if scoped.rpartition("::")[2] == name or name.startswith(_NESTED) else name
    types, id_ = (title,) if title else (), layout if layout >= 0 else None
    count = size // element if element else 1
    return ObjectArea(ObjectKind.GLOBAL, name, address, element, element, count, types, layout=id_)


def _blocks(profile: Profile, accesses: AccessMap) -> list[int]:
    """How far the blocks of threads' own variables are above the offsets in them, by instructions that touched one.

    A variable whose name several threads' variables have tells nothing, nor does an array.
    """
    own: dict[str, int | None] = {}
    for row in np.flatnonzero(accesses.static_of_thread).tolist():
        plain = accesses.static_bytes[row] == accesses.static_element[row]
        name = accesses.statics[row]
        own[name] = int(accesses.static_address[row]) if plain and name not in own else None
    votes: Counter[int] = Counter()
    for line, access, row in _rows_met(profile, accesses, AccessOutcome.PER_CPU) if own else ():
        address = own.get(accesses.variables[int(accesses.variable[row])])
        if address is not None:
            into = int(accesses.place_offset[accesses.place[row]])
            votes[(line.address or 0) + (access.offset or 0) - address - into] += 1
    return [distance for distance, _ in votes.most_common(_MOST_BLOCKS)]


def _rows_met(profile: Profile, accesses: AccessMap, outcome: AccessOutcome) -> Iterator[tuple[CacheLine, Access, int]]:
    """The accesses of the profile that are rows of the map with such an outcome and a variable."""
    met = [
        (line, access, access.code_address)
        for line in profile.lines
        for access in line.accesses
        if line.address is not None and access.offset is not None and access.code_address is not None
    ]
    rows = resolve(np.array([code for *_, code in met], np.uint64), accesses)
    for (line, access, _), row in zip(met, rows.tolist(), strict=True):
        if row != NO_ROW and OUTCOMES[accesses.outcome[row]] is outcome and accesses.variable[row]:
            yield line, access, row


def _copies(profile: Profile, symbols: ElfSymbols, accesses: AccessMap) -> dict[int, int]:
    """How far each CPU's copy of the per-CPU section is from the section, as most of its own accesses tell."""
    votes: dict[int, Counter[int]] = {}
    for line, access, row in _rows_met(profile, accesses, AccessOutcome.PER_CPU):
        if len(access.by_cpu) == 1:
            into = int(accesses.place_offset[accesses.place[row]])
            for one in symbols.called(accesses.variables[int(accesses.variable[row])]):
                distance = (line.address or 0) + (access.offset or 0) - one.address - into
                if distance % _PAGE == 0:
                    samples = access.by_cpu[0]
                    votes.setdefault(samples.cpu, Counter())[distance] += samples.loads + samples.stores
    return {cpu: found.most_common(1)[0][0] for cpu, found in votes.items()}


class PlacedObject(NamedTuple):
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

    def whole(self, line: CacheLine) -> PlacedObject | None:
        """The object that has all bytes of the line."""
        place = self.at(line.address or 0)
        return place if place is not None and place.end >= (line.address or 0) + line.bytes else None

    def met_on(self, line: CacheLine) -> list[tuple[Access, PlacedObject]]:
        """The accesses of the line that met an object, each with it."""
        begin = line.address
        if begin is None or not self.meets(line):
            return []
        if (whole := self.whole(line)) is not None:
            return [(access, whole) for access in line.accesses if access.offset is not None]
        places = {offset: self.at(begin + offset) for one in line.accesses if (offset := one.offset) is not None}
        met = ((access, places.get(access.offset)) for access in line.accesses if access.offset is not None)
        return [(access, place) for access, place in met if place is not None]

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


# Records, and variables that are of no such record. Source: kernel/time, kernel/rcu and kernel/sched of Linux 5.10 to
# 6.12. ``task_group`` is none of them: CPUs meet on its load average on real machines as well.
_TIMEKEEPING, _RCU, _SCHEDULER = "timekeeping", "RCU", "the scheduler"
_OF_RECORD = {
    **dict.fromkeys(("clock_event_device", "clocksource", "sched_clock_data", "vdso_data"), _TIMEKEEPING),
    **dict.fromkeys(("hrtimer_clock_base", "hrtimer_cpu_base", "timer_base", "tmigr_cpu", "tmigr_group"), _TIMEKEEPING),
    **dict.fromkeys(("tick_device", "tick_sched", "timekeeper", "tk_fast"), _TIMEKEEPING),
    **dict.fromkeys(("context_tracking", "rcu_data", "rcu_node", "rcu_state"), _RCU),
    **dict.fromkeys(("cfs_rq", "dl_rq", "root_domain", "rq", "rt_rq"), _SCHEDULER),
    **dict.fromkeys(("sched_domain", "sched_domain_shared", "sched_group", "sched_group_capacity"), _SCHEDULER),
}
_OF_VARIABLE = {
    **dict.fromkeys(("calc_load_tasks", "calc_load_update", "hpet", "hpet_spinlock", "vdso_data_store"), _TIMEKEEPING),
    **dict.fromkeys(("jiffies", "jiffies_64", "jiffies_lock", "jiffies_seq", "last_jiffies_update"), _TIMEKEEPING),
    **dict.fromkeys(("tick_do_timer_cpu", "tick_next_period", "timekeeper_lock", "tk_core"), _TIMEKEEPING),
    "nohz": _SCHEDULER,
}
# A line is excluded when at least this share of its contended accesses met such objects.
_MOSTLY = 0.75


def owner_of(area: ObjectArea, profile: Profile) -> str:
    """``timekeeping``, ``RCU`` or ``the scheduler`` where the object is theirs in a recorded kernel, else ``""``."""
    owners = {owner_of_record(type_, profile) for type_ in area.types}
    if len(owners) == 1 and "" not in owners:
        return owners.pop()
    # A part of a variable is named after it, with its member.
    variable = area.name.partition(".")[0] if area.kind in (ObjectKind.GLOBAL, ObjectKind.PER_CPU) else ""
    return _OF_VARIABLE.get(variable, "") if _is_of_kernel(profile) else ""


def owner_of_record(type_: str, profile: Profile) -> str:
    """The same of an object of that type."""
    return _OF_RECORD.get(type_, "") if _is_of_kernel(profile) else ""


def _is_of_kernel(profile: Profile) -> bool:
    """Whether an emulated kernel was recorded."""
    return profile.recording is not None and profile.recording.ring != "user"


def lines_apart(profile: Profile) -> dict[int, str]:
    """By address the lines of which most contended accesses met such objects, each with the owner of most of them."""
    owners = {id(area): owner for area in profile.areas if (owner := owner_of(area, profile))}
    known = ObjectMap(area for area in profile.areas if id(area) in owners)
    apart: dict[int, str] = {}
    for line in profile.lines if owners else ():
        met: Counter[str] = Counter()
        for access, place in known.met_on(line):
            met[owners[id(place.area)]] += access.contended
        if line.address is not None and 0 < met.total() >= _MOSTLY * sum(one.contended for one in line.accesses):
            apart[line.address] = max(met, key=lambda owner: met[owner])
    return apart


def main_area(line: CacheLine, known: ObjectMap) -> ObjectArea | None:
    """The object that most contended accesses of a line met."""
    if line.address is not None and (whole := known.whole(line)) is not None:
        return whole.area if any(access.offset is not None for access in line.accesses) else None
    met, areas = Counter[int](), dict[int, ObjectArea]()
    for access, place in known.met_on(line):
        areas[id(place.area)] = place.area
        met[id(place.area)] += access.contended
    return areas[met.most_common(1)[0][0]] if met else None


def apart_sentence(owner: str) -> str:
    """What is to be known of a finding about such an object."""
    return f"an object of {owner}: emulation makes it hotter than hardware does"


def outside(areas: Iterable[ObjectArea], findings: Iterable[Finding]) -> list[Finding]:
    """The findings whose object begins in no object of the ``areas``."""
    known = ObjectMap(areas)
    return [one for one in findings if known.at(address_of(one)) is None]


def address_of(finding: Finding) -> int:
    """Where the first object of a finding begins."""
    return (finding.address or SLABS_AT) + finding.objects[0].start


def separate(findings: Sequence[Finding], layouts: Layouts) -> Iterator[ObjectArea]:
    """An area for the first object of each, or for the variable that it is an element of; none overlaps another."""
    end = 0
    for finding in sorted(findings, key=address_of):
        found = finding.objects[0]
        area = heap_area(found.layout or 0, address_of(finding), layouts)
        if (row := found.row) is not None and row.stride >= area.size:
            area = ObjectArea(ObjectKind.GLOBAL, row.name, row.address, area.size, row.stride, row.count, area.types)
        if end <= area.address and area.end < TOP:
            end = area.end
            yield area


def heap_area(layout: int, address: int, layouts: Layouts, detail: str = "") -> ObjectArea:
    """The area of one object of a record on the heap."""
    one = layouts.by_id(layout)
    return ObjectArea(ObjectKind.HEAP, "", address, one.size, one.size, 1, (one.name,), detail=detail, layout=layout)
