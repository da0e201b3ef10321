# SPDX-License-Identifier: GPL-2.0-or-later
"""What sharding would save, replayed on a recorded trace: one copy on a line of its own, then 2, 4 … copies."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from linesmith.analyzer.access import AccessMap
from linesmith.analyzer.errors import NotSimulated
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import CACHE_LINE_BYTES, Gain, ObjectArea, StructuralAdvice, StructureKind
from linesmith.tuner.plan import ShardBy, Sharding, unchanged
from linesmith.tuner.replay import Outcome, Replay, open_trace
from linesmith.tuner.resampling import change_interval
from linesmith.tuner.scene import scene
from linesmith.tuner.simulated import View, outcomes
from linesmith.tuner.structure.advise import Advised

OWN_LINE = "a line of its own"
# Functions that take a lock for reading, by the names that Linux gives them.
_READERS = re.compile(r"_*(?:down|up)_read(?:_\w+)?|_*(?:raw_)?read_(?:try|un)?lock(?:_\w+)?")


@dataclass(frozen=True, slots=True)
class _Bench:
    """A scene of an opened trace, and what it costs as it was recorded."""

    replay: Replay
    number: int
    before: dict[View, Outcome]


def with_gains(
    advised: Sequence[Advised],
    areas: Iterable[ObjectArea],
    layouts: Layouts,
    trace: Path,
    accesses: AccessMap | None = None,
) -> tuple[Advised, ...]:
    """The same advice, that of sharding with its gains; ``areas`` are the objects of the profile.

    With ``accesses`` readers of the lock are also let take every copy. Raises ``TraceError``; sharding that cannot
    be replayed says why in a note.
    """
    shards = [one for answer in advised for one in answer.advice if one.kind is StructureKind.SHARD]
    records = {one.before[0].id: one.before[0] for one in shards}
    if not records:
        return tuple(advised)
    known = tuple(areas)
    replay = open_trace(trace, tuple(scene(record, known, layouts) for record in records.values()))
    benches = {record: _bench(replay, number) for number, record in enumerate(records)}
    readers = _reading(accesses)

    def gained(one: StructuralAdvice) -> StructuralAdvice:
        return _gained(one, benches[one.before[0].id], readers) if one.kind is StructureKind.SHARD else one

    return tuple(replace(answer, advice=tuple(map(gained, answer.advice))) for answer in advised)


def _bench(replay: Replay, number: int) -> _Bench | None:
    here = replay.scenes[number]
    if not here.kinds or not replay.accesses(number):
        return None
    return _Bench(replay, number, outcomes(replay, number, unchanged(here)))


def _gained(one: StructuralAdvice, bench: _Bench | None, readers: tuple[range, ...]) -> StructuralAdvice:
    if bench is None:
        return replace(one, notes=(*one.notes, f"The trace has no access to an object that is or holds a {one.type}."))
    try:
        return replace(one, gains=tuple(_gains(one, bench, readers)))
    except NotSimulated as refusal:
        return replace(one, notes=(*one.notes, f"Not replayed: {refusal}."))


def _gains(one: StructuralAdvice, bench: _Bench, readers: tuple[range, ...]) -> Iterator[Gain]:
    nodes = bench.replay.nodes
    by = ShardBy.NODE if len(set(nodes)) > 1 else ShardBy.CPU
    most = len(set(nodes)) if by is ShardBy.NODE else len(nodes)
    yield _gain(bench, Sharding(one.members, 1, by), OWN_LINE)
    best = [_gain(bench, Sharding(one.members, ways, by), "every access to one copy") for ways in steps(most)]
    yield from best
    if readers and best:
        shared = _gain(bench, Sharding(one.members, most, by, everywhere=readers), "who only reads takes every copy")
        yield from (shared,) if shared.after != best[-1].after else ()


def steps(most: int) -> list[int]:
    """2, 4, 8 … and ``most``, which is the number of nodes or CPUs."""
    doubled = [1 << bit for bit in range(1, most.bit_length()) if 1 << bit < most]
    return [*doubled, most] if most > 1 else []


def _gain(bench: _Bench, sharding: Sharding, basis: str) -> Gain:
    here = bench.replay.scenes[bench.number]
    after = outcomes(bench.replay, bench.number, replace(unchanged(here), sharding=sharding))
    view = max((one for one in bench.before if one.line_bytes == CACHE_LINE_BYTES), key=lambda one: one.everywhere)
    old, new = bench.before[view], after[view]
    interval = change_interval(old.windows, new.windows)
    where = f"{basis}; {'mean of all phases' if view.everywhere else 'objects where they lay'}"
    return Gain(
        sharding.ways, sharding.by.value, old.misses.total, new.misses.total, interval.low, interval.high, where
    )


def _reading(accesses: AccessMap | None) -> tuple[range, ...]:
    """The code of functions that take a lock for reading, as ranges of addresses."""
    if accesses is None:
        return ()
    numbers = [number for number, name in enumerate(accesses.functions) if _READERS.fullmatch(name.partition(".")[0])]
    return tuple(range(int(accesses.function_low[one]), int(accesses.function_high[one])) for one in numbers)
