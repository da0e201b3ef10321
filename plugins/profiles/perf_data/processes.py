# SPDX-License-Identifier: GPL-2.0-or-later
"""Which file lies where in which process, as the records of a perf.data file tell.

Lines are grouped as perf does (``sort__dcacheline_cmp`` of tools/perf/util/sort.c): those of a mapped file are the same
in all processes, those of anonymous memory are each process's own.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linesmith.analyzer.base.child import Streams, child, find, wait
from linesmith.analyzer.base.errors import ProfileError, ToolMissing
from linesmith.analyzer.model import FileMapping
from linesmith.plugins.profiles.perf_data.records import PerfRecord, text_of, unpack
from linesmith.plugins.profiles.samples import Code, Mode, Rows, Samples, Words, mode_of
from linesmith.plugins.profiles.script_line import read_sample

KERNEL = -1
_KERNEL_NAME = "[kernel.kallsyms]"
_HAS_BUILD_ID = 1 << 14
_MAP_SHARED = 1
_MODE = 7
# Spaces from here on are those of files.
_FILES = 1 << 31
_NEVER = (0, 0, 0, 0)
# A hostile file may tell of more; real machines have some thousand processes with some hundred mappings each.
_MOST_MAPPINGS = 2_000_000


class MappedPiece(NamedTuple):
    """A piece of an address space; ``identity`` is device, inode and generation, zeros for anonymous memory."""

    start: int
    end: int
    offset: int
    path: str
    identity: tuple[int, int, int, int] = _NEVER
    shared: bool = False


class AddressSpace:
    """The mappings of a process; a new one takes the place of what it covers."""

    def __init__(self, mappings: list[MappedPiece] | None = None) -> None:
        self.mappings = list(mappings or ())
        self._starts = [one.start for one in self.mappings]

    def add(self, new: MappedPiece) -> None:
        """Lay a mapping over what is there."""
        if new.end <= new.start:
            return
        first = bisect_right(self._starts, new.start)
        if first and self.mappings[first - 1].end > new.start:
            first -= 1
        last = bisect_left(self._starts, new.end)
        pieces = []
        for old in self.mappings[first:last]:
            if old.start < new.start:
                pieces.append(old._replace(end=new.start))
            if old.end > new.end:
                pieces.append(old._replace(start=new.end, offset=old.offset + new.end - old.start))
        pieces.append(new)
        pieces.sort()
        self.mappings[first:last] = pieces
        self._starts[first:last] = [one.start for one in pieces]

    def at(self, address: int) -> MappedPiece | None:
        """What lies at an address."""
        number = bisect_right(self._starts, address) - 1
        return self.mappings[number] if number >= 0 and address < self.mappings[number].end else None


@dataclass(slots=True)
class Processes:
    """Every process of the file, the kernel being number -1; ``anchor`` is its reference symbol where it lay."""

    spaces: dict[int, AddressSpace] = field(default_factory=dict)
    commands: dict[int, str] = field(default_factory=dict)
    builds: dict[str, str] = field(default_factory=dict)
    anchor: tuple[str, int] | None = None
    _mappings: int = 0
    _numbers: dict[tuple[object, ...], int] = field(default_factory=dict)
    _hosts: list[int] = field(default_factory=list)
    _parts: dict[int, list[tuple[int, MappedPiece]]] = field(default_factory=dict)
    _tables: dict[int, _PieceTable] = field(default_factory=dict)

    def take(self, kind: int, record: bytes) -> None:
        """Take in a record about processes. Raises ``struct.error``, or ``ValueError`` for too many mappings."""
        match kind:
            case PerfRecord.MMAP | PerfRecord.MMAP2:
                self._map(kind, record)
            case PerfRecord.COMM:
                pid, tid = unpack("ii", record, 8)
                if pid == tid:
                    self.commands[pid] = text_of(record[16:])
            case PerfRecord.FORK:
                pid, parent = unpack("ii", record, 8)
                if pid != parent and parent in self.spaces:
                    self.spaces.setdefault(pid, AddressSpace(self.spaces[parent].mappings))
                    self._mappings += len(self.spaces[parent].mappings)

    def _map(self, kind: int, record: bytes) -> None:
        misc = unpack("H", record, 4)[0]
        pid, _, start, length, offset = unpack("iiQQQ", record, 8)
        named = record[72:] if kind == PerfRecord.MMAP2 else record[40:]
        path = text_of(named)
        if misc & _MODE in (Mode.GUEST_KERNEL, Mode.GUEST_USER):
            return
        if pid == KERNEL and path.startswith(_KERNEL_NAME) and path != _KERNEL_NAME and self.anchor is None:
            self.anchor = (path.removeprefix(_KERNEL_NAME), offset)
        if kind == PerfRecord.MMAP2 and misc & _HAS_BUILD_ID:
            self.builds.setdefault(path, record[44 : 44 + min(record[40], 20)].hex())
        identity = _NEVER
        if kind == PerfRecord.MMAP2 and not misc & _HAS_BUILD_ID:
            major, minor, inode, generation = unpack("IIQQ", record, 40)
            identity = (major, minor, inode, generation)
        self._mappings += 1
        if self._mappings > _MOST_MAPPINGS:
            raise ValueError(f"it has more than {_MOST_MAPPINGS} mappings")
        end = min(start + length, (1 << 64) - 1)
        shared = kind == PerfRecord.MMAP2 and bool(unpack("I", record, 68)[0] & _MAP_SHARED)
        self.spaces.setdefault(pid, AddressSpace()).add(MappedPiece(start, end, offset, path, identity, shared))

    def locate(self, rows: Rows) -> None:
        """Give the samples their spaces; addresses in a file become those of the first process that has it mapped."""
        user = np.flatnonzero(rows["mode"] == Mode.USER)
        by_process = user[np.argsort(rows["pid"][user])]
        pids = rows["pid"][by_process]
        for at in filter(len, np.split(by_process, np.flatnonzero(np.diff(pids)) + 1)):
            pid = int(rows["pid"][at[0]])
            # Made when the process is first met: by then all its mappings are known.
            if pid not in self._tables:
                own = self.spaces.get(pid, AddressSpace())
                self._tables[pid] = _PieceTable(own, [self._host(one, pid) for one in own.mappings], pid)
            table = self._tables[pid]
            rows["address"][at], rows["space"][at] = table.moved(rows["address"][at])
            rows["ip"][at], _ = table.moved(rows["ip"][at])

    def _host(self, mapping: MappedPiece, pid: int) -> tuple[int, int]:
        """The space of a mapping, and how far its addresses are from those in the first process that has its file."""
        if not mapping.shared and mapping.identity == _NEVER:  # it is of no file
            return pid + 1, 0
        key = (mapping.identity, mapping.path)
        number = self._numbers.setdefault(key, len(self._hosts))
        if number == len(self._hosts):
            self._hosts.append(pid)
        if self._hosts[number] == pid:
            return _FILES + number, 0
        if number not in self._parts:
            theirs = self.spaces[self._hosts[number]].mappings
            self._parts[number] = sorted((one.offset, one) for one in theirs if (one.identity, one.path) == key)
        parts = self._parts[number]
        at = bisect_right(parts, mapping.offset, key=lambda part: part[0]) - 1
        if at < 0 or mapping.offset >= parts[at][0] + parts[at][1].end - parts[at][1].start:
            return pid + 1, 0
        return _FILES + number, (parts[at][1].start - parts[at][0]) - (mapping.start - mapping.offset)

    def host_of(self, space: int) -> int | None:
        """The process whose addresses the lines of a space have; ``None`` for the kernel's."""
        if _FILES <= space < _FILES + len(self._hosts):
            return self._hosts[space - _FILES]
        return space - 1 if space else None

    def object_at(self, pid: int | None, address: int) -> str | None:
        """The file that the code at an address lies in, by the process whose address it is."""
        pids = (KERNEL,) if pid is None else (pid, *self._hosts)
        found = (space.at(address) for one in pids if (space := self.spaces.get(one)))
        mapping = next((one for one in found if one), None)
        if mapping is None:
            return None
        return _KERNEL_NAME if pid is None and mapping.path.startswith(_KERNEL_NAME) else mapping.path

    def files_of(self, pids: set[int]) -> tuple[FileMapping, ...]:
        """The mappings of files in these processes, and in those whose addresses stand for all."""
        return tuple(
            FileMapping(pid, one.path, one.start, one.end, one.offset)
            for pid in sorted(pids | set(self._hosts))
            if pid in self.spaces
            for one in self.spaces[pid].mappings
            if one.path.startswith("/") and not one.path.startswith("//")
        )


