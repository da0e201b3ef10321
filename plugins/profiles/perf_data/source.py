# SPDX-License-Identifier: GPL-2.0-or-later
"""perf.data of ``perf c2c record`` and ``perf mem record``, whichever machine recorded it.

Samples become columns, in the order of the fields that ``perf_output_sample`` in the kernel has; the other records tell
what lies where.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from linesmith.analyzer.base.errors import ProfileError
from linesmith.analyzer.model import ObjectBuild, Profile, Remark, Sampling
from linesmith.plugins.profiles.perf_data.header import PerfEvent, PerfHeader, SampleField, open_header
from linesmith.plugins.profiles.perf_data.processes import Processes, add_decoded
from linesmith.plugins.profiles.perf_data.records import PerfRecord, RecordBlock, blocks_of, low_half, unpack
from linesmith.plugins.profiles.sample_profile import profile_of_samples
from linesmith.plugins.profiles.samples import Code, Columns, Samples, Words, ahead

_GROUP = 1 << 3
_READ_TIMES = (1 << 0, 1 << 1)
_READ_OF_EACH = (1 << 2, 1 << 4)
_HARDWARE_INDEX, _BRANCH_COUNTERS = 1 << 17, 1 << 19
_MODE = 7
# Words of a call chain that are read; those from here on say whose addresses follow (``PERF_CONTEXT_MAX``).
_CHAIN = 8
_CONTEXTS = (1 << 64) - 4095
_PIECE = 4 << 20
_MOST_LOST = 1 << 48
_MOST_WEIGHT = np.uint64(0xFFFFFFFF)


@dataclass(slots=True)
class _SampleCursor:
    """Where each sample is read next; behind its end it stands still and the sample is damaged."""

    words: Words
    at: NDArray[np.int64]
    end: NDArray[np.int64]

    def take(self) -> Words:
        """The next word of each."""
        found = self.words.take(self.at, mode="clip")
        self.at = self.at + 1
        return found

    def skip(self, count: int | NDArray[np.int64]) -> None:
        """Pass over as many words; a count beyond the record only damages this sample."""
        self.at = np.minimum(self.at + count, self.end + 1)


def sample_columns(
    block: RecordBlock, numbers: NDArray[np.int64], event: PerfEvent, number: Callable[[Code], int]
) -> tuple[Columns, int]:
    """The samples with these numbers in the block, all of one event, and how many more of them are damaged.

    ``number`` numbers who called their code.
    """
    start = block.start[numbers]
    cursor = _SampleCursor(block.words, start + 1, start + block.size[numbers] // 8)
    none = np.zeros(len(numbers), np.uint64)
    found: dict[str, NDArray[Any]] = dict.fromkeys(("address", "ip", "source", "code", "weight"), none)
    found["cpu"] = found["pid"] = np.full(len(numbers), -1, np.int32)
    found["mode"] = block.misc[numbers] & _MODE
    _fixed(found, cursor, event.fields)
    chains = _variable(cursor, event)
    if event.fields & (SampleField.WEIGHT | SampleField.WEIGHT_STRUCT):
        weight = cursor.take()
        whole = event.fields & SampleField.WEIGHT
        found["weight"] = np.minimum(weight, _MOST_WEIGHT) if whole else weight & _MOST_WEIGHT
    if event.fields & SampleField.DATA_SRC:
        found["source"] = cursor.take()
    sound = cursor.at <= cursor.end
    if chains is not None and len(chains):
        distinct, which = np.unique(chains, axis=0, return_inverse=True)
        codes = [number(Code(returns=returns_of(chain))) for chain in distinct.tolist()]
        found["code"] = np.array(codes, np.uint32)[which.reshape(-1)]
    damaged = len(numbers) - int(sound.sum())
    return ({name: column[sound] for name, column in found.items()} if damaged else found), damaged


def identifiers(block: RecordBlock, numbers: NDArray[np.int64], event: PerfEvent) -> Words:
    """The id of each sample; every event of a file with several kinds of samples has it at the same place."""
    before = (SampleField.IP, SampleField.TID, SampleField.TIME, SampleField.ADDR)
    at = 1 if event.fields & SampleField.IDENTIFIER else 1 + sum(1 for one in before if event.fields & one)
    return block.words.take(block.start[numbers] + at, mode="clip")


def _fixed(found: dict[str, NDArray[Any]], cursor: _SampleCursor, fields: int) -> None:
    """The fields of one word each, from the first to the period."""
    cursor.skip(1 if fields & SampleField.IDENTIFIER else 0)
    if fields & SampleField.IP:
        found["ip"] = cursor.take()
    if fields & SampleField.TID:
        found["pid"] = low_half(cursor.take()).astype(np.uint32).view(np.int32)
    cursor.skip(1 if fields & SampleField.TIME else 0)
    if fields & SampleField.ADDR:
        found["address"] = cursor.take()
    cursor.skip(sum(1 for one in (SampleField.ID, SampleField.STREAM_ID) if fields & one))
    if fields & SampleField.CPU:
        found["cpu"] = low_half(cursor.take()).astype(np.uint32).view(np.int32)
    cursor.skip(1 if fields & SampleField.PERIOD else 0)


def _call_chains(cursor: _SampleCursor) -> Words:
    """The innermost addresses of each call chain, a row a sample, zeros behind its end."""
    count = _count(cursor)
    place = np.arange(_CHAIN)
    at = cursor.at[:, None] + place
    inside = (place < count[:, None]) & (at < cursor.end[:, None])
    cursor.skip(count)
    return np.where(inside, cursor.words.take(at, mode="clip"), np.uint64(0))


def returns_of(chain: Sequence[int]) -> tuple[int, ...]:
    """Where the callers of a chain go on: behind the sample's own address, up to where the mode of the CPU changes."""
    marks = [at for at, word in enumerate(chain) if word >= _CONTEXTS]
    begin = marks[0] + 2 if marks[:1] == [0] else 1
    end = next((at for at in marks if at >= begin), len(chain))
    return tuple(word for word in chain[begin:end] if word)


