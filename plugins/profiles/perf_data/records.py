# SPDX-License-Identifier: GPL-2.0-or-later
"""The records of a perf.data stream, many at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from linesmith.plugins.profiles.perf_data.byte_order import ByteOrder, Words

# Probes at which records of one size are counted before a record is looked at by itself.
_RUNS = 500
_FIRST_PROBE = 32
_HEAD = 8


class Kind(IntEnum):
    """Types of records that are read (``enum perf_event_type``, ``enum perf_user_event_type``)."""

    MMAP = 1
    LOST = 2
    COMM = 3
    FORK = 7
    SAMPLE = 9
    MMAP2 = 10
    LOST_SAMPLES = 13
    HEADER_ATTR = 64
    TRACING_DATA = 66
    BUILD_ID = 67
    AUXTRACE_INFO = 70
    AUXTRACE = 71
    EVENT_UPDATE = 78
    FEATURE = 80
    COMPRESSED = 81
    COMPRESSED2 = 83


# Behind these come as many bytes as they say, which are no records.
_WITH_DATA = frozenset((Kind.TRACING_DATA, Kind.AUXTRACE))


@dataclass(frozen=True, slots=True)
class Block:
    """Whole records: ``data``, its ``words`` from byte ``base`` on, and where in the words each begins.

    ``size`` is in bytes, a multiple of 8 but for records that perf makes itself (parts of the header, compressed ones).
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


class Walker:
    """Cuts a stream into records; a record may come in two pieces of the stream."""

    def __init__(self, order: ByteOrder) -> None:
        self._order = order
        self._left = b""
        self._skip = 0

    @property
    def is_between_records(self) -> bool:
        """Whether the stream may end here."""
        return not (self._left or self._skip)

    def feed(self, data: bytes) -> Iterator[Block]:
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
        """Behind the data that follow a record of tracing data."""
        skipped = min(self._skip, end - at)
        self._skip -= skipped
        return at + skipped

    def _block(self, data: bytes, at: int) -> Block:
        """Every whole record up to one with data behind it, or one that ends within a word."""
        words = self._order.words(data, at)
        start = _starts(words, self._order, len(data) - at)
        kind, misc, size = (column.astype(np.int64) for column in self._order.heads(words[start]))
        if len(kind) and kind[-1] in _WITH_DATA:
            form = "I" if kind[-1] == Kind.TRACING_DATA else "Q"
            self._skip = -(-self._order.unpack(form, data, at + int(start[-1]) * 8 + _HEAD)[0] // 8) * 8
        return Block(data, at, words, start, kind, misc, size)


def _starts(words: Words, order: ByteOrder, end: int) -> NDArray[np.int64]:
    """The first word of every whole record before byte ``end``.

    Most are samples of one size, so that runs of them are found at once.
    """
    found: list[NDArray[np.int64]] = []
    at = 0
    for _ in range(_RUNS):
        kind, size = _head(words, at, order) if at < len(words) else (0, 0)
        if (size % 8 or kind in _WITH_DATA) and at * 8 + size <= end:
            return np.concatenate((*found, np.array([at], np.int64)))
        run = _run(words, at, size // 8, order) if size % 8 == 0 else _NONE
        found.append(run)
        if not len(run):
            return np.concatenate(found)
        at = int(run[-1]) + size // 8
    found.append(np.array(_each(words, at, order), np.int64))
    return np.concatenate(found)


_NONE = np.empty(0, np.int64)


def _head(words: Words, at: int, order: ByteOrder) -> tuple[int, int]:
    """Type of the record, and its size in bytes; only those that perf makes itself may end within a word."""
    kind, _, size = (int(one[0]) for one in order.heads(words[at : at + 1]))
    if size < _HEAD or (size % 8 and kind < Kind.HEADER_ATTR):
        raise ValueError(f"a record of type {kind} says that it has {size} bytes")
    return kind, size


def _run(words: Words, at: int, size: int, order: ByteOrder) -> NDArray[np.int64]:
    """The whole records from ``at`` on that have the type and size (in words) of the first one."""
    most = (len(words) - at) // size if size else 0
    probe = _FIRST_PROBE
    while most:
        kinds, _, sizes = order.heads(words[at : at + min(probe, most) * size : size])
        other = np.flatnonzero((kinds != kinds[0]) | (sizes != sizes[0]))
        if len(other) or probe >= most:
            count = int(other[0]) if len(other) else min(probe, most)
            return at + size * np.arange(count, dtype=np.int64)
        probe *= 8
    return _NONE


def _each(words: Words, at: int, order: ByteOrder) -> list[int]:
    """The records from ``at`` on, one after the other, up to one that ends within a word or has data behind it."""
    kinds, _, lengths = order.heads(words[at:])
    sizes: list[int] = lengths.tolist()
    with_data = set(np.flatnonzero(np.isin(kinds, list(_WITH_DATA))).tolist())
    found = []
    here, end = 0, len(sizes)
    while here < end:
        size = sizes[here]
        if size < _HEAD or size & 7:
            _head(words, at + here, order)
            break
        following = here + (size >> 3)
        if following > end:
            break
        found.append(at + here)
        if here in with_data:
            break
        here = following
    return found
