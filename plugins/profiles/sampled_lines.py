# SPDX-License-Identifier: GPL-2.0-or-later
"""Which lines of the samples are shared, and everything sampled on the costliest of them; two passes, in numpy."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linesmith.analyzer.model import SampleOutcome
from linesmith.plugins.profiles.samples import DataSources, LineKeys, Mode, Numbering, Numbers, Rows, Samples, Words

# The report of perf leaves lines out that have less than a thousandth of the cost.
MOST_LINES = 1000
# Groups in memory before those of equal key are added up.
_KEPT = 1 << 19
_UNSHARED = -2

# Samples that are equal but for their latency; process and mode are those of the first of them.
GROUP = np.dtype([
    ("line", "i4"), ("offset", "u1"), ("ip", "u8"), ("cpu", "i4"), ("kind", "i4"), ("samples", "i8"),
    ("timed", "i8"), ("weight", "i8"), ("pid", "i4"), ("code", "u4"), ("mode", "u1"),
])  # fmt: skip
_ORDER = ("line", "offset", "ip", "cpu", "kind", "code")
# A group while more samples may come. Bits of its key: 10 for the line, 8 for the offset, the rest for the numbers of
# the instruction with its callers, and of CPU and data source.
_SUMS = [("samples", "i8"), ("timed", "i8"), ("weight", "i8")]
_PART = np.dtype([("key", "u8"), *_SUMS, ("pid", "i4"), ("first", "u4"), ("mode", "u1")], align=True)
_IP_BITS, _AGENT_BITS, _OFFSET_BITS = 25, 21, 8
_AGENTS, _INSTRUCTIONS, _OFFSETS, _LOW = (
    np.uint64((1 << bits) - 1) for bits in (_AGENT_BITS, _IP_BITS, _OFFSET_BITS, 32)
)
_AGENT, _INSTRUCTION, _HALF = np.uint64(_AGENT_BITS), np.uint64(_AGENT_BITS + _IP_BITS), np.uint64(32)
_OFFSET = np.uint64(_AGENT_BITS + _IP_BITS + _OFFSET_BITS)


@dataclass(frozen=True, slots=True)
class SharedLines:
    """The shared lines by cost: space and address of the costliest, and their samples in groups, by line.

    ``hitm`` and ``peer`` are the sums over all shared lines, ``count`` of them.
    """

    places: tuple[tuple[int, int], ...]
    groups: NDArray[np.void]
    sources: DataSources
    tally: Counter[SampleOutcome]
    hitm: int
    peer: int
    count: int


def shared_lines(samples: Samples, line_bytes: int, by_peer: bool) -> SharedLines:
    """The lines that a CPU found modified in another's cache, or got from another core.

    The cost of a line are its HITM loads; where ``by_peer`` holds or there are none, its peer snoops.
    """
    keys, sources = LineKeys(line_bytes), DataSources()
    lines, hitm, peer = _contended(samples, keys, sources)
    cost = peer if by_peer or not hitm.any() else hitm
    order = np.lexsort((lines, keys.regions(lines), -(hitm + peer), -cost))[:MOST_LINES]
    rank = np.full(len(lines), -1, np.int64)
    rank[order] = np.arange(len(order))
    tally: Counter[SampleOutcome] = Counter()
    groups = _groups(samples, keys, sources, lines, rank, tally, line_bytes)
    places = tuple(keys.place(int(lines[at])) for at in order)
    return SharedLines(places, groups, sources, tally, int(hitm.sum()), int(peer.sum()), len(lines))


def _memory(rows: Rows, kind: Numbers, sources: DataSources) -> NDArray[np.bool_]:
    """Whether each sample is an access of the host at a known address."""
    accesses = (sources.column("loads") + sources.column("stores"))[kind] > 0
    found: NDArray[np.bool_] = accesses & (rows["address"] != 0) & (rows["mode"] < Mode.GUEST_KERNEL)
    return found


def _contended(samples: Samples, keys: LineKeys, sources: DataSources) -> tuple[Words, Numbers, Numbers]:
    """Keys of the shared lines in rising order, with their HITM loads and peer snoops."""
    found: list[tuple[Words, Numbers, Numbers]] = [(np.empty(0, np.uint64), *(np.empty(0, np.int64),) * 2)]
    for rows in samples.batches():
        kind = sources.of(rows["source"])
        hitm = (sources.column("hitm_local") + sources.column("hitm_remote"))[kind]
        peer = (sources.column("peer_local") + sources.column("peer_remote"))[kind]
        at = np.flatnonzero((hitm + peer > 0) & _memory(rows, kind, sources))
        times = rows["samples"][at]
        found.append((keys.of(rows["address"][at], rows["space"][at]), hitm[at] * times, peer[at] * times))
        if sum(len(key) for key, _, _ in found) > max(_KEPT, 2 * len(found[0][0])):
            found = [_summed(found)]
    return _summed(found)


def _summed(found: list[tuple[Words, Numbers, Numbers]]) -> tuple[Words, Numbers, Numbers]:
    key, hitm, peer = (np.concatenate(column) for column in zip(*found, strict=True))
    lines, at = np.unique(key, return_inverse=True)
    return lines, np.bincount(at, hitm, len(lines)).astype(np.int64), np.bincount(at, peer, len(lines)).astype(np.int64)


def _groups(
    samples: Samples,
    keys: LineKeys,
    sources: DataSources,
    lines: Words,
    rank: Numbers,
    tally: Counter[SampleOutcome],
    line_bytes: int,
) -> NDArray[np.void]:
    """The samples on lines with a rank, grouped; every sample is counted in ``tally``."""
    grouping = _Grouping(line_bytes)
    for rows in samples.batches():
        kind = sources.of(rows["source"])
        memory = _memory(rows, kind, sources)
        guest = rows["mode"] >= Mode.GUEST_KERNEL
        nothing = ~guest & ((sources.column("loads") + sources.column("stores"))[kind] == 0)
        tally[SampleOutcome.GUEST] += _number(rows, guest)
        tally[SampleOutcome.NO_ACCESS] += _number(rows, nothing)
        tally[SampleOutcome.NO_ADDRESS] += _number(rows, ~(guest | nothing | memory))
        at = np.flatnonzero(memory)
        # The rank of each line; -1 for shared lines without one, -2 for others.
        key = keys.of(rows["address"][at], rows["space"][at])
        ranked = np.full(len(key), _UNSHARED, np.int64)
        if len(lines):
            place = np.minimum(np.searchsorted(lines, key), len(lines) - 1)
            ranked = np.where(lines[place] == key, rank[place], _UNSHARED)
        tally[SampleOutcome.UNSHARED_LINE] += _number(rows, at[ranked == _UNSHARED])
        tally[SampleOutcome.SHARED_LINE] += _number(rows, at[ranked != _UNSHARED])
        on_line = ranked >= 0
        at = at[on_line]
        grouping.add(rows.take(at), kind[at], ranked[on_line])
    return grouping.groups()


def _number(rows: Rows, which: NDArray[np.bool_] | NDArray[np.intp]) -> int:
    return int(rows["samples"][which].sum())


class _Grouping:
    """Puts samples on lines into groups; instructions and CPUs are numbered over all batches."""

    def __init__(self, line_bytes: int) -> None:
        self._mask = np.uint64(line_bytes - 1)
        self._addresses = Numbering()
        self._instructions = Numbering()
        self._agents = Numbering()
        self._parts = [np.empty(0, _PART)]

    def add(self, rows: Rows, kind: Numbers, line: Numbers) -> None:
        """Take in samples with their data sources and lines.

        Raises ``ValueError`` for more instructions or CPUs than keys have room for.
        """
        part = np.empty(len(rows), _PART)
        part["key"] = self._keys(rows, kind, line, rows["address"] & self._mask)
        for name in ("samples", "timed", "weight", "pid", "first", "mode"):
            part[name] = rows[name]
        self._parts.append(part)
        if sum(map(len, self._parts)) > max(_KEPT, 2 * len(self._parts[0])):
            self._parts = [_merged(self._parts)]

    def groups(self) -> NDArray[np.void]:
        """The groups of all samples, in the order of line, offset, instruction, CPU, data source and callers."""
        parts = _merged(self._parts)
        key = parts["key"]
        agent = np.array(self._agents.values, np.uint64)[key & _AGENTS]
        instruction = np.array(self._instructions.values, np.uint64)[key >> _AGENT & _INSTRUCTIONS]
        found = np.empty(len(parts), GROUP)
        for name in ("samples", "timed", "weight", "pid", "mode"):
            found[name] = parts[name]
        found["ip"] = np.array(self._addresses.values, np.uint64)[instruction >> _HALF]
        found["code"] = instruction & _LOW
        found["cpu"] = agent >> _HALF
        found["kind"] = agent & _LOW
        found["offset"] = key >> _INSTRUCTION & _OFFSETS
        found["line"] = key >> _OFFSET
        return found.take(np.lexsort([found[name] for name in reversed(_ORDER)]))

    def _keys(self, rows: Rows, kind: Numbers, line: Numbers, offset: Words) -> Words:
        agent = self._agents.of((rows["cpu"].astype(np.uint64) << np.uint64(32)) | kind.astype(np.uint64))
        address = self._addresses.of(rows["ip"]).astype(np.uint64)
        instruction = self._instructions.of(address << np.uint64(32) | rows["code"].astype(np.uint64))
        if len(self._agents.values) >> _AGENT_BITS or len(self._instructions.values) >> _IP_BITS:
            raise ValueError("more instructions or CPUs than any machine has")
        place = line.astype(np.uint64) << np.uint64(_OFFSET_BITS) | offset
        place = place << np.uint64(_IP_BITS) | instruction.astype(np.uint64)
        return place << np.uint64(_AGENT_BITS) | agent.astype(np.uint64)


def _merged(parts: list[NDArray[np.void]]) -> NDArray[np.void]:
    """One part for all of the same key, with the process and the mode of the first."""
    every = np.concatenate(parts)
    if not len(every):
        return every
    # Of records, take() is twenty times as fast as an index.
    every = every.take(np.argsort(every["key"]))
    key = every["key"]
    starts = np.flatnonzero(np.concatenate(([True], key[1:] != key[:-1])))
    first = np.minimum.reduceat(every["first"], starts)
    found = every.take(np.flatnonzero(every["first"] == np.repeat(first, np.diff(starts, append=len(every)))))
    for name in ("samples", "timed", "weight"):
        found[name] = np.add.reduceat(every[name], starts)
    return found
