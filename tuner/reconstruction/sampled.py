# SPDX-License-Identifier: GPL-2.0-or-later
"""What a profile says that functions did to the objects of one record: ``SampledTouch``, one for each place.

What they do besides, by their code, where no sample can show it, comes behind.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from heapq import nlargest
from itertools import permutations
from typing import NamedTuple

from linesmith.analyzer.access.access_map import AccessMap
from linesmith.analyzer.access.questions import accesses_of
from linesmith.analyzer.attribution.found_objects import TOP
from linesmith.analyzer.attribution.lock import takes_lock, waits_for_lock
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.leaves import leaf_at
from linesmith.analyzer.model import (
    CACHE_LINE_BYTES,
    Access,
    CacheLine,
    Finding,
    FunctionCounts,
    Layout,
    Profile,
    TypeAccesses,
)
from linesmith.analyzer.sharing.parts import origin
from linesmith.tuner.replay.scene import TraceScene, addresses, holds

WORD_BYTES = 8
# Functions of a call path that may hold the lock under which the innermost is called.
CALLERS = 2
# CPUs that a function runs on where the profile does not say.
USUAL_CPUS = 8
MOST_CPUS = 64
# Touches of one record that are followed, and of functions that were not seen on it; more are noise, and cost time.
MOST_TOUCHES = 120
MOST_ELSEWHERE = 60
# In place of a lock: one of the object may be held, or none.
PERHAPS = -1


class TouchKind(IntEnum):
    """What an access does, by the number that the replayer has for it; ``ATOMIC`` loads and stores."""

    LOAD = 0
    STORE = 1
    ATOMIC = 2


@dataclass(frozen=True, slots=True)
class SampledTouch:
    """What ``function`` did to ``width`` bytes at ``address``, in the object that begins at ``base``.

    ``loads`` are those of a line that another CPU had modified, ``stores`` are ``None`` where the profile does not say;
    both are samples. Of a recording they count once in each stay of the line in a cache. ``missed`` is the share of the
    stores (of a recording, of all) that had to fetch the line, ``None`` where that is not known. What only the code
    tells is not ``sampled``; ``ways`` are then the instructions that do it, and ``quiet`` tells that it is on a line
    which the profile does not have. ``shared`` is the share of the counted ones of a recording whose own bytes others
    had stored to, ``callers`` are who called the function. ``lock`` is the address of the lock that is held meanwhile,
    or that has this ``word``; 0: none, or ``PERHAPS``. Where nothing shows of it on a quiet
    line it is made ``scale`` times as often as the touch with the number ``like``, which is of another object. Of a
    function that was seen ``elsewhere`` only, it is made at most ``scale`` times as often as any touch of the object.
    """

    base: int
    address: int
    width: int
    function: str
    kind: TouchKind
    loads: float = 0.0
    stores: float | None = 0.0
    missed: float | None = None
    cpus: int | None = None
    nodes: frozenset[int] = frozenset()
    code: int = 0
    sampled: bool = True
    quiet: bool = False
    ways: int = 1
    shared: float | None = None
    callers: frozenset[str] = frozenset()
    lock: int = 0
    word: bool = False
    like: int = -1
    scale: float = 1.0
    elsewhere: bool = False

    @property
    def weight(self) -> float:
        """All of its samples."""
        return self.loads + (self.stores or 0.0)

    @property
    def checked(self) -> float:
        """Those of them of which it is known whether they missed."""
        return 0.0 if self.missed is None else self.stores or self.loads


@dataclass(frozen=True, slots=True)
class SampledTouches:
    """All touches of a record, the sampled ones first, with the node of each CPU and the layouts of objects by base.

    ``exact`` tells a recording, whose counts are those of all accesses. ``missing`` is the share that missed of all
    touches of which ``missed`` is known; ``None``: of none it is.
    """

    touches: tuple[SampledTouch, ...]
    nodes: tuple[int, ...]
    outers: Mapping[int, Layout]
    exact: bool = False
    missing: float | None = None


class _Placed(NamedTuple):
    """A line in the memory of the scene: where it begins there; where its object begins, or the first of an area.

    ``outer`` is the object's layout. ``writing`` are functions that must write at an offset of the line though no store
    of them was sampled. Objects of an area are ``stride`` bytes apart.
    """

    line: CacheLine
    address: int
    first: int
    outer: Layout | None
    writing: frozenset[tuple[int, str]]
    stride: int = 0

    def base(self, address: int) -> int:
        """Where the object at ``address`` begins."""
        return self.first + max(address - self.first, 0) // self.stride * self.stride if self.stride else self.first


def evidence(
    findings: Sequence[Finding], profile: Profile, layouts: Layouts, code: AccessMap | None, here: TraceScene
) -> SampledTouches:
    """What ``profile`` says of the objects in the scene; ``findings`` are of lines whose first object is one."""
    placed = tuple(_placed(findings, profile, layouts, here))
    known = {one.outer.id: accesses_of(one.outer, layouts, code) for one in placed if one.outer and code is not None}
    seen: dict[tuple[int, str, TouchKind], SampledTouch] = {}
    outers: dict[int, Layout] = {}
    for one in placed:
        own = known.get(one.outer.id) if one.outer else None
        for touch in _recorded(one) if profile.recording is not None else _on_line(one, own, layouts):
            if not 0 <= touch.address < TOP:
                continue
            if one.outer is not None:
                outers[touch.base] = one.outer
            key = touch.address, touch.function, touch.kind
            seen[key] = _sum(seen[key], touch) if key in seen else touch
    exact = profile.recording is not None
    sampled, moved = _followed(seen.values())
    shown = {one.address // CACHE_LINE_BYTES for one in placed}
    shown.update((one.address + moved.get(one.base, 0)) // CACHE_LINE_BYTES for one in seen.values())
    kept = {one.base: outers[one.base] for one in sampled if one.base in outers}
    ran = _ran(profile)
    inside = {
        outer.id: [(start, accesses_of(one, layouts, code)) for start, one in _around(outer, here.record.id, layouts)]
        for outer in {outer.id: outer for outer in kept.values()}.values()
        if code is not None
    }
    by_code = {
        (touch.address, touch.function, touch.kind): touch
        for base, outer in kept.items()
        for start, about in inside.get(outer.id, ())
        for touch in _by_code(base, start, about, sampled, shown, exact, ran)
    }
    unsure = [one for one in by_code.values() if one.elsewhere]
    sure = [one for one in by_code.values() if not one.elsewhere]
    sure += nlargest(MOST_ELSEWHERE, unsure, key=lambda one: one.scale)
    return SampledTouches(
        (*sampled, *sure, *_alike(sampled, kept, shown)),
        _nodes(profile, sampled),
        kept,
        exact,
        _mean((one.missed, one.checked) for one in sampled),
    )


def _followed(seen: Collection[SampledTouch]) -> tuple[list[SampledTouch], dict[int, int]]:
    """The touches that are followed, those sampled most first, and by how far those of each object are moved.

    Of too many those of all objects in one phase are taken as of one, the hottest, as those of samples are. Of an
    object all are followed, or none: without the others of its operation a touch would have another effect.
    """
    weights: Counter[int] = Counter()
    for one in seen:
        weights[one.base] += round(one.weight)
    moved: dict[int, int] = {}
    if len(seen) > MOST_TOUCHES:
        first: dict[int, int] = {}
        for base, _ in weights.most_common():
            moved[base] = first.setdefault(base % CACHE_LINE_BYTES, base) - base
    merged: dict[tuple[int, str, TouchKind], SampledTouch] = {}
    for one in seen:
        by = moved.get(one.base, 0)
        here = replace(one, base=one.base + by, address=one.address + by)
        key = here.address, here.function, here.kind
        merged[key] = _sum(merged[key], here) if key in merged else here
    objects: dict[int, list[SampledTouch]] = defaultdict(list)
    for one in sorted(merged.values(), key=lambda one: -one.weight):
        objects[one.base].append(one)
    followed: list[SampledTouch] = []
    for touches in sorted(objects.values(), key=lambda ones: -sum(one.weight for one in ones)):
        if followed and len(followed) + len(touches) > MOST_TOUCHES:
            break
        followed += touches[:MOST_TOUCHES]
    return sorted(followed, key=lambda one: -one.weight), moved


class _Run(NamedTuple):
    """What the profile has of a function on any line: a row with most accesses, and how many these are."""

    row: Access
    accesses: int


def _ran(profile: Profile) -> dict[str, _Run]:
    """The functions that the profile shows, each by the row that it made most accesses of."""
    found: dict[str, _Run] = {}
    for row in (row for line in profile.lines for row in line.accesses):
        name, accesses = row.function or "", max(row.records or 0, row.contended + row.stores)
        if name not in found or found[name].accesses < accesses:
            found[name] = _Run(row, accesses)
    return found


def _placed(findings: Sequence[Finding], profile: Profile, layouts: Layouts, here: TraceScene) -> Iterator[_Placed]:
    """The lines of the scene's objects: by address in a profile that knows objects, else those of the findings."""
    lines = {line.rank: line for line in profile.lines}
    if not profile.areas:
        for finding, base in zip(findings, addresses(findings, here, layouts), strict=True):
            outer = layouts.by_id(finding.objects[0].layout or 0)
            yield _Placed(lines[finding.rank], base - finding.objects[0].start, base, outer, _writing(finding))
        return
    for line in profile.lines:
        start = line.address
        for outer, area in ((kind.outer, area) for kind in here.kinds for area in kind.areas):
            if start is not None and area.address < start + line.bytes and start < area.end:
                yield _Placed(line, start, area.address, outer, frozenset(), area.stride)
                break


