# SPDX-License-Identifier: GPL-2.0-or-later
"""Structural advice for findings, each piece given once; a finding without evidence gets none.

With a trace it says what sharding would save, one copy on a line of its own, then 2, 4 … copies; or pulling in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from linesmith.analyzer.access.access_map import AccessMap
from linesmith.analyzer.base.errors import NotSimulated, TypeNotFound
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.placement import round_up, visible_places
from linesmith.analyzer.model import (
    CACHE_LINE_BYTES,
    ONE_COPY,
    Finding,
    Gain,
    Judgement,
    Layout,
    Profile,
    StructuralAdvice,
    StructureKind,
)
from linesmith.tuner.constraints.freedom import NO_PREMISES, Premises
from linesmith.tuner.replay.plan import ShardBy, Sharding, aligned, unchanged
from linesmith.tuner.replay.recommend import UNCOUNTED, ProfileTotal, traced
from linesmith.tuner.replay.replayer import Replay
from linesmith.tuner.replay.runs import RecordRuns, ReplayedLayout
from linesmith.tuner.structure.case import AdvicePremises, Case, case_of, known_members
from linesmith.tuner.structure.locks import counting_apart, sharding, shrinking
from linesmith.tuner.structure.members import pulling_in, pushing_out, reading_first

Rule = Callable[[Case], Iterator[StructuralAdvice]]

# Of a line: the cheap changes of code first, then those of the layout, then those that change how the object is used.
RULES: tuple[Rule, ...] = (reading_first, counting_apart, shrinking, pushing_out, sharding)
# Of all lines with such objects together.
RECORD_RULES: tuple[Rule, ...] = (pulling_in,)

# Less than this of the profile's contention, or fewer contended accesses, are noise.
LEAST_SHARE = 0.002
LEAST_CONTENDED = 30

OWN_LINE = "a line of its own"
# Functions that take a lock for reading, by the names that Linux gives them.
_READERS = re.compile(r"_*(?:down|up)_read(?:_\w+)?|_*(?:raw_)?read_(?:try|un)?lock(?:_\w+)?")


@dataclass(frozen=True, slots=True)
class AdvisedFinding:
    """A finding with the advice that was first found there."""

    finding: Finding
    advice: tuple[StructuralAdvice, ...]


def advise(
    found: Sequence[Finding], layouts: Layouts, premises: Premises = NO_PREMISES, accesses: AccessMap | None = None
) -> tuple[AdvisedFinding, ...]:
    """The advice for all findings of a profile, each piece at the hottest line it holds for.

    ``accesses`` is the access map of the same ELF file; without one most rules say nothing.
    """
    known: set[tuple[StructureKind, str, tuple[str, ...]]] = set()
    answers = []
    base = AdvicePremises(layouts, premises, accesses)
    for finding in found:
        others = [one for one in found if one is not finding]
        fresh = [one for one in _ruled(finding, others, base) if (one.kind, one.type, one.members) not in known]
        known.update((one.kind, one.type, one.members) for one in fresh)
        if fresh:
            answers.append(AdvisedFinding(finding, tuple(fresh)))
    return tuple(answers)


def _ruled(finding: Finding, others: Sequence[Finding], base: AdvicePremises) -> tuple[StructuralAdvice, ...]:
    """What the rules say of a line that is more than noise, or of a record whose lines together are."""
    case = case_of(finding, others, base)
    if case is None or not _counts(case.same):
        return ()
    alone = RULES if _counts((finding,)) else ()
    return tuple(one for rule in (*alone, *RECORD_RULES) for one in rule(case))


def _counts(found: Sequence[Finding]) -> bool:
    enough = sum(one.contended for one in found) >= LEAST_CONTENDED
    return enough and sum(one.share for one in found) >= LEAST_SHARE


def with_gains(
    advised: Sequence[AdvisedFinding],
    profile: Profile,
    layouts: Layouts,
    trace: Path | Replay,
    accesses: AccessMap | None = None,
    total: ProfileTotal = UNCOUNTED,
) -> tuple[AdvisedFinding, ...]:
    """The same advice, with the gains of sharding and of pulling in; the trace is of the recording ``profile``.

    Gains are parts of the ``total``. With ``accesses`` readers of the lock are also let take every copy. Raises
    ``TraceError``; what cannot be replayed says why in a note.
    """
    if not (records := replayed(advised)):
        return tuple(advised)
    runs = traced(records, profile, layouts, trace, total=total)
    # The code of functions that take a lock for reading, as ranges of addresses.
    readers: tuple[range, ...] = ()
    if accesses is not None:
        names = enumerate(accesses.functions)
        numbers = [number for number, name in names if _READERS.fullmatch(name.partition(".")[0])]
        readers = tuple(range(int(accesses.function_low[at]), int(accesses.function_high[at])) for at in numbers)

    def gained(one: StructuralAdvice) -> StructuralAdvice:
        record = _moved(one)
        return one if record is None else _gained(one, record, runs[record.id], layouts, readers)

    return tuple(replace(answer, advice=tuple(map(gained, answer.advice))) for answer in advised)


def replayed(advised: Iterable[AdvisedFinding]) -> tuple[Layout, ...]:
    """The records whose objects are replayed elsewhere for the gains."""
    moved = [record for answer in advised for record in map(_moved, answer.advice) if record is not None]
    return tuple({record.id: record for record in moved}.values())


def _moved(one: StructuralAdvice) -> Layout | None:
    """The record whose objects are replayed elsewhere; ``None`` for advice that no replay can judge."""
    places = {StructureKind.SHARD: 0, StructureKind.PULL_IN: 1}
    return one.before[places[one.kind]] if one.kind in places else None


def _gained(
    one: StructuralAdvice, record: Layout, runs: RecordRuns | str, layouts: Layouts, readers: tuple[range, ...]
) -> StructuralAdvice:
    if isinstance(runs, str):
        return replace(one, notes=(*one.notes, f"Not replayed: {runs}"))
    try:
        if one.kind is StructureKind.SHARD:
            return replace(one, gains=tuple(_sharded(one, runs, layouts, readers)))
        stride = round_up(record.size, CACHE_LINE_BYTES)
        own = runs.under(lambda here: aligned(here, stride))
        return replace(one, gains=(_gain(runs, own, 1, "line", "each on lines of its own"),))
    except NotSimulated as refusal:
        return replace(one, notes=(*one.notes, f"Not replayed: {refusal}."))


def _sharded(one: StructuralAdvice, runs: RecordRuns, layouts: Layouts, readers: tuple[range, ...]) -> Iterator[Gain]:
    nodes = runs.nodes
    by = ShardBy.NODE if len(set(nodes)) > 1 else ShardBy.CPU
    most = len(set(nodes)) if by is ShardBy.NODE else len(nodes)
    shared = Sharding(one.members, 1, by, spans=_inside(one, layouts))
    yield _gain(runs, split_by(runs, shared), 1, by, OWN_LINE)
    best = [_gain(runs, split_by(runs, replace(shared, ways=ways)), ways, by) for ways in steps(most)]
    yield from best
    if readers and best:
        walking = split_by(runs, replace(shared, ways=most, everywhere=readers))
        walked = _gain(runs, walking, most, by, "who only reads takes every copy")
        yield from (walked,) if walked.after != best[-1].after else ()


def split_by(runs: RecordRuns, sharding: Sharding) -> ReplayedLayout:
    """The runs with the record's members in copies."""
    return runs.under(lambda here: replace(unchanged(here), sharding=sharding))


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