class _PieceTable:
    """The mappings of a process as columns, each with its space and how far it is moved."""

    def __init__(self, space: AddressSpace, hosts: list[tuple[int, int]], pid: int) -> None:
        self._start = np.array([one.start for one in space.mappings], np.uint64)
        self._end = np.array([one.end for one in space.mappings], np.uint64)
        self._space = np.array([number for number, _ in hosts], np.uint32)
        self._step = np.array([step % (1 << 64) for _, step in hosts], np.uint64)
        self._own = np.uint32(pid + 1 & 0xFFFFFFFF)

    def moved(self, address: Words) -> tuple[Words, NDArray[np.uint32]]:
        """The addresses as in the process that stands for all that have the file, and their spaces."""
        at = np.searchsorted(self._start, address, side="right") - 1
        inside = at >= 0
        if not len(self._start):
            return address, np.full(len(address), self._own)
        inside &= address < self._end[at]
        return (np.where(inside, address + self._step[at], address), np.where(inside, self._space[at], self._own))


# What perf itself has to do: samples out of hardware traces (AUX data, as of Arm SPE).

_PACKAGE = "linux-perf"
_FIELDS = ("pid", "tid", "cpu", "misc", "time", "event", "addr", "data_src", "weight", "ip", "sym", "dso")
_NEEDED = ("addr", "data_src", "ip")
_MISSING = re.compile(r"Cannot print '(\w+)' field")
_END_SECONDS = 60
_MOST_COMPLAINT = 1 << 16


