# SPDX-License-Identifier: GPL-2.0-or-later
"""The records of a perf.data stream, many at a time; it has the byte order of the machine that recorded it."""

from __future__ import annotations

import ctypes
import ctypes.util
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from linesmith.analyzer.base.errors import ToolMissing
from linesmith.plugins.profiles.samples import Words

# Probes at which records of one size are counted before a record is looked at by itself.
_RUNS = 500
_FIRST_PROBE = 32
_HEAD = 8
_UNPACKED_BYTES = 1 << 20
_NONE = np.empty(0, np.int64)
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


@dataclass(frozen=True, slots=True)
class ByteOrder:
    """``sign`` is that of struct and numpy: ``<`` or ``>``."""

    sign: str

    def unpack(self, form: str, data: bytes, at: int = 0) -> tuple[int, ...]:
        """The numbers of a ``struct`` form at an offset; raises ``struct.error`` behind the end."""
        return struct.unpack_from(self.sign + form, data, at)

    def words(self, data: bytes, at: int = 0) -> Words:
        """The whole 64-bit words of ``data`` from an offset on."""
        found = np.frombuffer(data, f"{self.sign}u8", (len(data) - at) // 8, at)
        return found.astype(np.uint64, copy=False)

    def halves(self, words: Words) -> tuple[Words, Words]:
        """The 32-bit numbers in each word, in the order of memory."""
        low, high = words & _LOW, words >> _HALF
        return (low, high) if self.sign == "<" else (high, low)

    def heads(self, words: Words) -> tuple[Words, Words, Words]:
        """Type, miscellaneous bits and size in bytes of the records that begin with these words."""
        short = np.uint64(0xFFFF)
        if self.sign == "<":
            return words & _LOW, words >> _HALF & short, words >> np.uint64(48)
        return words >> _HALF, words >> np.uint64(16) & short, words & short


class RecordReader:
    """Reads one thing after the other; raises ``struct.error`` behind the end."""

    def __init__(self, data: bytes, order: ByteOrder, at: int = 0) -> None:
        self.data = data
        self.order = order
        self.at = at

    def numbers(self, form: str) -> tuple[int, ...]:
        """The next numbers."""
        found = self.order.unpack(form, self.data, self.at)
        self.at += struct.calcsize(self.order.sign + form)
        return found

    def number(self, form: str = "I") -> int:
        """The next number."""
        return self.numbers(form)[0]

    def counted(self) -> str:
        """The next string with its length in front (``do_write_string``)."""
        length = self.number()
        if self.at + length > len(self.data):
            raise struct.error("a string ends after its section")
        self.at += length
        return text_of(self.data[self.at - length : self.at])


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
_WITH_DATA = frozenset((PerfRecord.TRACING_DATA, PerfRecord.AUXTRACE))


@dataclass(frozen=True, slots=True)
class RecordBlock:
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


class RecordWalker:
    """Cuts a stream into records; a record may come in two pieces of the stream."""

    def __init__(self, order: ByteOrder) -> None:
        self._order = order
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
        """Behind the data that follow a record of tracing data."""
        skipped = min(self._skip, end - at)
        self._skip -= skipped
        return at + skipped

    def _block(self, data: bytes, at: int) -> RecordBlock:
        """Every whole record up to one with data behind it, or one that ends within a word."""
        words = self._order.words(data, at)
        start = _starts(words, self._order, len(data) - at)
        kind, misc, size = (column.astype(np.int64) for column in self._order.heads(words[start]))
        if len(kind) and kind[-1] in _WITH_DATA:
            form = "I" if kind[-1] == PerfRecord.TRACING_DATA else "Q"
            self._skip = -(-self._order.unpack(form, data, at + int(start[-1]) * 8 + _HEAD)[0] // 8) * 8
        return RecordBlock(data, at, words, start, kind, misc, size)


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


def _head(words: Words, at: int, order: ByteOrder) -> tuple[int, int]:
    """Type of the record, and its size in bytes; only those that perf makes itself may end within a word."""
    kind, _, size = (int(one[0]) for one in order.heads(words[at : at + 1]))
    if size < _HEAD or (size % 8 and kind < PerfRecord.HEADER_ATTR):
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


class _Buffer(ctypes.Structure):
    """``ZSTD_inBuffer`` and ``ZSTD_outBuffer`` of zstd.h."""

    _fields_ = (("data", ctypes.c_void_p), ("size", ctypes.c_size_t), ("at", ctypes.c_size_t))


class Unpacker:
    """libzstd, which perf uses too, on one stream of any number of frames; raises ``ToolMissing`` where it is not."""

    def __init__(self) -> None:
        name = ctypes.util.find_library("zstd") or "libzstd.so.1"
        try:
            self._library = ctypes.CDLL(name)
        except OSError as error:
            raise ToolMissing(
                "the profile is compressed, and libzstd is not installed (package libzstd1); install it, "
                "or record without -z"
            ) from error
        self._library.ZSTD_createDStream.restype = ctypes.c_void_p
        self._library.ZSTD_decompressStream.restype = ctypes.c_size_t
        self._stream = ctypes.c_void_p(self._library.ZSTD_createDStream())
        self._output = ctypes.create_string_buffer(_UNPACKED_BYTES)

    def unpack(self, data: bytes) -> Iterator[bytes]:
        """What ``data``, the next part of the stream, unpacks to. Raises ``ValueError`` when it is damaged."""
        source = ctypes.create_string_buffer(data, len(data))
        packed = _Buffer(ctypes.cast(source, ctypes.c_void_p), len(data), 0)
        while True:
            plain = _Buffer(ctypes.cast(self._output, ctypes.c_void_p), _UNPACKED_BYTES, 0)
            status = self._library.ZSTD_decompressStream(self._stream, ctypes.byref(plain), ctypes.byref(packed))
            if self._library.ZSTD_isError(ctypes.c_size_t(status)):
                raise ValueError("a compressed record cannot be unpacked")
            yield ctypes.string_at(self._output, plain.at)
            if packed.at == packed.size and plain.at < plain.size:
                return

    def __del__(self) -> None:
        if hasattr(self, "_stream"):
            self._library.ZSTD_freeDStream(self._stream)