def _gain(runs: RecordRuns, then: ReplayedLayout, ways: int, by: str, basis: str = ONE_COPY) -> Gain:
    """A layout against what was recorded, in all phases where objects have several."""
    found = runs.judgement(then)
    where = f"{basis}; {'mean of all offsets in a line' if runs.phases > 1 else 'objects as placed'}"
    misses, bounds = (round(found.before), round(found.after)), (found.interval.low, found.interval.high)
    return Gain(ways, str(by), *misses, *bounds, where, round(found.whole))


def judged_shards(
    record: str, sharding: Sharding, profile: Profile, layouts: Layouts, trace: Path, total: ProfileTotal = UNCOUNTED
) -> Judgement:
    """The members of ``sharding`` in every ``record`` of the profile, split: misses before and after, of the ``total``.

    Raises ``TypeNotFound``, ``NotSimulated`` for a member that the record does not have and for copies by node on
    one node, and ``TraceError``.
    """
    layout = _record(record, sharding, layouts)
    runs = traced((layout,), profile, layouts, trace, total=total)[layout.id]
    if isinstance(runs, str):
        return Judgement(refusal=runs)
    if sharding.by is ShardBy.NODE and len(set(runs.nodes)) < 2:
        raise NotSimulated(f"all CPUs of {trace} are on one node and would use one copy; use --by cpu")
    return runs.judgement(split_by(runs, sharding))


def _record(name: str, sharding: Sharding, layouts: Layouts) -> Layout:
    variants = layouts.variants(name)
    if not variants:
        raise TypeNotFound(f"no record {name}; name one that `linesmith layout` shows")
    names = [member.name for member in variants[0].members]
    for member in sharding.members:
        if member not in names:
            raise NotSimulated(f"{variants[0].title} has no member {member}; {known_members(member, names)}")
    return variants[0]
