# SPDX-License-Identifier: GPL-2.0-or-later
"""What a profile says that functions did to the objects of one record: ``SampledTouch``, one for each place.

What they do besides, by their code, where no sample can show it, comes behind.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from linesmith.analyzer.access.access_map import AccessMap
from linesmith.analyzer.access.questions import accesses_of
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
from linesmith.tuner.reconstruction.memory import addresses
from linesmith.tuner.replay.scene import TraceScene

WORD_BYTES = 8
# CPUs that a function runs on where the profile does not say.
USUAL_CPUS = 8
MOST_CPUS = 64
# Touches of one record that are followed, those sampled most; more are noise, and cost time.
MOST_TOUCHES = 48


class TouchKind(IntEnum):
    """What an access does, by the number that the replayer has for it; ``ATOMIC`` loads and stores."""

    LOAD = 0
    STORE = 1
    ATOMIC = 2


@dataclass(frozen=True, slots=True)
class SampledTouch:
    """What ``function`` did to ``width`` bytes at ``offset`` of the object that begins at ``address``.

    ``hitm`` are loads of a line that another CPU had modified, ``slow`` other loads that were sampled, ``stores`` and
    ``missed`` stores and those of them that missed: samples, ``None`` where the profile does not say. ``done`` are all
    accesses of a recording. ``sampled`` is false of what only the code tells; ``often`` is then how many accesses.
    """

    address: int
    offset: int
    width: int
    function: str
    kind: TouchKind
    hitm: float = 0.0
    stores: float | None = 0.0
    missed: float | None = None
    slow: float | None = None
    done: float | None = None
    cpus: int | None = None
    code: int = 0
    sampled: bool = True
    quiet: bool = False
    often: int = 1

    @property
    def weight(self) -> float:
        """All of its samples."""
        return self.hitm + (self.stores or 0.0) + (self.slow or 0.0)


@dataclass(frozen=True, slots=True)
class Evidence:
    """All touches of a record, the sampled ones first; ``nodes`` has the node of each CPU.

    ``exact`` tells a recording, whose counts are those of all accesses.
    """

    touches: tuple[SampledTouch, ...]
    nodes: tuple[int, ...]
    exact: bool = False


def evidence(
    findings: Sequence[Finding], profile: Profile, layouts: Layouts, code: AccessMap | None, here: TraceScene
) -> Evidence:
    """What ``profile`` says of the first objects of ``findings``, all of one layout, that lie in the scene."""
    outer = layouts.by_id(findings[0].objects[0].layout or 0)
    known = accesses_of(outer, layouts, code) if code is not None else None
    lines = {line.rank: line for line in profile.lines}
    seen: dict[tuple[int, int, str, TouchKind], SampledTouch] = {}
    for finding, address in zip(findings, addresses(findings, here), strict=True):
        for one in _on_line(finding, lines[finding.rank], address, outer, layouts, known):
            key = one.address, one.offset, one.function, one.kind
            seen[key] = _sum(seen[key], one) if key in seen else one
    sampled = sorted(seen.values(), key=lambda one: -one.weight)[:MOST_TOUCHES]
    exact = profile.recording is not None
    shown = {(one.address + one.offset) // CACHE_LINE_BYTES for one in sampled}
    by_code = _by_code(sampled, shown, known) if known is not None else ()
    return Evidence((*sampled, *by_code), _nodes(findings, profile, lines, sampled), exact)


def _on_line(
    finding: Finding, line: CacheLine, address: int, outer: Layout, layouts: Layouts, code: TypeAccesses | None
) -> Iterator[SampledTouch]:
    start = finding.objects[0].start
    for row in line.accesses:
        if row.offset is None:
            continue
        offset = row.offset - start
        leaf = leaf_at(outer, layouts, offset) if 0 <= offset < outer.size else None
        width = row.width or (min(leaf.size, WORD_BYTES) if leaf and leaf.size else 1)
        function = row.function or f"{row.code_address or 0:#x}"
        hitm = float(row.contended - (row.taken or 0))
        stores = float(row.stores)
        yield SampledTouch(
            address,
            offset,
            min(width, CACHE_LINE_BYTES),
            function,
            _kind(row, _counts(code, offset, function)),
            hitm,
            stores if _has_stores(row) else None,
            float(row.stores_l1_miss) if row.stores_l1_miss is not None else None,
            max(row.records - hitm - stores, 0.0) if row.records is not None else None,
            float(row.records) if row.records is not None else None,
            row.cpus,
            row.code_address or 0,
        )


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
    loads, stores = row.contended - (row.taken or 0) > 0, row.stores > 0
    updates = code is not None and code.counts.updates + code.counts.atomics == code.counts.total
    if (loads and stores) or (updates and (loads or stores)):
        return TouchKind.ATOMIC
    return TouchKind.STORE if stores else TouchKind.LOAD


def _sum(one: SampledTouch, other: SampledTouch) -> SampledTouch:
    """Both as one."""

    def added(first: float | None, second: float | None) -> float | None:
        return None if first is None or second is None else first + second

    return replace(
        one,
        hitm=one.hitm + other.hitm,
        stores=added(one.stores, other.stores),
        missed=added(one.missed, other.missed),
        slow=added(one.slow, other.slow),
        done=added(one.done, other.done),
        cpus=max(filter(None, (one.cpus, other.cpus)), default=None),
    )


def _nodes(
    findings: Sequence[Finding], profile: Profile, lines: Mapping[int, CacheLine], touches: Sequence[SampledTouch]
) -> tuple[int, ...]:
    """The node of each CPU: those of a recording, else as many as functions ran on, on the nodes that were seen."""
    if profile.recording is not None:
        return profile.recording.nodes
    rows = [row for finding in findings for row in lines[finding.rank].accesses]
    seen = sorted(origin(rows).nodes) or [0]
    count = max((one.cpus or 0 for one in touches), default=0) or USUAL_CPUS
    return tuple(seen[cpu % len(seen)] for cpu in range(min(max(2 * count, 2), MOST_CPUS)))


def _by_code(sampled: Sequence[SampledTouch], shown: set[int], code: TypeAccesses) -> Iterator[SampledTouch]:
    """What the sampled functions touch by their code though no sample tells it.

    A store to a line of the profile would have been sampled.
    """
    functions = {(one.function, one.address): one for one in reversed(sampled)}
    known = {(one.function, one.address, one.offset) for one in sampled}
    for member in code.members:
        for found in member.functions:
            for (name, address), one in functions.items():
                if name != found.function or any(
                    (name, address, member.offset + byte) in known for byte in range(max(member.size, 1))
                ):
                    continue
                quiet = (address + member.offset) // CACHE_LINE_BYTES not in shown
                kind = TouchKind.LOAD if found.counts.reading else TouchKind.STORE
                if found.counts.writing and quiet:
                    kind = TouchKind.ATOMIC if found.counts.reading else TouchKind.STORE
                if kind is TouchKind.LOAD or quiet:
                    yield replace(
                        one,
                        offset=member.offset,
                        width=min(max(member.size, 1), WORD_BYTES),
                        kind=kind,
                        hitm=0.0,
                        stores=0.0,
                        missed=None,
                        slow=None,
                        done=None,
                        sampled=False,
                        quiet=quiet,
                        often=found.counts.total,
                    )