def _writing(finding: Finding) -> frozenset[tuple[int, str]]:
    """Those that are named for it, and who takes a lock; who waits for one reads it over and over.

    None where the profile has stores: what happens often would be among them.
    """
    if finding.stores_sampled:
        return frozenset()
    return frozenset(
        (member.offset, function.name)
        for member in finding.members
        if member.write_inferred and not member.writes
        for function in member.functions
        if function.writes_inferred
        or function.name in member.write_inferred.split()
        or (takes_lock(function.name) and not waits_for_lock(function.name))
    )


def _on_line(placed: _Placed, code: TypeAccesses | None, layouts: Layouts) -> Iterator[SampledTouch]:
    """The samples of a line."""
    for row in placed.line.accesses:
        if row.offset is None:
            continue
        address = placed.address + row.offset
        function = row.function or f"{row.code_address or 0:#x}"
        inferred = (row.offset, row.function) in placed.writing and not row.stores
        base = placed.base(address)
        yield SampledTouch(
            base,
            address,
            _width(row, address - base, placed.outer, layouts),
            function,
            TouchKind.ATOMIC if inferred else _kind(row, _counts(code, address - base, function)),
            float(row.contended),
            float(row.stores) if _has_stores(row) and not inferred else None,
            (row.stores_l1_miss or 0) / row.stores if row.stores and row.stores_l1_hit is not None else None,
            row.cpus,
            origin((row,)).nodes,
            row.code_address or 0,
            callers=_callers(row),
        )


