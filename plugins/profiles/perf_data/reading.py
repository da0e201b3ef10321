# SPDX-License-Identifier: GPL-2.0-or-later
"""From the records of a perf.data file to a profile: samples become columns, the rest tells what lies where."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np

from linesmith.analyzer.errors import ProfileError
from linesmith.analyzer.model import ObjectBuild, Profile, Remark, Sampling
from linesmith.plugins.profiles.perf_data.by_perf import add_decoded
from linesmith.plugins.profiles.perf_data.header import Header, Opened, open_header
from linesmith.plugins.profiles.perf_data.processes import Processes
from linesmith.plugins.profiles.perf_data.records import Block, Kind, Walker
from linesmith.plugins.profiles.perf_data.sample_fields import identifiers, sample_rows
from linesmith.plugins.profiles.perf_data.zstd import Unpacker
from linesmith.plugins.profiles.sample_profile import profile_of_samples
from linesmith.plugins.profiles.samples import Mode, Samples

_PIECE = 4 << 20
_MOST_LOST = 1 << 48


def read_perf_data(path: Path, source: str) -> Profile:
    """The profile of the file at ``path``, which messages call ``source``.

    Raises ``ProfileError`` when it is damaged or holds no shared line, ``ToolMissing``, ``OSError``.
    """
    try:
        with path.open("rb") as file:
            stream = _Stream(open_header(file, path.stat().st_size))
            stream.read(file)
        stream.decode_traces(path, source)
    except (struct.error, IndexError, OverflowError) as error:
        message = f"{source} is a damaged perf.data file (a part of it is shorter than it says); record it again"
        raise ProfileError(message) from error
    except ValueError as error:
        raise ProfileError(f"{source} is a damaged perf.data file ({error}); record it again") from error
    return stream.profile(source)


class _Stream:
    """The records of one file, taken in one after the other."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self._header: Header = opened.header
        self._processes = Processes(self._header.order)
        self._samples = Samples()
        self._unpacker: Unpacker | None = None
        self._inner = Walker(self._header.order)
        self._traced = False

    def read(self, file: IO[bytes]) -> None:
        """Take in every record. Raises ``ValueError`` and ``struct.error`` for damaged ones."""
        file.seek(self._opened.begin)
        outer = Walker(self._header.order)
        for data in _pieces(file, self._opened):
            for block in outer.feed(data):
                self._take(block)
        whole = outer.is_between_records and self._inner.is_between_records
        if not (whole or self._opened.unfinished):
            raise ValueError("it is cut off in the middle of a record")

    def decode_traces(self, path: Path, source: str) -> None:
        """Let perf find the samples in hardware traces, if the file has any; it prints the others, too."""
        if self._traced:
            self._samples = Samples(lost=self._samples.lost)
            add_decoded(path, source, self._samples)

    def profile(self, source: str) -> Profile:
        """What the records come to."""
        header, processes = self._header, self._processes
        builds = {**processes.builds, **header.builds}
        sampling = Sampling(
            builds=tuple(ObjectBuild(path, build_id) for path, build_id in sorted(builds.items())),
            anchor=processes.anchor,
            release=header.release,
            machine=header.machine,
            cpus=header.cpus,
            command=header.command,
        )
        self._samples.commands.update(processes.commands)
        unfinished = Remark("the recording was not finished: build-ids, CPUs and nodes are not in the file")
        return profile_of_samples(
            self._located(),
            source,
            sampling,
            self._event_names(),
            header.nodes,
            (unfinished,) if self._opened.unfinished else (),
            processes,
        )

    def _located(self) -> Samples:
        """The samples with the spaces of their addresses, where any of them is of user space."""
        if not any((rows["mode"] == Mode.USER).any() for rows in self._samples.batches()):
            return self._samples
        found = Samples(commands=self._samples.commands, unread=self._samples.unread, lost=self._samples.lost)
        for rows in self._samples.batches():
            found.add_rows(self._processes.located(rows))
        return found

    def _event_names(self) -> tuple[str, ...]:
        events = self._header.events
        return tuple(
            self._header.names.get(number, f"{event.type}:{event.config:#x}") for number, event in enumerate(events)
        )

    def _take(self, block: Block) -> None:
        """A pipe tells of an event in front of its samples, which may be in the same block."""
        for number in np.flatnonzero(block.kind == Kind.HEADER_ATTR).tolist():
            self._take_other(Kind.HEADER_ATTR, block, number)
        self._take_samples(block)
        for number in np.flatnonzero((block.kind != Kind.SAMPLE) & (block.kind != Kind.HEADER_ATTR)).tolist():
            self._take_other(int(block.kind[number]), block, number)

    def _take_other(self, kind: int, block: Block, number: int) -> None:
        order, record = self._header.order, block.record(number)
        match kind:
            case Kind.MMAP | Kind.MMAP2 | Kind.COMM | Kind.FORK:
                self._processes.take(kind, record)
            case Kind.LOST:
                self._samples.lost += min(order.unpack("Q", record, 16)[0], _MOST_LOST)
            case Kind.LOST_SAMPLES:
                self._samples.lost += min(order.unpack("Q", record, 8)[0], _MOST_LOST)
            case Kind.AUXTRACE_INFO:
                self._traced = True
            case Kind.COMPRESSED | Kind.COMPRESSED2:
                self._take_packed(kind, record)
            case _:
                self._header.take(kind, record)

    def _take_packed(self, kind: int, record: bytes) -> None:
        """The records within a compressed one; the newer kind tells its length, for it is padded."""
        packed = record[8:]
        if kind == Kind.COMPRESSED2:
            packed = record[16 : 16 + self._header.order.unpack("Q", record, 8)[0]]
        self._unpacker = self._unpacker or Unpacker()
        for plain in self._unpacker.unpack(packed):
            for block in self._inner.feed(plain):
                self._take(block)

    def _take_samples(self, block: Block) -> None:
        numbers = np.flatnonzero(block.kind == Kind.SAMPLE)
        events = self._header.events
        if not len(numbers):
            return
        if not events:
            raise ValueError("it has samples, but tells of no event")
        forms = list(dict.fromkeys((one.fields, one.read_format, one.branches, one.registers) for one in events))
        if len(forms) == 1:
            rows, damaged = sample_rows(block, numbers, events[0], self._header.order)
            self._add(rows, damaged)
            return
        found = identifiers(block, numbers, events[0])
        for identifier in np.unique(found).tolist():
            chosen = numbers[found == identifier]
            event = self._header.ids.get(identifier)
            if event is None:
                self._samples.unread += len(chosen)
                continue
            self._add(*sample_rows(block, chosen, events[event], self._header.order))

    def _add(self, rows: np.ndarray, damaged: int) -> None:
        self._samples.unread += damaged
        self._samples.add_rows(rows)


def _pieces(file: IO[bytes], opened: Opened) -> Iterator[bytes]:
    """The data of the file; behind it come the sections of the header."""
    while opened.end is None or file.tell() < opened.end:
        left = _PIECE if opened.end is None else min(_PIECE, opened.end - file.tell())
        data = file.read(left)
        if not data:
            return
        yield data
