# SPDX-License-Identifier: GPL-2.0-or-later
"""From samples to a profile: the lines that ``perf c2c report`` would show, counted by its rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linesmith.analyzer.base.errors import ProfileError
from linesmith.analyzer.model import (
    MOST_CALL_PATHS,
    MOST_CALLERS,
    Access,
    CacheLine,
    CallPath,
    CpuCounts,
    Profile,
    Remark,
    SampleOutcome,
    Sampling,
)
from linesmith.plugins.profiles.perf_data.processes import Processes
from linesmith.plugins.profiles.sampled_lines import SharedLines, shared_lines
from linesmith.plugins.profiles.samples import KERNEL, Mode, Numbers, Samples
from linesmith.plugins.profiles.script_line import CodePlace

_ARM = ("aarch64", "arm64")
_SHOWN = (
    "hitm_remote", "hitm_local", "peer_remote", "peer_local", "stores_l1_hit", "stores_l1_miss", "stores_na",
)  # fmt: skip
_COUNTS = (*_SHOWN, "loads", "stores")
_HITMS = ("hitm_remote", "hitm_local")
_PEERS = ("peer_remote", "peer_local")


def profile_of_samples(
    samples: Samples,
    source: str,
    sampling: Sampling,
    events: tuple[str, ...] = (),
    nodes: Mapping[int, int] | None = None,
    remarks: tuple[Remark, ...] = (),
    processes: Processes | None = None,
) -> Profile:
    """The profile of all ``samples``, lines by cost, with every sample in one outcome.

    ``nodes`` is the node of each CPU, as far as known. Raises ``ProfileError`` when no line among them is shared.
    """
    machine = sampling.machine or ""
    line_bytes = 128 if machine.startswith("ppc") else 64
    # Samples that tell of no mappings: every process has its own memory.
    processes = processes or Processes()
    for rows in samples.batches():
        processes.locate(rows)
    found = shared_lines(samples, line_bytes, machine in _ARM)
    found.tally.update({SampleOutcome.NOT_READ: samples.unread, SampleOutcome.LOST: samples.lost})
    outcomes = tuple((one, found.tally[one]) for one in SampleOutcome if found.tally[one])
    if not found.places:
        raise ProfileError(_nothing_shared(source, outcomes))
    by_peer = machine in _ARM or not found.hitm
    builder = _LineBuilder(found, samples, nodes or {}, by_peer, processes)
    lines = builder.lines(line_bytes, found.peer if by_peer else found.hitm)
    pids = {line.pid for line in lines if line.pid is not None}
    left_out = found.count - len(found.places)
    more = (Remark(f"{left_out} more shared lines of less cost are counted, but not listed"),) if left_out else ()
    return Profile(
        source,
        "",
        "peer" if by_peer else "hitm",
        lines,
        (*remarks, *more),
        events=events,
        sampling=replace(sampling, outcomes=outcomes, mappings=processes.files_of(pids)),
    )


def _nothing_shared(source: str, outcomes: tuple[tuple[SampleOutcome, int], ...]) -> str:
    ended = ", ".join(f"{count} {outcome}" for outcome, count in outcomes) or "it has none"
    return (
        f"{source} holds no sample of a load of a line modified in another cache or given by another core "
        f"(samples: {ended}); use `perf c2c record` where the PMU tells it, or `linesmith record --on qemu`"
    )


class _LineBuilder:
    """Makes the lines, accesses and counts by CPU out of groups in the order of line, offset, instruction, CPU."""

    def __init__(
        self, found: SharedLines, samples: Samples, nodes: Mapping[int, int], by_peer: bool, processes: Processes
    ) -> None:
        self._samples = samples
        self._processes = processes
        self._hosts = [processes.host_of(space) for space, _ in found.places]
        self._nodes = nodes
        self._found = found
        groups = found.groups
        self._cost = _PEERS if by_peer else _HITMS
        times = groups["samples"]
        counts = {name: found.sources.column(name)[groups["kind"]] * times for name in _COUNTS}
        counts["cost"] = counts[self._cost[0]] + counts[self._cost[1]]
        self._lines = _SummedGroups(groups, counts, ("line",))
        # Peer snoops where the whole row (offset and instruction) has no HITM.
        hitm, peer = (counts[one] + counts[other] for one, other in (_HITMS, _PEERS))
        rows = _SummedGroups(groups, {"hitm": hitm}, ("line", "offset", "ip"))
        lengths = np.diff(np.append(rows.starts, len(groups)))
        counts["contended"] = np.where(np.repeat(rows.sums["hitm"], lengths) > 0, hitm, peer)
        self._rows = _SummedGroups(groups, counts | _latencies(groups, counts, self._cost), ("line", "offset", "ip"))
        loading = {"cycles": groups["weight"] * (counts["loads"] > 0), "timed": groups["timed"] * (counts["loads"] > 0)}
        self._cpus = _SummedGroups(groups, counts | loading, ("line", "offset", "ip", "cpu"))
        self._paths = self._call_paths(groups, counts["contended"])

    def lines(self, line_bytes: int, whole: int) -> tuple[CacheLine, ...]:
        """Every line that was kept, by cost; ``whole`` is the cost of all lines."""
        by_line: list[list[Access]] = [[] for _ in self._found.places]
        for line, access in zip(self._rows.groups["line"].tolist(), self._accesses(), strict=True):
            by_line[line].append(access)
        return tuple(
            self._line(rank, address, line_bytes, accesses, whole)
            for rank, ((_, address), accesses) in enumerate(zip(self._found.places, by_line, strict=True))
        )

    def _line(self, rank: int, address: int, line_bytes: int, accesses: list[Access], whole: int) -> CacheLine:
        counts = {name: sums[rank] for name, sums in self._lines.sums.items()}
        shown: dict[str, Any] = {name: counts[name] for name in _SHOWN}
        accesses.sort(key=lambda one: (-one.contended, -one.stores, one.offset or 0, one.code_address or 0))
        return CacheLine(
            rank + 1,
            address,
            tuple(accesses),
            line_bytes,
            **shown,
            records=counts["loads"] + counts["stores"],
            loads=counts["loads"],
            share=counts["cost"] / max(whole, 1),
            pid=self._hosts[rank],
        )

    def _call_paths(self, groups: NDArray[np.void], contended: Numbers) -> dict[tuple[int, int, int], list[CallPath]]:
        """Who called the code of contended samples, by line, offset and instruction; the most frequent first."""
        at = np.flatnonzero(contended)
        at = at[np.lexsort([groups[name][at] for name in ("code", "ip", "offset", "line")])]
        summed = _SummedGroups(groups.take(at), {"count": contended[at]}, ("line", "offset", "ip", "code"))
        found: dict[tuple[int, int, int], list[CallPath]] = {}
        for group, count in sorted(zip(summed.groups, summed.sums["count"], strict=True), key=lambda one: -one[1]):
            code = self._samples.code[int(group["code"])]
            if code.callers or code.returns:
                place = int(group["line"]), int(group["offset"]), int(group["ip"])
                found.setdefault(place, []).append(CallPath(code.callers[:MOST_CALLERS], count, code.returns))
        return found

    def _accesses(self) -> Iterator[Access]:
        """One access for each line, offset and instruction; the CPUs of a row are those up to the next row."""
        starts = [*np.searchsorted(self._cpus.starts, self._rows.starts).tolist(), len(self._cpus.starts)]
        columns = (self._cpus.sums[name] for name in ("loads", "stores", "contended", "cycles", "timed"))
        cpus = [
            CpuCounts(cpu, self._nodes.get(cpu), *counts)
            for cpu, *counts in zip(self._cpus.groups["cpu"].tolist(), *columns, strict=True)
        ]
        sums = self._rows.sums
        names = tuple(sums)
        for row, (group, values) in enumerate(zip(self._rows.groups, zip(*sums.values(), strict=True), strict=True)):
            by_cpu = tuple(one for one in cpus[starts[row] : starts[row + 1]] if one.cpu >= 0)
            yield self._access(group, dict(zip(names, values, strict=True)), by_cpu)

    def _access(self, group: np.void, counts: Mapping[str, int], by_cpu: tuple[CpuCounts, ...]) -> Access:
        host = self._hosts[int(group["line"])]
        pid, mode, ip = int(group["pid"]), int(group["mode"]), int(group["ip"])
        code = self._samples.code[int(group["code"])]
        shown: dict[str, Any] = {name: counts[name] for name in _SHOWN}
        kernel = ip >= KERNEL if mode == Mode.UNKNOWN else mode != Mode.USER
        return Access(
            int(group["offset"]),
            code.function,
            **shown,
            records=counts["loads"] + counts["stores"],
            cpus=len(by_cpu) or None,
            cycles_remote=_mean(counts, "remote"),
            cycles_local=_mean(counts, "local"),
            cycles_load=_mean(counts, "load"),
            code_address=ip or None,
            object_file=code.object_file or self._processes.object_at(None if kernel else host, ip),
            process=None if kernel or pid < 0 else f"{pid}:{self._samples.commands.get(pid, '')}",
            kernel=kernel,
            by_cpu=by_cpu,
            call_paths=tuple(self._paths.get((int(group["line"]), int(group["offset"]), ip), ())[:MOST_CALL_PATHS]),
        )


class _SummedGroups:
    """Sums of columns over all groups that are next to each other and equal in some fields."""

    def __init__(self, groups: NDArray[np.void], columns: Mapping[str, Numbers], equal: tuple[str, ...]) -> None:
        new = np.zeros(len(groups), np.bool_)
        new[:1] = True
        for name in equal:
            new[1:] |= groups[name][1:] != groups[name][:-1]
        self.starts = np.flatnonzero(new)
        self.groups = groups.take(self.starts)
        self.sums: dict[str, list[int]] = {
            name: np.add.reduceat(column, self.starts).tolist() for name, column in columns.items()
        }


def _latencies(groups: NDArray[np.void], counts: Mapping[str, Numbers], cost: tuple[str, str]) -> dict[str, Numbers]:
    """Latencies and how many samples have one: of remote and local contended loads, and of the other loads."""
    contended = sum(counts[name] for name in (*_HITMS, *_PEERS))
    which = {
        "remote": counts[cost[0]] > 0,
        "local": (counts[cost[1]] > 0) & (counts[cost[0]] == 0),
        "load": (counts["loads"] > 0) & (contended == 0),
    }
    found = {}
    for name, counting in which.items():
        found[f"{name}_cycles"] = groups["weight"] * counting
        found[f"{name}_timed"] = groups["timed"] * counting
    return found


def _mean(counts: Mapping[str, int], name: str) -> int | None:
    timed = counts[f"{name}_timed"]
    return counts[f"{name}_cycles"] // timed if timed else None


_KERNEL_FILES = ("[kernel.kallsyms]", "[kernel.vmlinux]")
# x86-64 has its kernel in the last 2 GiB and moves it by few distances, all of which can be tried: that is surer, for
# a static function may be there twice.
_X86_KERNEL = 0xFFFFFFFF80000000


class SymbolStarts:
    """The starts of the kernel's functions at run time, which tell how far KASLR moved it."""

    def __init__(self) -> None:
        self._starts: dict[str, int] = {}
        self._times: Counter[str] = Counter()

    def add(self, place: CodePlace) -> None:
        """Take in where a sample's function begins; one that begins at two places is of no use."""
        if place.start is None or place.symbol is None or not place.object_file:
            return
        if KERNEL <= place.start < _X86_KERNEL and place.object_file.startswith(_KERNEL_FILES):
            same = self._starts.setdefault(place.symbol, place.start) == place.start
            self._times[place.symbol] += 1 if same else -(1 << 40)

    @property
    def anchor(self) -> tuple[str, int] | None:
        """The function that was sampled most, with its start; ``None`` where none is known, and on x86."""
        symbol, times = max(self._times.items(), key=lambda one: (one[1], one[0]), default=("", 0))
        return (symbol, self._starts[symbol]) if times > 0 else None