def _callers(row: Access) -> frozenset[str]:
    return frozenset(name for path in row.call_paths for name in path.functions[:CALLERS])


def _recorded(placed: _Placed) -> Iterator[SampledTouch]:
    """What a recording counted on a line: misses, and accesses that would have missed if others had not before."""
    misses: Counter[tuple[int, int | None]] = Counter()
    first: Counter[tuple[int, int | None]] = Counter()
    shared: Counter[tuple[int, int | None]] = Counter()
    blamed: Counter[tuple[int, int | None]] = Counter()
    for one in placed.line.conflicts:
        misses[one.offset, one.code_address] += one.misses
        first[one.offset, one.code_address] += one.misses + one.shadowed
        shared[one.offset, one.code_address] += one.true_sharing * (one.misses + one.shadowed)
        # A store for each miss that it is to blame for, though several may have missed after one.
        writer = one.writer_offset, one.writer_code_address
        blamed[writer] = max(blamed[writer], one.misses)
    stays: Counter[tuple[int, str | None]] = Counter()
    for row in placed.line.accesses:
        place = row.offset or 0, row.function
        stays[place] = max(stays[place], first[place[0], row.code_address])
    for row in placed.line.accesses:
        key = row.offset or 0, row.code_address
        # What hits bytes that the function has loaded is no news, but it may store there for the first time.
        stores = min(row.stores, max(first[key], stays[key[0], row.function], blamed[key], row.stores_l1_miss or 0))
        loads = 0.0 if row.stores else float(first[key])
        if loads or stores:
            yield SampledTouch(
                placed.base(placed.address + key[0]),
                placed.address + key[0],
                min(row.width or 1, CACHE_LINE_BYTES),
                row.function or f"{row.code_address or 0:#x}",
                TouchKind.ATOMIC if row.stores else TouchKind.LOAD,
                loads,
                float(stores),
                min(misses[key] / (loads + stores), 1.0),
                len(row.by_cpu) or row.cpus,
                origin((row,)).nodes,
                row.code_address or 0,
                shared=shared[key] / first[key] if first[key] else None,
                callers=_callers(row),
            )


