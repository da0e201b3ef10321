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
_KEPT = 1 << 21
_UNSHARED = -2

# Samples that are equal but for their latency; process and mode are those of one of them. ``key`` is the same for the
# same line, offset, instruction with its callers, CPU and data source.
GROUP = np.dtype([
    ("key", "u8"), ("line", "i4"), ("offset", "u1"), ("ip", "u8"), ("cpu", "i4"), ("kind", "i4"), ("samples", "i8"),
    ("timed", "i8"), ("weight", "i8"), ("pid", "i4"), ("code", "u4"), ("mode", "u1"),
])  # fmt: skip
_ORDER = ("line", "offset", "ip", "cpu", "kind", "code")
# Bits of a key: 10 for the line, 8 for the offset, the rest for instruction and CPU.
_IP_BITS, _AGENT_BITS, _OFFSET_BITS = 25, 21, 8


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
    order = np.lexsort((lines, -(hitm + peer), -cost))[:MOST_LINES]
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
        found.append((keys.of(rows["address"][at], rows["space"][at]), hitm[at], peer[at]))
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
    groups = [np.empty(0, GROUP)]
    grouping = _Grouping(line_bytes)
    for rows in samples.batches():
        kind = sources.of(rows["source"])
        memory = _memory(rows, kind, sources)
        guest = rows["mode"] >= Mode.GUEST_KERNEL
        nothing = ~guest & ((sources.column("loads") + sources.column("stores"))[kind] == 0)
        tally[SampleOutcome.GUEST] += int(guest.sum())
        tally[SampleOutcome.NO_ACCESS] += int(nothing.sum())
        tally[SampleOutcome.NO_ADDRESS] += int((~(guest | nothing | memory)).sum())
        at = np.flatnonzero(memory)
        # The rank of each line; -1 for shared lines without one, -2 for others.
        key = keys.of(rows["address"][at], rows["space"][at])
        ranked = np.full(len(key), _UNSHARED, np.int64)
        if len(lines):
            place = np.minimum(np.searchsorted(lines, key), len(lines) - 1)
            ranked = np.where(lines[place] == key, rank[place], _UNSHARED)
        unshared = int((ranked == _UNSHARED).sum())
        tally[SampleOutcome.UNSHARED_LINE] += unshared
        tally[SampleOutcome.SHARED_LINE] += len(at) - unshared
        on_line = ranked >= 0
        at = at[on_line]
        groups.append(grouping.of(rows, at, kind[at], ranked[on_line]))
        if sum(map(len, groups)) > max(_KEPT, 2 * len(groups[0])):
            groups = [_merged(np.concatenate(groups))]
    found = _merged(np.concatenate(groups))
    return found[np.lexsort([found[name] for name in reversed(_ORDER)])]


class _Grouping:
    """Puts samples on lines into groups; instructions and CPUs are numbered over all batches."""

    def __init__(self, line_bytes: int) -> None:
        self._mask = np.uint64(line_bytes - 1)
        self._addresses = Numbering()
        self._instructions = Numbering()
        self._agents = Numbering()

    def of(self, rows: Rows, at: NDArray[np.intp], kind: Numbers, line: Numbers) -> NDArray[np.void]:
        """The groups of the samples at these places, with their data sources and lines.

        Raises ``ValueError`` for more instructions or CPUs than keys have room for.
        """
        offset = rows["address"][at] & self._mask
        key = self._keys(rows[at], kind, line, offset)
        distinct, first, which = np.unique(key, return_index=True, return_inverse=True)
        found = np.zeros(len(distinct), GROUP)
        for name in ("ip", "cpu", "pid", "code", "mode"):
            found[name] = rows[name][at[first]]
        found["key"], found["line"], found["kind"], found["offset"] = distinct, line[first], kind[first], offset[first]
        weight = rows["weight"][at]
        found["samples"] = np.bincount(which, minlength=len(distinct))
        found["timed"] = np.bincount(which, weight > 0, len(distinct))
        found["weight"] = np.bincount(which, weight, len(distinct))
        return found

    def _keys(self, rows: Rows, kind: Numbers, line: Numbers, offset: Words) -> Words:
        agent = self._agents.of((rows["cpu"].astype(np.uint64) << np.uint64(32)) | kind.astype(np.uint64))
        address = self._addresses.of(rows["ip"]).astype(np.uint64)
        instruction = self._instructions.of(address << np.uint64(32) | rows["code"].astype(np.uint64))
        if len(self._agents.values) >> _AGENT_BITS or len(self._instructions.values) >> _IP_BITS:
            raise ValueError("more instructions or CPUs than any machine has")
        place = line.astype(np.uint64) << np.uint64(_OFFSET_BITS) | offset
        place = place << np.uint64(_IP_BITS) | instruction.astype(np.uint64)
        return place << np.uint64(_AGENT_BITS) | agent.astype(np.uint64)


def _merged(groups: NDArray[np.void]) -> NDArray[np.void]:
    """One group for all of the same key."""
    distinct, first, at = np.unique(groups["key"], return_index=True, return_inverse=True)
    found = groups[first]
    for name in ("samples", "timed", "weight"):
        found[name] = np.bincount(at, groups[name], len(distinct))
    return found
