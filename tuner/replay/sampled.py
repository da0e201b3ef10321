# SPDX-License-Identifier: GPL-2.0-or-later
"""What a profile says that functions did to the objects of one record: ``SampledTouch``, one for each place."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import product
from typing import NamedTuple

from linesmith.analyzer.access.access_map import AccessMap
from linesmith.analyzer.access.questions import accesses_of
from linesmith.analyzer.attribution.lock import takes_lock, waits_for_lock
from linesmith.analyzer.attribution.variables import TOP
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
from linesmith.tuner.replay.scene import TraceScene, addresses

WORD_BYTES = 8
# A recording has what hits a line only once the line had so many conflicts.
HITS_AFTER = 32
# Functions of a call path that may hold the lock under which the innermost is called.
CALLERS = 2
# CPUs that a function runs on where the profile does not say.
USUAL_CPUS = 8
# Touches of one record that are followed; more are noise, and cost time.
MOST_TOUCHES = 120
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

    ``loads`` are those of a line that another CPU had modified, ``stores`` are ``None`` where the profile does not
    say; both are samples. Of a recording they count once in each stay of the line in a cache. ``missed`` is the
    share of the stores (of a recording, of all) that had to fetch the line, ``None`` where that is not known. What
    only the code tells is not ``sampled``, and ``quiet`` where it is on a line that the profile does not have.
    ``shared`` is the share of the counted ones of a recording whose own bytes others had stored to, ``callers`` are
    who called the function, ``on`` are the CPUs, as far as a recording says them. ``lock`` is the address of the
    lock that is held meanwhile, or that has this ``word``; 0: none, or ``PERHAPS``. An ``early`` load is made just
    before the lock is taken. Where nothing shows of it on a quiet line it is made ``scale`` times as often as the
    touch with the number ``like``, which is of another object. Of a function that was seen ``elsewhere`` only, it
    is made at most ``scale`` times as often as any touch of the object.
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
    on: frozenset[int] = frozenset()
    code: int = 0
    sampled: bool = True
    quiet: bool = False
    shared: float | None = None
    callers: frozenset[str] = frozenset()
    lock: int = 0
    word: bool = False
    early: bool = False
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


class Sampled(NamedTuple):
    """The touches of a profile that are followed, those sampled most first, and the layouts of their objects by base.

    ``shown`` are the lines, by number, on which the profile shows accesses.
    """

    touches: list[SampledTouch]
    outers: dict[int, Layout]
    shown: set[int]


def sampled(
    findings: Sequence[Finding], profile: Profile, layouts: Layouts, code: AccessMap | None, here: TraceScene
) -> Sampled:
    """What was sampled of the objects in the scene; ``findings`` are of lines whose first object is one."""
    placed = tuple(_placed(findings, profile, layouts, here))
    records = {one.outer.id: one.outer for one in placed if one.outer and code is not None}
    known = {number: accesses_of(one, layouts, code) for number, one in records.items() if code is not None}
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
    touches, moved = _followed(seen.values(), outers)
    lines: Counter[int] = Counter()
    for touch in seen.values():
        lines[(touch.address + moved.get(touch.base, 0)) // CACHE_LINE_BYTES] += round(
            (touch.missed or 0) * touch.weight
        )
    if profile.recording is not None:
        shown = {line for line, conflicts in lines.items() if conflicts >= HITS_AFTER}
    else:
        shown = {*lines, *(one.address // CACHE_LINE_BYTES for one in placed)}
    return Sampled(touches, {one.base: outers[one.base] for one in touches if one.base in outers}, shown)


def _followed(
    seen: Collection[SampledTouch], outers: Mapping[int, Layout]
) -> tuple[list[SampledTouch], dict[int, int]]:
    """The touches that are followed, those sampled most first, and by how far those of each object are moved.

    Of too many those of all objects of a layout in one phase are taken as of one, the hottest, as those of samples are.
    Of an object all are followed, or none: without the others of its operation a touch would have another effect. Only
    of the hottest, if it alone has too many, the coolest are left out.
    """
    weights: Counter[int] = Counter()
    for one in seen:
        weights[one.base] += round(one.weight)
    moved: dict[int, int] = {}
    if len(seen) > MOST_TOUCHES:
        first: dict[tuple[int | None, int], int] = {}
        for base, _ in weights.most_common():
            layout = outers[base].id if base in outers else None
            moved[base] = first.setdefault((layout, base % CACHE_LINE_BYTES), base) - base
    there: dict[int, list[SampledTouch]] = {base: [] for base, _ in weights.most_common()}
    for one in seen:
        by = moved.get(one.base, 0)
        there[one.base].append(replace(one, base=one.base + by, address=one.address + by))
    merged: dict[tuple[int, str, TouchKind], SampledTouch] = {}
    # The hottest object first: the CPUs of the others get the numbers of those that do the same to it.
    for base, here in there.items():
        numbers = _same_cpus(here, merged) if moved.get(base) else {}
        for one in here:
            key = one.address, one.function, one.kind
            known = replace(one, on=frozenset(numbers.get(cpu, cpu) for cpu in one.on))
            merged[key] = _sum(merged[key], known) if key in merged else known
    objects: dict[int, list[SampledTouch]] = defaultdict(list)
    for one in sorted(merged.values(), key=lambda one: -one.weight):
        objects[one.base].append(one)
    followed: list[SampledTouch] = []
    for touches in sorted(objects.values(), key=lambda ones: -sum(one.weight for one in ones)):
        if followed and len(followed) + len(touches) > MOST_TOUCHES:
            break
        followed += touches[:MOST_TOUCHES]
    return sorted(followed, key=lambda one: -one.weight), moved


def _same_cpus(
    touches: Sequence[SampledTouch], merged: Mapping[tuple[int, str, TouchKind], SampledTouch]
) -> dict[int, int]:
    """For each CPU of ``touches`` the one that does most of the same in ``merged``; no two have the same one."""
    same, cpus = Counter[tuple[int, int]](), {cpu for one in touches for cpu in one.on}
    for one in touches:
        other = merged.get((one.address, one.function, one.kind))
        for mine, cpu in product(one.on, other.on if other is not None else ()):
            same[mine, cpu] += round(one.weight)
    found: dict[int, int] = {}
    for (mine, cpu), _ in same.most_common():
        if mine not in found and cpu not in found.values():
            found[mine] = cpu
    every = cpus.union(*(one.on for one in merged.values()))
    return found | dict(zip(sorted(cpus - found.keys()), sorted(every.difference(found.values())), strict=False))


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
        base, outer = placed.base(address), placed.outer
        leaf = leaf_at(outer, layouts, address - base) if outer and 0 <= address - base < outer.size else None
        yield SampledTouch(
            base,
            address,
            min(row.width or (min(leaf.size, WORD_BYTES) if leaf and leaf.size else 1), CACHE_LINE_BYTES),
            function,
            TouchKind.ATOMIC if inferred else _kind(row, _counts(code, address - base, function)),
            float(row.contended),
            None if inferred or {row.stores_l1_hit, row.stores_l1_miss, row.stores_na} == {None} else float(row.stores),
            (row.stores_l1_miss or 0) / row.stores if row.stores and row.stores_l1_hit is not None else None,
            row.cpus,
            origin((row,)).nodes,
            code=row.code_address or 0,
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
        key, where = (row.offset or 0, row.code_address), origin((row,))
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
                row.cpus,
                where.nodes,
                where.cpus or frozenset(),
                row.code_address or 0,
                shared=shared[key] / first[key] if first[key] else None,
                callers=_callers(row),
            )


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
        missed=mean_share([(each.missed, each.weight) for each in (one, other)]),
        shared=mean_share([(each.shared, each.weight) for each in (one, other)]),
        callers=one.callers | other.callers,
        cpus=max(filter(None, (one.cpus, other.cpus)), default=None),
        nodes=one.nodes | other.nodes,
        on=one.on | other.on,
    )


def mean_share(shares: Iterable[tuple[float | None, float]]) -> float | None:
    """Of shares, each with its weight; ``None`` where none is known."""
    known = [(share, weight) for share, weight in shares if share is not None]
    total = sum(weight for _, weight in known)
    return sum(share * weight for share, weight in known) / total if total else None