def _width(row: Access, offset: int, outer: Layout | None, layouts: Layouts) -> int:
    leaf = leaf_at(outer, layouts, offset) if outer is not None and 0 <= offset < outer.size else None
    return min(row.width or (min(leaf.size, WORD_BYTES) if leaf and leaf.size else 1), CACHE_LINE_BYTES)


def _has_stores(row: Access) -> bool:
    return any(one is not None for one in (row.stores_l1_hit, row.stores_l1_miss, row.stores_na))


def _counts(code: TypeAccesses | None, offset: int, function: str) -> FunctionCounts | None:
    """What the code of a function does to the innermost member at a byte."""
    for member in code.members if code is not None else ():
        if member.offset <= offset < member.offset + max(member.size, 1):
            found = next((one for one in member.functions if one.function == function), None)
            if found is not None:
                return found
    return None


def _kind(row: Access, code: FunctionCounts | None) -> TouchKind:
    """By what was sampled; by the code where its accesses there are all of one kind."""
    loads, stores = row.contended > 0, row.stores > 0
    updates = code is not None and code.counts.updates + code.counts.atomics == code.counts.total
    if (loads and stores) or (updates and (loads or stores)):
        return TouchKind.ATOMIC
    return TouchKind.STORE if stores else TouchKind.LOAD


def _sum(one: SampledTouch, other: SampledTouch) -> SampledTouch:
    """Both as one."""
    return replace(
        one,
        loads=one.loads + other.loads,
        stores=None if one.stores is None or other.stores is None else one.stores + other.stores,
        missed=_mean([(each.missed, each.weight) for each in (one, other)]),
        shared=_mean([(each.shared, each.weight) for each in (one, other)]),
        callers=one.callers | other.callers,
        cpus=max(filter(None, (one.cpus, other.cpus)), default=None),
        nodes=one.nodes | other.nodes,
    )


def _mean(shares: Iterable[tuple[float | None, float]]) -> float | None:
    """Of shares, each with its weight; ``None`` where none is known."""
    known = [(share, weight) for share, weight in shares if share is not None]
    total = sum(weight for _, weight in known)
    return sum(share * weight for share, weight in known) / total if total else None


def _nodes(profile: Profile, touches: Sequence[SampledTouch]) -> tuple[int, ...]:
    """The node of each CPU: those of a recording, else at least as many as the functions ran on, of all nodes seen.

    Twice as many, for a draw may put functions on different ones.
    """
    if profile.recording is not None:
        return profile.recording.nodes
    most: dict[frozenset[int], int] = {}
    for one in touches:
        most[one.nodes] = max(most.get(one.nodes, 1), one.cpus or USUAL_CPUS)
    seen = sorted(frozenset[int]().union(*most)) or [0]
    apart = sum(count for nodes, count in most.items() if len(nodes) == 1)
    count = max(*most.values(), apart if len(seen) > 1 else 1, 2)
    return tuple(seen[cpu % len(seen)] for cpu in range(min(2 * count, MOST_CPUS)))


