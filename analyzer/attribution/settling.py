# SPDX-License-Identifier: GPL-2.0-or-later
"""What objects that are sure say of the lines of their profile that are not.

An object reaches onto the lines behind it. And a type that is known to be hot is likelier to own a lock, or another
part that many types hold, than one that was seen nowhere, if it is the only one that slabs let begin there.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from linesmith.analyzer.attribution.hypotheses import Hypothesis
from linesmith.analyzer.attribution.line_objects import Ground, begun, reaching
from linesmith.analyzer.attribution.lock import is_lock
from linesmith.analyzer.model import LineObject, Outcome, SharedLine
from linesmith.analyzer.slab import PlacedStart, SlabStarts

_UNSURE = (Outcome.CANNOT_TELL, Outcome.INNER_TYPE_ONLY)
# Objects that begin last before a line, and may reach onto it.
_NEAREST = 4
_REACHES = "it reaches over from a line close by, where it is sure"
_BEGINS_HERE = "it begins here and goes on on the line behind, where it is sure"
_ALONE = "of the types that are sure on other lines it is the only one that can begin here"

Objects = tuple[LineObject, ...]


def settled(
    lines: Sequence[SharedLine], found: Sequence[Objects], ground: Ground, starts: SlabStarts | None
) -> tuple[Objects, ...]:
    """The objects ``found`` on each line; where they are not sure, what the sure ones on other lines say."""
    pairs = list(zip(lines, found, strict=True))
    firm = {one for line, objects in pairs if not objects[0].asked_for for one in sure_objects((line,), (objects,))}
    sure = sorted(firm, key=lambda one: one.address)
    told = _Told(sure, tuple(dict.fromkeys(_sure_parts(lines, found))), ground, starts)
    return tuple(
        _where_it_is(line, objects, firm, ground) if objects[0].asked_for else told.of(line, objects)
        for line, objects in pairs
    )


def _where_it_is(line: SharedLine, objects: Objects, firm: Iterable[PlacedStart], ground: Ground) -> Objects:
    """The object of a type that was asked for, where such an object that is sure on another line reaches this one."""
    near = [one for one in firm if one.layout == objects[0].layout and line.address is not None]
    for one in sorted(near, key=lambda one: -one.address):
        whole = reaching(Hypothesis(one.layout, one.address - (line.address or 0)), line, ground)
        if whole is not None:
            return (replace(whole, reason=_REACHES),)
    return objects


def is_unsure(objects: Objects) -> bool:
    """Whether the line's owner is open: that it is a lock is not much of an answer."""
    return not objects[0].origin and (objects[0].outcome in _UNSURE or is_lock(objects[0].type))


def sure_objects(lines: Sequence[SharedLine], found: Sequence[Objects]) -> Iterator[PlacedStart]:
    """The objects that are sure by what their functions touch; of others a snapshot knows better."""
    for line, objects in zip(lines, found, strict=True):
        if objects[0].outcome is Outcome.RESOLVED and not objects[0].origin and not is_lock(objects[0].type):
            yield from placed(line, objects)


def _sure_parts(lines: Sequence[SharedLine], found: Sequence[Objects]) -> Iterator[PlacedStart]:
    """The locks and other parts that are sure, though not whose, and that begin before their line."""
    for line, objects in zip(lines, found, strict=True):
        first = objects[0]
        part = first.outcome is Outcome.INNER_TYPE_ONLY or (first.outcome is Outcome.RESOLVED and is_lock(first.type))
        if part and not first.origin and first.start < 0:
            yield from placed(line, objects)


def placed(line: SharedLine, objects: Objects) -> Iterator[PlacedStart]:
    """The first object of a line by its address, where that is known."""
    if line.address is not None and objects[0].layout is not None:
        yield PlacedStart(objects[0].layout, line.address + objects[0].start)


class _Told:
    """Sure objects by address, and their types."""

    def __init__(
        self, sure: Sequence[PlacedStart], parts: Sequence[PlacedStart], ground: Ground, starts: SlabStarts | None
    ) -> None:
        self._sure = sure
        self._parts = parts
        self._addresses = [one.address for one in sure]
        self._types = frozenset(one.layout for one in sure)
        self._ground = ground
        self._starts = starts

    def of(self, line: SharedLine, objects: Objects) -> Objects:
        """The objects of the line, or the one that a sure one tells."""
        if line.address is None or not is_unsure(objects):
            return objects
        for reason, candidates in (
            (_REACHES, self._reaching(line.address, line)),
            (_ALONE, self._alone(line, objects)),
        ):
            for one in candidates:
                whole = reaching(one, line, self._ground)
                if whole is not None:
                    return (replace(whole, reason=reason),)
        return self._begun(line.address, line, objects) if objects[0].outcome is Outcome.CANNOT_TELL else objects

    def _begun(self, address: int, line: SharedLine, objects: Objects) -> Objects:
        """The part that begins on the line and is sure on the one behind; ``objects`` where there is none."""
        found = (begun(Hypothesis(one.layout, one.address - address), line, self._ground) for one in self._parts)
        part = next((one for one in found if one is not None), None)
        return objects if part is None else (replace(part, reason=_BEGINS_HERE),)

    def _reaching(self, address: int, line: SharedLine) -> Iterable[Hypothesis]:
        before = self._sure[: bisect_left(self._addresses, address + line.bytes)][-_NEAREST:]
        return (Hypothesis(one.layout, one.address - address) for one in reversed(before))

    def _alone(self, line: SharedLine, objects: Objects) -> Iterable[Hypothesis]:
        """The only sure type that holds what is on the line and that slabs let begin there."""
        possible = [] if self._starts is None else [one for one in self._owners(objects) if self._can_be(one, line)]
        return possible if len(possible) == 1 else []

    def _owners(self, objects: Objects) -> Iterator[Hypothesis]:
        """What may own the part that is on the line, or what it was taken for in doubt."""
        for one in (objects[0], objects[0].runner_up):
            if one is None or one.layout is None:
                continue
            for place in self._ground.containment.places(one.layout):
                if place.container in self._types:
                    yield Hypothesis(place.container, one.start - place.offset)

    def _can_be(self, one: Hypothesis, line: SharedLine) -> bool:
        return self._starts is not None and self._starts.allows(one.layout, one.start, line.address, line.bytes)
