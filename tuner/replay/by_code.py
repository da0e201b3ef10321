# SPDX-License-Identifier: GPL-2.0-or-later
"""All that a profile and the code say of a record's objects: what was sampled, and what no sample can show.

A load of a line that nobody writes is in no profile, until the members there get another neighbour. The code of the
functions that ran tells such accesses, and what they do to other objects of the kind.

Both tell which touches are on words of a lock, and which are made while it is held: those come between its taking and
its release, while those who wait disturb the line of the lock.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from heapq import nlargest
from itertools import permutations, takewhile
from typing import NamedTuple

from linesmith.analyzer.access.access_map import AccessMap
from linesmith.analyzer.access.questions import accesses_of, at_place
from linesmith.analyzer.attribution.lock import (
    is_lock,
    is_lock_word,
    lets_readers_in,
    may_sleep,
    releases_lock,
    takes_lock,
    waits_for_lock,
)
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.leaves import ALTERNATIVES, leaves_at
from linesmith.analyzer.model import (
    CACHE_LINE_BYTES,
    Access,
    AccessKind,
    CodeAccess,
    Finding,
    Layout,
    Leaf,
    Profile,
    TypeAccesses,
)
from linesmith.analyzer.sharing.parts import origin
from linesmith.tuner.replay.replayer import TurnPart
from linesmith.tuner.replay.sampled import (
    PERHAPS,
    USUAL_CPUS,
    WORD_BYTES,
    SampledTouch,
    SampledTouches,
    TouchKind,
    mean_share,
    sampled,
)
from linesmith.tuner.replay.scene import TraceScene, holds

MOST_CPUS = 64
# Touches that are followed of functions that were not seen on the record; more are noise, and cost time.
MOST_ELSEWHERE = 60
# Of the callers of a function so many must hold the lock.
HELD_SHARE = 0.5
# Who spins finds the line changed whenever it looks at all; other loads come with a store.
SPINNING = 0.5


def evidence(
    findings: Sequence[Finding], profile: Profile, layouts: Layouts, code: AccessMap | None, here: TraceScene
) -> SampledTouches:
    """What ``profile`` says of the objects in the scene; ``findings`` are of lines whose first object is one."""
    touches, outers, shown = sampled(findings, profile, layouts, code, here)
    exact, ran = profile.recording is not None, _ran(profile)
    inside = {
        outer.id: [(start, accesses_of(one, layouts, code)) for start, one in _around(outer, here.record.id, layouts)]
        for outer in {outer.id: outer for outer in outers.values()}.values()
        if code is not None
    }
    by_code = {
        (touch.address, touch.function, touch.kind): touch
        for base, outer in outers.items()
        for start, about in inside.get(outer.id, ())
        for touch in _by_code(base, start, about, touches, shown, exact, ran)
    }
    unsure = [one for one in by_code.values() if one.elsewhere]
    sure = [one for one in by_code.values() if not one.elsewhere]
    sure += nlargest(MOST_ELSEWHERE, unsure, key=lambda one: one.scale)
    every = (*touches, *sure, *_alike(touches, outers, shown))
    return SampledTouches(
        every, _nodes(profile, touches), outers, exact, mean_share((one.missed, one.checked) for one in touches)
    )


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


def _around(outer: Layout, record: int, layouts: Layouts, start: int = 0) -> Iterator[tuple[int, Layout]]:
    """``outer`` and what it holds around the ``record`` with this id and itself, with the bytes where they begin."""
    yield start, outer
    for member in outer.members if outer.id != record else ():
        inner = layouts.by_id(member.record) if member.record is not None else None
        if inner is not None and holds(inner.id, layouts, frozenset((record,))):
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
    loaded = {(one.function, one.address) for one in mine if one.kind is not TouchKind.STORE}
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
            places = {(one.function, address + byte) for byte in range(max(member.size, 1))}
            stored = not places.isdisjoint(known)
            if not places.isdisjoint(loaded) or (stored and (exact or not counts.reads)):
                continue
            kind = TouchKind.LOAD if counts.reading else TouchKind.STORE
            if counts.writing and quiet and not exact and not stored:
                kind = TouchKind.ATOMIC if counts.reading else TouchKind.STORE
            if kind is TouchKind.LOAD or (quiet and not exact):
                width = min(max(member.size, 1), WORD_BYTES)
                seen = replace(one, address=address, width=width, kind=kind, loads=0.0, stores=0.0, missed=None)
                yield replace(seen, sampled=False, quiet=quiet)


def _elsewhere(function: str, run: _Run, first: SampledTouch, address: int, size: int, most: float) -> SampledTouch:
    """A load by a function that was seen on lines of other objects only; ``most`` is the object's hottest touch."""
    where = origin((run.row,))
    return SampledTouch(
        first.base,
        address,
        min(max(size, 1), WORD_BYTES),
        function,
        TouchKind.LOAD,
        cpus=len(run.row.by_cpu) or run.row.cpus,
        nodes=where.nodes or first.nodes,
        on=where.cpus or frozenset(),
        code=run.row.code_address or 0,
        sampled=False,
        quiet=True,
        elsewhere=True,
        scale=min(run.accesses / most, 1.0) if most else 0.0,
    )