def add_decoded(path: Path, source: str, samples: Samples) -> None:
    """Add the samples of memory that perf finds in the traces of the file at ``path``.

    Fields that the events do not have are left out. Raises ``ToolMissing`` where there is no perf that can do it,
    ``ProfileError`` when perf does not understand the file.
    """
    fields = list(_FIELDS)
    while (missing := _printed(path, source, fields, samples)) is not None:
        fields.remove(missing)


def _printed(path: Path, source: str, fields: Sequence[str], samples: Samples) -> str | None:
    """Add all samples; or the name of a field that some event does not have, before any is added."""
    perf = find("perf", f"{_PACKAGE}, for the profile has hardware traces that perf must decode")
    # Of traces, the samples of memory.
    options = ("--ns", "--no-demangle", "--itrace=M", "-i", str(path.resolve()), "-F", ",".join(fields))
    with tempfile.TemporaryFile() as complaints:
        streams = Streams(subprocess.DEVNULL, subprocess.PIPE, complaints)
        with child((perf, "script", *options), Path.cwd(), streams) as process:
            lines = (line.decode("utf-8", "replace").rstrip("\n") for line in process.stdout or ())
            count = sum(_add(line, samples) for line in lines)
            status = wait(process, "perf script", _END_SECONDS)
        complaints.seek(0)
        said = complaints.read(_MOST_COMPLAINT).decode("utf-8", "replace")
    missing = _MISSING.search(said)
    if not count and status and missing and missing[1] in fields and missing[1] not in _NEEDED:
        return missing[1]
    if status:
        raise _refusal(source, said)
    return None


def _add(line: str, samples: Samples) -> bool:
    """Add the sample on the line; whether it is one."""
    found = read_sample(line)
    if found is None:
        samples.unread += bool(line.strip())
        return False
    task, place = found.task, found.place
    code, mode = samples.number(Code(place.symbol, place.object_file)), mode_of(task.mode, place.address or 0)
    samples.add(found.address, found.source, place.address, found.weight, task.cpu, task.pid, code, mode)
    return True


def _refusal(source: str, said: str) -> ProfileError | ToolMissing:
    """What perf says in one sentence; an older one does not know the options."""
    words = next((line.strip() for line in said.splitlines() if line.strip()), "it says nothing")
    if "nvalid field requested" in said or "unknown option" in said or "Bad Instruction Tracing" in said:
        return ToolMissing(
            f"{source} has hardware traces, and this perf is too old to decode them ({words[:200]!a}); install "
            f"{_PACKAGE} 6.1 or later, or give the text of `perf script -F +pid,addr,data_src,weight`"
        )
    return ProfileError(f"{source} has hardware traces that perf does not decode ({words[:200]!a}); record it again")
