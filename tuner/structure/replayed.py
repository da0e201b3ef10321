# SPDX-License-Identifier: GPL-2.0-or-later
"""What a change of the structure would save, replayed on a recorded trace.

Sharding: one copy on a line of its own, then 2, 4 … copies. Pulling in: every object on lines of its own, as it would
be in the record that holds it, aligned.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from linesmith.analyzer.access.access_map import AccessMap
from linesmith.analyzer.base.errors import NotSimulated, TypeNotFound
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.placement import round_up, visible_places
from linesmith.analyzer.model import (
    CACHE_LINE_BYTES,
    Gain,
    Layout,
    ObjectArea,
    Simulation,
    StructuralAdvice,
    StructureKind,
)
from linesmith.tuner.replay.plan import ReplayPlan, ShardBy, Sharding, aligned, unchanged
from linesmith.tuner.replay.replayer import Replay, ReplayOutcome, change_interval, open_trace
from linesmith.tuner.replay.scene import TraceScene, scene
from linesmith.tuner.replay.simulated import View, outcomes, run
from linesmith.tuner.structure.advise import AdvisedFinding
from linesmith.tuner.structure.reshape import known_members

OWN_LINE = "a line of its own"
ONE_COPY = "one copy for each access"
# Functions that take a lock for reading, by the names that Linux gives them.
_READERS = re.compile(r"_*(?:down|up)_read(?:_\w+)?|_*(?:raw_)?read_(?:try|un)?lock(?:_\w+)?")


@dataclass(frozen=True, slots=True)
class _ReplayedScene:
    """A scene of an opened trace, and what it costs as it was recorded."""

    replay: Replay
    number: int
    before: dict[View, ReplayOutcome]
    layouts: Layouts

    @property
    def here(self) -> TraceScene:
        """The scene."""
        return self.replay.scenes[self.number]


def with_gains(
    advised: Sequence[AdvisedFinding],
    areas: Iterable[ObjectArea],
    layouts: Layouts,
    trace: Path,
    accesses: AccessMap | None = None,
) -> tuple[AdvisedFinding, ...]:
    """The same advice, with the gains of sharding and of pulling in; ``areas`` are the objects of the profile.

    With ``accesses`` readers of the lock are also let take every copy. Raises ``TraceError``; what cannot be replayed
    says why in a note.
    """
    moved = [record for answer in advised for record in map(_moved, answer.advice) if record is not None]
    records = {record.id: record for record in moved}
    if not records:
        return tuple(advised)
    known = tuple(areas)
    replay = open_trace(trace, tuple(scene(record, known, layouts) for record in records.values()), line_sizes=())
    benches = {
        record: _ReplayedScene(replay, number, outcomes(replay, number, unchanged(here)), layouts)
        for number, (record, here) in enumerate(zip(records, replay.scenes, strict=True))
        if here.kinds and replay.accesses(number)
    }
    # The code of functions that take a lock for reading, as ranges of addresses.
    readers: tuple[range, ...] = ()
    if accesses is not None:
        names = enumerate(accesses.functions)
        numbers = [number for number, name in names if _READERS.fullmatch(name.partition(".")[0])]
        readers = tuple(range(int(accesses.function_low[at]), int(accesses.function_high[at])) for at in numbers)

    def gained(one: StructuralAdvice) -> StructuralAdvice:
        record = _moved(one)
        return one if record is None else _gained(one, record, benches.get(record.id), readers)

    return tuple(replace(answer, advice=tuple(map(gained, answer.advice))) for answer in advised)


def _moved(one: StructuralAdvice) -> Layout | None:
    """The record whose objects are replayed elsewhere; ``None`` for advice that no replay can judge."""
    places = {StructureKind.SHARD: 0, StructureKind.PULL_IN: 1}
    return one.before[places[one.kind]] if one.kind in places else None


def _gained(
    one: StructuralAdvice, record: Layout, bench: _ReplayedScene | None, readers: tuple[range, ...]
) -> StructuralAdvice:
    if bench is None:
        missing = f"The trace has no access to an object that is or holds a {record.title}."
        return replace(one, notes=(*one.notes, missing))
    try:
        if one.kind is StructureKind.SHARD:
            return replace(one, gains=tuple(_sharded(one, bench, readers)))
        plan = aligned(bench.here, round_up(record.size, CACHE_LINE_BYTES))
        return replace(one, gains=(_gain(bench, plan, 1, "line", "each on lines of its own"),))
    except NotSimulated as refusal:
        return replace(one, notes=(*one.notes, f"Not replayed: {refusal}."))


def _sharded(one: StructuralAdvice, bench: _ReplayedScene, readers: tuple[range, ...]) -> Iterator[Gain]:
    nodes = bench.replay.nodes
    by = ShardBy.NODE if len(set(nodes)) > 1 else ShardBy.CPU
    most = len(set(nodes)) if by is ShardBy.NODE else len(nodes)
    whole = unchanged(bench.here)
    shared = Sharding(one.members, 1, by, spans=_inside(one, bench.layouts))
    yield _gain(bench, replace(whole, sharding=shared), 1, by, OWN_LINE)
    split = [(ways, replace(shared, ways=ways)) for ways in steps(most)]
    best = [_gain(bench, replace(whole, sharding=sharding), ways, by) for ways, sharding in split]
    yield from best
    if readers and best:
        walking = replace(whole, sharding=replace(shared, ways=most, everywhere=readers))
        walked = _gain(bench, walking, most, by, "who only reads takes every copy")
        yield from (walked,) if walked.after != best[-1].after else ()


def _inside(one: StructuralAdvice, layouts: Layouts) -> tuple[tuple[int, int], ...]:
    """Offset and size of the members that lie in anonymous records."""
    record = one.before[0]
    named = {member.name for member in record.members}
    places = visible_places(record, layouts)
    inside = [places[name] for name in one.members if name in places and name not in named]
    return tuple((record.members[place.member].offset + place.start, place.size) for place in inside)


def steps(most: int) -> list[int]:
    """2, 4, 8 … and ``most``, which is the number of nodes or CPUs."""
    doubled = [1 << bit for bit in range(1, most.bit_length()) if 1 << bit < most]
    return [*doubled, most] if most > 1 else []


def _gain(bench: _ReplayedScene, plan: ReplayPlan, ways: int, by: str, basis: str = ONE_COPY) -> Gain:
    """The plan against what was recorded, at 64 bytes and in all phases where objects have several."""
    after = outcomes(bench.replay, bench.number, plan)
    view = max((one for one in bench.before if one.line_bytes == CACHE_LINE_BYTES), key=lambda one: one.everywhere)
    old, new = bench.before[view], after[view]
    interval = change_interval(old.windows, new.windows)
    where = f"{basis}; {'mean of phases' if view.everywhere else 'as placed'}"
    return Gain(ways, str(by), old.misses.total, new.misses.total, interval.low, interval.high, where)


def simulate_shards(
    record: str, sharding: Sharding, areas: Iterable[ObjectArea], layouts: Layouts, trace: Path
) -> Simulation:
    """The members of ``sharding`` in every ``record`` of the profile's ``areas``, split: misses before and after.

    Raises ``TypeNotFound``, ``NotSimulated`` for a member that the record does not have and for copies by node on
    one node, and ``TraceError``.
    """
    here = scene(_record(record, sharding, layouts), tuple(areas), layouts)
    if not here.kinds:
        return Simulation(refusal=f"The profile knows no object that is or holds a {record}, so the trace cannot tell.")
    replay = open_trace(trace, (here,))
    if sharding.by is ShardBy.NODE and len(set(replay.nodes)) < 2:
        raise NotSimulated(f"all CPUs of {trace} are on one node and would use one copy; say --by cpu")
    as_it_is = unchanged(here)
    before = outcomes(replay, 0, as_it_is)
    return run(replay, 0, replace(as_it_is, sharding=sharding), before, layouts)


def _record(name: str, sharding: Sharding, layouts: Layouts) -> Layout:
    variants = layouts.variants(name)
    if not variants:
        raise TypeNotFound(f"no record is called {name}; name one that `linesmith layout` shows")
    names = [member.name for member in variants[0].members]
    for member in sharding.members:
        if member not in names:
            raise NotSimulated(f"{variants[0].title} has no member {member}; {known_members(member, names)}")
    return variants[0]