def _alike(sampled: Sequence[SampledTouch], outers: Mapping[int, Layout], shown: set[int]) -> Iterator[SampledTouch]:
    """What functions load of an object on a line that the profile does not have, as they do of others of its kind.

    What lies next to no stored member shows in no profile, until the members there get another neighbour.
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


def with_locks(
    evidence: SampledTouches, findings: Sequence[Finding], layouts: Layouts, code: AccessMap | None
) -> SampledTouches:
    """The touches, those on words of a lock and those under it with its address."""
    touches, outers = evidence.touches, evidence.outers
    typed = {one.base for one in touches if _word(one, outers.get(one.base), layouts, ())}
    # Who spins on a lock loads other members too; its word is updated. In an object with a lock by its type, a function
    # that is called like one may update a counter.
    updated = {
        one.address for one in touches if one.kind is not TouchKind.LOAD and _locking(one) and one.base not in typed
    }
    words = {
        at: 0 if lets_readers_in(one.function) else _word(one, outers.get(one.base), layouts, updated)
        for at, one in enumerate(touches)
    }
    taken = {words[at] for at, one in enumerate(touches) if words[at] and _excludes(one)}
    found = [replace(one, lock=words[at], word=True) if words[at] in taken else one for at, one in enumerate(touches)]
    for base in {one.base for one in found if one.word}:
        mine = [one for one in found if one.base == base]
        held = _Held(mine, outers.get(base), findings, layouts, code)
        found = [held.under(one, evidence.exact) if one.base == base and not one.word else one for one in found]
    found = [*_without_idle(found)]
    return replace(evidence, touches=tuple(_in_one_call(found) if evidence.exact else found))


def _in_one_call(touches: Sequence[SampledTouch]) -> list[SampledTouch]:
    """The touches; who called a function is known where it missed, so those tell the lock of what it else touched."""
    known: dict[tuple[str, int], Counter[int]] = defaultdict(Counter)
    for one in touches:
        if not one.word and one.lock != PERHAPS:
            known[one.function, one.base][one.lock] += round(one.weight)
    locks = {key: max(found, key=found.__getitem__) for key, found in known.items()}
    return [
        replace(one, lock=locks.get((one.function, one.base), PERHAPS)) if one.lock == PERHAPS else one
        for one in touches
    ]


def _without_idle(touches: Sequence[SampledTouch]) -> Iterator[SampledTouch]:
    """The touches; those of a lock that nobody comes to, as the nodes of a queue of waiters, are like any others."""
    come = {one.lock for one in touches if not one.word or turn_part(one, first=True) is TurnPart.TRY}
    perhaps = {one.base for one in touches if one.lock == PERHAPS}
    for one in touches:
        idle = one.word and one.lock not in come and one.base not in perhaps
        yield replace(one, lock=0, word=False) if idle else one


def turn_part(touch: SampledTouch, first: bool) -> TurnPart:
    """When in a turn under its lock a touch is made; ``first`` of its function on the lock."""
    name = touch.function
    if not touch.word:
        return TurnPart.DO
    if waits_for_lock(name) or name.startswith(("osq_", "mcs_")):
        if touch.kind is TouchKind.LOAD and (touch.missed is None or touch.missed >= SPINNING):
            return TurnPart.SPIN
        return TurnPart.QUEUE if name.endswith("_lock") else TurnPart.TURN
    if is_release(touch):
        return TurnPart.DO
    if takes_lock(name) or touch.kind is TouchKind.ATOMIC:
        return TurnPart.TRY if first else TurnPart.FREE
    return TurnPart.DO


def is_release(touch: SampledTouch) -> bool:
    """Whether a touch releases its lock: by name, or by a plain store of who has that inlined."""
    if not touch.word or waits_for_lock(touch.function):
        return False
    return releases_lock(touch.function) or (touch.kind is TouchKind.STORE and not takes_lock(touch.function))


def _locking(touch: SampledTouch) -> bool:
    return takes_lock(touch.function) or waits_for_lock(touch.function)


def _word(touch: SampledTouch, outer: Layout | None, layouts: Layouts, updated: Collection[int]) -> int:
    """The address of the lock that a touch is on, 0 for none; of an object that is not known that of the line."""
    locking, leaves = _locking(touch), _leaves(touch, outer, layouts)
    for leaf in leaves:
        start = next((start for record, start in leaf.chain if is_lock(record) and record != "lockref"), None)
        if start is None and (is_lock_word(leaf.member) or (locking and touch.address in updated)):
            start = leaf.offset
        if start is not None and (locking or touch.width <= leaf.size):
            return touch.base + start
    return touch.address // CACHE_LINE_BYTES * CACHE_LINE_BYTES if locking and not leaves else 0


def _leaves(touch: SampledTouch, outer: Layout | None, layouts: Layouts) -> tuple[Leaf, ...]:
    offset = touch.address - touch.base
    return leaves_at(outer, layouts, offset, ALTERNATIVES) if outer is not None and 0 <= offset < outer.size else ()


def _excludes(touch: SampledTouch) -> bool:
    """Whether a touch takes a lock that then nobody else has."""
    name = touch.function
    if waits_for_lock(name) or releases_lock(name) or touch.kind is TouchKind.LOAD:
        return waits_for_lock(name) and not lets_readers_in(name)
    return not lets_readers_in(name) if takes_lock(name) else touch.kind is TouchKind.ATOMIC


class _Held:
    """Which lock of one object is held where."""

    def __init__(
        self,
        touches: Sequence[SampledTouch],
        outer: Layout | None,
        findings: Iterable[Finding],
        layouts: Layouts,
        code: AccessMap | None,
    ) -> None:
        self._outer, self._layouts, self._code = outer, layouts, code
        self._writing = {one.function for one in touches if not one.word and one.kind is not TouchKind.LOAD}
        self._takers: dict[int, set[str]] = defaultdict(set)
        # Where in its code a function first calls another to take a lock.
        self._taken: dict[tuple[int, str], int] = {}
        # The records that hold a lock, with where they begin in the object.
        self._around = {
            (entered.record, entered.offset)
            for one in touches
            if one.word
            for leaf in _leaves(one, outer, layouts)[:1]
            for entered in takewhile(lambda inner: not is_lock(layouts.by_id(inner.record).name), leaf.entered)
        }
        self._protected: dict[str, int] = {}
        self._readers = any(lets_readers_in(one.function) for one in touches)
        self._sleeping = {one.lock for one in touches if one.word and may_sleep(one.function)}
        for one in (one for one in touches if one.word):
            self._takers[one.lock].update(one.callers if takes_lock(one.function) else (one.function,))
            for call in (call for call in self._calls_at(one) if takes_lock(call.variable or "")):
                self._takers[one.lock].add(call.function)
                if not releases_lock(call.variable or ""):
                    key = one.lock, call.function
                    self._taken[key] = min(call.address, self._taken.get(key, call.address))
            for lock in (finding.lock for finding in findings if finding.lock is not None):
                if lock.name in self._names(one):
                    self._protected.update({member.member: one.lock for member in lock.members})

    def under(self, touch: SampledTouch, exact: bool) -> SampledTouch:
        """The touch with its lock; unless misses say what comes first (``exact``), a load before taking it is early."""
        lock = self._lock_of(touch)
        taken = None if exact else self._taken.get((lock, touch.function))
        if taken is None or touch.kind is not TouchKind.LOAD:
            return replace(touch, lock=lock, early=False)
        rows = [row for place in self._places(touch) for row in at_place(*place, touch.width, self._code)]
        mine = (row for row in rows if row.function == touch.function and row.kind is not AccessKind.WRITE)
        return replace(touch, lock=lock, early=any(row.address < taken for row in mine if row.into is not None))

    def _lock_of(self, touch: SampledTouch) -> int:
        """The lock that is held, 0 for none, or ``PERHAPS``."""
        leaves = _leaves(touch, self._outer, self._layouts)[:1] if touch.kind is TouchKind.ATOMIC else ()
        if any(leaf.member.type.startswith(("atomic", "refcount")) for leaf in leaves):  # needs no lock to be updated
            return 0 if self._readers else PERHAPS
        writes = touch.kind is not TouchKind.LOAD or touch.function in self._writing
        protected = [self._protected[name] for name in self._names(touch) if name in self._protected]
        if writes and protected:
            return protected[0]
        callers = set(touch.callers) or {
            call.function for call in self._calls_at(touch) if call.variable == touch.function
        }
        under = [
            lock
            for lock, takers in self._takers.items()
            if touch.function in takers or len(callers & takers) > HELD_SHARE * len(callers)
        ]
        # What is taken for longer goes around what is taken for a moment.
        return max(under, key=lambda lock: lock in self._sleeping, default=0 if touch.callers else PERHAPS)

    def _names(self, touch: SampledTouch) -> Iterator[str]:
        """The members on the way to what is touched."""
        for leaf in _leaves(touch, self._outer, self._layouts)[:1]:
            yield from (name.partition("[")[0] for name in leaf.path.split("."))

    def _calls_at(self, touch: SampledTouch) -> Iterator[CodeAccess]:
        """The calls that hand on the address of what is touched; ``variable`` is the function that gets it."""
        for place in self._places(touch):
            yield from at_place(*place, touch.width, self._code and self._code.handed)

    def _places(self, touch: SampledTouch) -> Iterator[tuple[Layout, int]]:
        """The records that hold a lock and what is touched, each with the offset of the latter."""
        for record, start in self._around:
            offset, layout = touch.address - touch.base - start, self._layouts.by_id(record)
            if 0 <= offset < layout.size:
                yield layout, offset