def _around(outer: Layout, record: int, layouts: Layouts, start: int = 0) -> Iterator[tuple[int, Layout]]:
    """``outer`` and what it holds around the ``record`` with this id and itself, with the bytes where they begin."""
    yield start, outer
    for member in outer.members if outer.id != record else ():
        inner = layouts.by_id(member.record) if member.record is not None else None
        if inner is not None and holds(inner, layouts, frozenset((record,))):
            yield from _around(inner, record, layouts, start + member.offset)


def _by_code(
    base: int,
    start: int,
    code: TypeAccesses,
    sampled: Sequence[SampledTouch],
    shown: set[int],
    exact: bool,
    ran: Mapping[str, _Run],
) -> Iterator[SampledTouch]:
    """What functions that ran touch of an object by their code though no sample tells it, in a record at ``start``.

    Those were sampled on it, or elsewhere: these are taken to load what they can of it, at most as often as the
    object's most frequent touch. A store to a line of the profile would have been sampled. A recording has every
    access that could tell something of its lines, and a line where CPUs disturb each other by stores is one of them.
    """
    mine = [one for one in sampled if one.base == base]
    functions = {one.function: one for one in reversed(mine)}
    known = {(one.function, one.address) for one in mine}
    most = max((one.weight for one in mine), default=0.0)
    for member in code.members:
        address = base + start + member.offset
        quiet = address // CACHE_LINE_BYTES not in shown
        for found in member.functions if quiet or not exact else ():
            one, counts = functions.get(found.function), found.counts
            if one is None:
                if quiet and counts.reading and found.function in ran and mine:
                    yield _elsewhere(found.function, ran[found.function], mine[0], address, member.size, most)
                continue
            if any((one.function, address + byte) in known for byte in range(max(member.size, 1))):
                continue
            kind = TouchKind.LOAD if counts.reading else TouchKind.STORE
            if counts.writing and quiet and not exact:
                kind = TouchKind.ATOMIC if counts.reading else TouchKind.STORE
            if kind is TouchKind.LOAD or (quiet and not exact):
                width = min(max(member.size, 1), WORD_BYTES)
                seen = replace(one, address=address, width=width, kind=kind, loads=0.0, stores=0.0, missed=None)
                yield replace(seen, sampled=False, quiet=quiet, ways=counts.total)


def _elsewhere(function: str, run: _Run, first: SampledTouch, address: int, size: int, most: float) -> SampledTouch:
    """A load by a function that was seen on lines of other objects only; ``most`` is the object's hottest touch."""
    return SampledTouch(
        first.base,
        address,
        min(max(size, 1), WORD_BYTES),
        function,
        TouchKind.LOAD,
        cpus=len(run.row.by_cpu) or run.row.cpus,
        nodes=origin((run.row,)).nodes or first.nodes,
        code=run.row.code_address or 0,
        sampled=False,
        quiet=True,
        elsewhere=True,
        scale=min(run.accesses / most, 1.0) if most else 0.0,
    )


def _alike(sampled: Sequence[SampledTouch], outers: Mapping[int, Layout], shown: set[int]) -> Iterator[SampledTouch]:
    """What functions load of an object on a line that the profile does not have, as they do of others of its kind.

    What nobody stores beside shows in no profile, until the members there get another neighbour.
    """
    by_place: dict[tuple[int, str, int], dict[int, int]] = defaultdict(dict)
    for number, one in enumerate(sampled):
        if one.base in outers:
            by_place[outers[one.base].id, one.function, one.address - one.base][one.base] = number
    totals: dict[tuple[int, int], list[float]] = defaultdict(lambda: [0.0, 0.0])
    for places in by_place.values():
        for first, second in permutations(places, 2):
            sums = totals[first, second]
            sums[0] += sampled[places[first]].weight
            sums[1] += sampled[places[second]].weight
    for (layout, _, offset), places in by_place.items():
        for base in (base for base, outer in outers.items() if outer.id == layout and base not in places):
            if (base + offset) // CACHE_LINE_BYTES in shown:
                continue
            source = max(places, key=lambda other: totals[base, other][0])
            number, (mine, others) = places[source], totals[base, source]
            if mine and sampled[number].kind is TouchKind.LOAD:
                seen = replace(sampled[number], base=base, address=base + offset, loads=0.0, missed=None, shared=None)
                yield replace(seen, sampled=False, quiet=True, like=number, scale=mine / others)
