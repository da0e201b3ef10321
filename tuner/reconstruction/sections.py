# SPDX-License-Identifier: GPL-2.0-or-later
"""Critical sections: which touches are on words of a lock, and which are made while it is held.

A section is an idea of its own, for what is under a lock comes between its taking and its release, undisturbed by
others that want the same, while those who wait disturb the line of the lock.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile

from linesmith.analyzer.access.access_map import AccessMap
from linesmith.analyzer.access.questions import handed_on
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
from linesmith.analyzer.model import CACHE_LINE_BYTES, Finding, HandedAddress, Layout, Leaf
from linesmith.tuner.reconstruction.sampled import PERHAPS, SampledTouch, SampledTouches, TouchKind
from linesmith.tuner.replay.replayer import TurnPart

# Of the callers of a function so many must hold the lock.
HELD_SHARE = 0.5
# Who spins finds the line changed whenever it looks at all; other loads come with a store.
SPINNING = 0.5


def with_locks(
    evidence: SampledTouches, findings: Sequence[Finding], layouts: Layouts, code: AccessMap | None
) -> SampledTouches:
    """The touches, those on words of a lock and those under it with its address."""
    touches, outers = evidence.touches, evidence.outers
    words = {at: _word(one, outers.get(one.base), layouts) for at, one in enumerate(touches)}
    taken = {words[at] for at, one in enumerate(touches) if words[at] and _excludes(one)}
    found = [replace(one, lock=words[at], word=True) if words[at] in taken else one for at, one in enumerate(touches)]
    for base in {one.base for one in found if one.word}:
        mine = [one for one in found if one.base == base]
        held = _Held(mine, outers.get(base), findings, layouts, code)
        found = [replace(one, lock=held.lock_of(one)) if one.base == base and not one.word else one for one in found]
    return replace(evidence, touches=tuple(_without_idle(found)))


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


def _word(touch: SampledTouch, outer: Layout | None, layouts: Layouts) -> int:
    """The address of the lock that a touch is on, 0 for none; of an object that is not known that of the line."""
    locking = takes_lock(touch.function) or waits_for_lock(touch.function)
    leaves = _leaves(touch, outer, layouts)
    for leaf in leaves:
        start = next((start for record, start in leaf.chain if is_lock(record) and record != "lockref"), None)
        if start is None and (is_lock_word(leaf.member) or locking):
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
        # The records that hold a lock, with where they begin in the object.
        self._around = {
            (entered.record, entered.offset)
            for one in touches
            if one.word
            for leaf in _leaves(one, outer, layouts)[:1]
            for entered in takewhile(lambda inner: not is_lock(layouts.by_id(inner.record).name), leaf.entered)
        }
        self._protected: dict[str, int] = {}
        self._sleeping = {one.lock for one in touches if one.word and may_sleep(one.function)}
        for one in (one for one in touches if one.word):
            self._takers[one.lock].update(one.callers if takes_lock(one.function) else (one.function,))
            self._takers[one.lock].update(call.function for call in self._handed(one) if takes_lock(call.to))
            for lock in (finding.lock for finding in findings if finding.lock is not None):
                if lock.name in self._names(one):
                    self._protected.update({member.member: one.lock for member in lock.members})

    def lock_of(self, touch: SampledTouch) -> int:
        """The lock that is held, 0 for none, or ``PERHAPS``."""
        if touch.kind is TouchKind.ATOMIC and self._atomic(touch):
            return 0
        writes = touch.kind is not TouchKind.LOAD or touch.function in self._writing
        protected = [self._protected[name] for name in self._names(touch) if name in self._protected]
        if writes and protected:
            return protected[0]
        callers = set(touch.callers) or {call.function for call in self._handed(touch) if call.to == touch.function}
        under = [
            lock
            for lock, takers in self._takers.items()
            if touch.function in takers or len(callers & takers) > HELD_SHARE * len(callers)
        ]
        # What is taken for longer goes around what is taken for a moment.
        return max(under, key=lambda lock: lock in self._sleeping, default=0 if callers else PERHAPS)

    def _atomic(self, touch: SampledTouch) -> bool:
        """Whether a member needs no lock to be updated."""
        leaves = _leaves(touch, self._outer, self._layouts)[:1]
        return any(leaf.member.type.startswith(("atomic", "refcount")) for leaf in leaves)

    def _names(self, touch: SampledTouch) -> Iterator[str]:
        """The members on the way to what is touched."""
        for leaf in _leaves(touch, self._outer, self._layouts)[:1]:
            yield from (name.partition("[")[0] for name in leaf.path.split("."))

    def _handed(self, touch: SampledTouch) -> Iterator[HandedAddress]:
        """The calls that hand on the address of what is touched, as a part of a record that holds a lock."""
        if self._code is None:
            return
        for record, start in self._around:
            offset, layout = touch.address - touch.base - start, self._layouts.by_id(record)
            if 0 <= offset < layout.size:
                yield from handed_on(layout, offset, touch.width, self._code)
