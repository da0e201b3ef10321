# SPDX-License-Identifier: GPL-2.0-or-later
"""All that a profile and the code say of a record's objects: what was sampled, and what no sample can show.

A load of a line that nobody writes never waits, so it is in no profile, until the members there get another neighbour.
The code of the functions that ran tells such accesses, and what they do to other objects of the kind.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from heapq import nlargest
from itertools import permutations
from typing import NamedTuple

from linesmith.analyzer.access.access_map import AccessMap
from linesmith.analyzer.access.questions import accesses_of
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.model import CACHE_LINE_BYTES, Access, Finding, Layout, Profile, TypeAccesses
from linesmith.analyzer.sharing.parts import origin
from linesmith.tuner.reconstruction.sampled import (
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
    return SampledTouches(
        (*touches, *sure, *_alike(touches, outers, shown)),
        _nodes(profile, touches),
        outers,
        exact,
        mean_share((one.missed, one.checked) for one in touches),
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