def _variable(cursor: _SampleCursor, event: PerfEvent) -> Words | None:
    """Pass over the fields of any length in front of the weight; the call chains, where the samples have any."""
    fields = event.fields
    if fields & SampleField.READ:
        each = 1 + sum(1 for one in _READ_OF_EACH if event.read_format & one)
        times = sum(1 for one in _READ_TIMES if event.read_format & one)
        cursor.skip(_count(cursor) * each + times if event.read_format & _GROUP else each + times)
    chains = None
    if fields & SampleField.CALLCHAIN:
        chains = _call_chains(cursor)
    if fields & SampleField.RAW:
        # Its length of 32 bits and its bytes fill whole words together.
        cursor.skip((low_half(cursor.take()).astype(np.int64) + 4) // 8 - 1)
    if fields & SampleField.BRANCH_STACK:
        counters = 1 if event.branches & _BRANCH_COUNTERS else 0
        count = _count(cursor)
        cursor.skip(count * (3 + counters) + (1 if event.branches & _HARDWARE_INDEX else 0))
    if fields & SampleField.REGS_USER:
        cursor.skip((cursor.take() != 0) * event.registers.bit_count())
    if fields & SampleField.STACK_USER:
        size = _count(cursor)
        cursor.skip(size // 8 + (size > 0))
    return chains


def _count(cursor: _SampleCursor) -> NDArray[np.int64]:
    """The next word as a count, at most a little more than any record holds."""
    return np.minimum(cursor.take(), np.uint64(1 << 20)).astype(np.int64)


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

    def __init__(self, header: PerfHeader) -> None:
        self._header = header
        self._processes = Processes()
        self._samples = Samples()
        self._traced = False

    def read(self, file: IO[bytes]) -> None:
        """Take in every record. Raises ``ValueError`` and ``struct.error`` for damaged ones."""
        for columns in ahead(self._columns(ahead(blocks_of(_pieces(file, self._header), self._header.unfinished)))):
            self._samples.add_columns(columns)

    def _columns(self, blocks: Iterator[RecordBlock]) -> Iterator[Columns]:
        """The samples of the blocks; takes in the other records."""
        for block in blocks:
            # A pipe tells of an event in front of its samples, which may be in the same block.
            for number in np.flatnonzero(block.kind != PerfRecord.SAMPLE).tolist():
                self._take_other(int(block.kind[number]), block.record(number))
            yield from self._samples_in(block)

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
            self._samples,
            source,
            sampling,
            tuple(header.names.get(at, f"{one.type}:{one.config:#x}") for at, one in enumerate(header.events)),
            header.nodes,
            (unfinished,) if header.unfinished else (),
            processes,
        )

    def _take_other(self, kind: int, record: bytes) -> None:
        match kind:
            case PerfRecord.LOST:
                self._samples.lost += min(unpack("Q", record, 16)[0], _MOST_LOST)
            case PerfRecord.LOST_SAMPLES:
                self._samples.lost += min(unpack("Q", record, 8)[0], _MOST_LOST)
            case PerfRecord.AUXTRACE_INFO:
                self._traced = True
            case _:
                self._header.take(kind, record)
                self._processes.take(kind, record)

    def _samples_in(self, block: RecordBlock) -> Iterator[Columns]:
        numbers = np.flatnonzero(block.kind == PerfRecord.SAMPLE)
        events = self._header.events
        if not len(numbers):
            return
        if not events:
            raise ValueError("it has samples, but no event")
        groups = [(events[0], numbers)]
        if len({(one.fields, one.read_format, one.branches, one.registers) for one in events}) > 1:
            found = identifiers(block, numbers, events[0])
            by_id = [(self._header.ids.get(one), numbers[found == one]) for one in np.unique(found).tolist()]
            groups = [(events[event], some) for event, some in by_id if event is not None]
            self._samples.unread += sum(len(some) for event, some in by_id if event is None)
        for event, some in groups:
            columns, damaged = sample_columns(block, some, event, self._samples.number)
            self._samples.unread += damaged
            yield columns


def _pieces(file: IO[bytes], header: PerfHeader) -> Iterator[bytes]:
    """The records of the file, which has the sections of the header behind them."""
    file.seek(header.begin)
    while data := file.read(min(_PIECE, header.end - file.tell())):
        yield data
