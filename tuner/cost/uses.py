# SPDX-License-Identifier: GPL-2.0-or-later
"""What functions do to which bytes of a record: as sampled, and as their code does where no sample can show it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from linesmith.analyzer.access.access_map import AccessMap
from linesmith.analyzer.access.questions import accesses_of
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.model import CACHE_LINE_BYTES, Finding, Layout, LineMember, MemberFunction, TypeAccesses
from linesmith.analyzer.sharing.parts import own_members

# CPUs that a function is taken to run on where the profile does not say.
USUAL_CPUS = 8
# What of its turns a function is taken to skip an access in of which only its code tells: code has branches.
SKIPPED = 0.5


@dataclass(frozen=True, slots=True)
class UsedBytes:
    """Bytes that are used: from ``start`` of the member at ``position``, of the object where that is ``None``."""

    position: int | None
    start: int


@dataclass(frozen=True, slots=True)
class AgentUse:
    """What an agent does to the use number ``use``: it was seen to wait, to store, and its code reads it.

    All three are samples.
    """

    use: int
    waits: float = 0.0
    stores: float = 0.0
    reads: float = 0.0


@dataclass(frozen=True, slots=True)
class Agent:
    """A function on ``cpus`` CPUs, with what it does to the record."""

    name: str
    cpus: int
    parts: tuple[AgentUse, ...]


@dataclass(frozen=True, slots=True)
class MovableRecord:
    """The record whose members move: its layout, and the bytes in the object at which they begin."""

    layout: Layout
    starts: tuple[int, ...]

    def use(self, offset: int) -> UsedBytes:
        """The place of a byte of the object."""
        for position, (start, member) in enumerate(zip(self.starts, self.layout.members, strict=True)):
            if start <= offset < start + member.size:
                return UsedBytes(position, offset - start)
        return UsedBytes(None, offset)


@dataclass(slots=True)
class _Function:
    """What was found of a function so far, by byte of the object."""

    cpus: int = 0
    waits: dict[int, float] = field(default_factory=dict)
    stores: dict[int, float] = field(default_factory=dict)
    reads: dict[int, float] = field(default_factory=dict)

    def see(self, offset: int, function: MemberFunction, per_store: float) -> None:
        """Add what was sampled of it at a byte of the object; a sampled store stands for ``per_store`` loads."""
        stores = per_store * function.stores or (function.contended if function.writes_inferred else 0)
        self.cpus = max(self.cpus, function.cpus or USUAL_CPUS)
        self.waits[offset] = self.waits.get(offset, 0.0) + function.contended
        self.stores[offset] = self.stores.get(offset, 0.0) + stores
        self.reads[offset] = self.reads.get(offset, 0.0) + max((function.records or 0) - function.stores, 0)

    @property
    def turns(self) -> float:
        """How often it came to the record, at least."""
        return max([*self.stores.values(), sum(self.waits.values())])


def code_of(record: Layout, layouts: Layouts, accesses: AccessMap | None) -> TypeAccesses | None:
    """What the code touches of a record, ``None`` where that is not known."""
    return accesses_of(record, layouts, accesses) if accesses is not None else None


def agents(
    findings: Sequence[Finding], scope: MovableRecord, code: TypeAccesses | None
) -> tuple[tuple[UsedBytes, ...], tuple[Agent, ...]]:
    """The functions seen on the lines ``findings``, whose first objects are of the record, and where they touch it.

    ``code`` is what the code of the program touches of the whole record, ``None`` where that is not known.
    """
    found: dict[str, _Function] = {}
    per_store = _per_store(findings)
    for member, function in _sampled(findings):
        found.setdefault(function.name, _Function()).see(member.object_offset or 0, function, per_store)
    for offset, name, writes, accesses in _by_code(code, findings, found):
        touched = found[name].stores if writes else found[name].reads
        touched.setdefault(offset, (1 - SKIPPED**accesses) * found[name].turns)
    offsets = sorted({offset for one in found.values() for offset in (*one.waits, *one.stores, *one.reads)})
    numbers = {offset: number for number, offset in enumerate(offsets)}
    return tuple(map(scope.use, offsets)), tuple(_agent(name, one, numbers) for name, one in found.items())


def _sampled(findings: Iterable[Finding]) -> Iterable[tuple[LineMember, MemberFunction]]:
    for finding in findings:
        for member in own_members(finding):
            for function in member.functions:
                yield member, function


def _per_store(findings: Sequence[Finding]) -> float:
    """Slow loads that are sampled for each store that is: a profile samples all stores, but few of the loads.

    Who stores in each turn cannot miss more often than that, and one of them, who comes first, misses nearly as often.
    """
    if any(finding.simulated for finding in findings):
        return 1.0
    loads, stores = Counter[str](), Counter[str]()
    for _, function in _sampled(findings):
        loads[function.name] += function.contended
        stores[function.name] = max(stores[function.name], function.stores)
    shares = [loads[name] / count for name, count in stores.items() if count and loads[name]]
    return min(1.0, max(shares, default=1.0))


def _by_code(
    code: TypeAccesses | None, findings: Iterable[Finding], found: Mapping[str, _Function]
) -> Iterable[tuple[int, str, bool, int]]:
    """Bytes of the object that the code of sampled functions touches though no sample tells it, and how often.

    Reads of a line show only while they wait; stores to a line of the profile would have been sampled.
    """
    shown = [range(-one.objects[0].start, max(one.bytes, CACHE_LINE_BYTES) - one.objects[0].start) for one in findings]
    for member in code.members if code is not None else ():
        here = [one for one in member.functions if one.function in found]
        # Who loads what other CPUs store waits for it, wherever it lies: the profile would show the member if sampled
        # functions often came to its stores.
        seldom = any(one.counts.reading for one in here) and sum(found[one.function].cpus for one in here) > 1
        for one in here:
            if one.counts.writing and not any(member.offset in line for line in shown):
                if not seldom:
                    yield member.offset, one.function, True, one.counts.writing
            elif one.counts.reading and member.offset not in found[one.function].waits:
                yield member.offset, one.function, False, one.counts.reading


def _agent(name: str, seen: _Function, numbers: Mapping[int, int]) -> Agent:
    offsets = dict.fromkeys((*seen.waits, *seen.stores, *seen.reads))
    parts = (
        AgentUse(numbers[at], seen.waits.get(at, 0.0), seen.stores.get(at, 0.0), seen.reads.get(at, 0.0))
        for at in offsets
    )
    return Agent(name, max(seen.cpus, 1), tuple(parts))
