# SPDX-License-Identifier: GPL-2.0-or-later
"""The records of a perf.data file, many at a time; numbers are little-endian."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from linesmith.plugins.profiles.samples import Words

# Probes at which records of one size are counted before a record is looked at by itself.
_RUNS = 500
_FIRST_PROBE = 32
_HEAD = 8
_NONE = np.empty(0, np.int64)
_LOW, _SHORT = np.uint64(0xFFFFFFFF), np.uint64(0xFFFF)


def unpack(form: str, data: bytes, at: int = 0) -> tuple[int, ...]:
    """The numbers of a ``struct`` form at an offset; raises ``struct.error`` behind the end."""
    return struct.unpack_from(f"<{form}", data, at)


def low_half(words: Words) -> Words:
    """The first of the two 32-bit numbers in each word."""
    return words & _LOW


def text_of(data: bytes) -> str:
    """The string up to its zero; bytes that are no UTF-8 are replaced, control characters too."""
    text = data.partition(b"\0")[0].decode("utf-8", "replace")
    return text if text.isprintable() else "".join(one if one.isprintable() else "\ufffd" for one in text)


class PerfRecord(IntEnum):
    """Types of records that are read (``enum perf_event_type``, ``enum perf_user_event_type``)."""

    MMAP = 1
    LOST = 2
    COMM = 3
    FORK = 7
    SAMPLE = 9
    MMAP2 = 10
    LOST_SAMPLES = 13
    AUXTRACE_INFO = 70
    # Behind it come as many bytes as it says, which are no records.
    AUXTRACE = 71


@dataclass(frozen=True, slots=True)
class RecordBlock:
    """Whole records: ``data``, its ``words`` from byte ``base`` on, and where in the words each begins.

    ``size`` is in bytes, a multiple of 8.
    """

    data: bytes
    base: int
    words: Words
    start: NDArray[np.int64]
    kind: NDArray[np.int64]
    misc: NDArray[np.int64]
    size: NDArray[np.int64]

    def record(self, number: int) -> bytes:
        """The bytes of a record, its header included."""
        begin = self.base + int(self.start[number]) * 8
        return self.data[begin : begin + int(self.size[number])]


class RecordWalker:
    """Cuts a stream into records; a record may come in two pieces of the stream."""

    def __init__(self) -> None:
        self._left = b""
        self._skip = 0

    @property
    def is_between_records(self) -> bool:
        """Whether the stream may end here."""
        return not (self._left or self._skip)

    def feed(self, data: bytes) -> Iterator[RecordBlock]:
        """The records that end in ``data``. Raises ``ValueError`` for a record that is none."""
        data = self._left + data
        at = self._skipped(0, len(data))
        while len(data) - at >= _HEAD:
            block = self._block(data, at)
            if not len(block.start):
                break
            yield block
            at = self._skipped(block.base + int(block.start[-1]) * 8 + int(block.size[-1]), len(data))
        self._left = data[at:]

    def _skipped(self, at: int, end: int) -> int:
        """Behind the data of a trace."""
        skipped = min(self._skip, end - at)
        self._skip -= skipped
        return at + skipped

    def _block(self, data: bytes, at: int) -> RecordBlock:
        """Every whole record up to one with data behind it."""
        words = np.frombuffer(data, "<u8", (len(data) - at) // 8, at)
        start = _starts(words)
        kind, misc, size = (column.astype(np.int64) for column in _heads(words[start]))
        if len(kind) and kind[-1] == PerfRecord.AUXTRACE:
            self._skip = -(-unpack("Q", data, at + int(start[-1]) * 8 + _HEAD)[0] // 8) * 8
        return RecordBlock(data, at, words, start, kind, misc, size)


def _heads(words: Words) -> tuple[Words, Words, Words]:
    """Type, miscellaneous bits and size in bytes of the records that begin with these words."""
    return words & _LOW, words >> np.uint64(32) & _SHORT, words >> np.uint64(48)


def _starts(words: Words) -> NDArray[np.int64]:
    """The first word of every whole record, up to one with data behind it.

    Most are samples of one size, so that runs of them are found at once.
    """
    found = [_NONE]
    at = 0
    for _ in range(_RUNS):
        if at >= len(words):
            return np.concatenate(found)
        kind, _, length = (int(one[0]) for one in _heads(words[at : at + 1]))
        size = _words_of(kind, length)
        run = _run(words, at, size)
        if kind == PerfRecord.AUXTRACE:
            return np.concatenate((*found, run[:1]))
        found.append(run)
        if not len(run):
            return np.concatenate(found)
        at = int(run[-1]) + size
    found.append(np.array(_each(words, at), np.int64))
    return np.concatenate(found)


def _words_of(kind: int, size: int) -> int:
    """The words of a record that says that it has ``size`` bytes."""
    if size < _HEAD or size % 8:
        raise ValueError(f"a record of type {kind} says that it has {size} bytes")
    return size // 8


def _run(words: Words, at: int, size: int) -> NDArray[np.int64]:
    """The whole records from ``at`` on that have the type and size (in words) of the first one."""
    most = (len(words) - at) // size
    probe = _FIRST_PROBE
    while most:
        kinds, _, sizes = _heads(words[at : at + min(probe, most) * size : size])
        other = np.flatnonzero((kinds != kinds[0]) | (sizes != sizes[0]))
        if len(other) or probe >= most:
            count = int(other[0]) if len(other) else min(probe, most)
            return at + size * np.arange(count, dtype=np.int64)
        probe *= 8
    return _NONE


def _each(words: Words, at: int) -> list[int]:
    """The records from ``at`` on, one after the other, up to one that has data behind it."""
    kinds, _, sizes = (column.tolist() for column in _heads(words[at:]))
    found = []
    here, end = 0, len(sizes)
    while here < end:
        size = _words_of(kinds[here], sizes[here])
        if here + size > end:
            break
        found.append(at + here)
        if kinds[here] == PerfRecord.AUXTRACE:
            break
        here += size
    return found
