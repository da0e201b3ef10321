# SPDX-License-Identifier: GPL-2.0-or-later
"""The records of a perf.data file or pipe, many at a time, also compressed ones; numbers are little-endian."""

from __future__ import annotations

import ctypes
import struct
import weakref
from collections.abc import Iterable, Iterator
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
_LOW, _SHORT = np.uint64(0xFFFFFFFF), np.uint64(0xFFFF)
# Type and size of a record in its first word.
_TELLING = np.uint64(0xFFFF_0000_FFFF_FFFF)


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
    HEADER_ATTR = 64
    TRACING_DATA = 66
    BUILD_ID = 67
    AUXTRACE_INFO = 70
    AUXTRACE = 71
    FEATURE = 80
    COMPRESSED = 81
    COMPRESSED2 = 83


# Behind these come as many bytes as a number of this form says, which are no records.
_WITH_DATA = {PerfRecord.TRACING_DATA: "I", PerfRecord.AUXTRACE: "Q"}
_PACKED = (PerfRecord.COMPRESSED, PerfRecord.COMPRESSED2)


@dataclass(frozen=True, slots=True)
class RecordBlock:
    """Whole records: ``data``, its ``words`` from byte ``base`` on, and where in the words each begins.

    ``size`` is in bytes, a multiple of 8 but for a last record that perf made itself.
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
        left, self._left = self._left, b""
        # Only the record that was cut off is put together, unless its size is cut off too: copying takes long.
        cut = len(data) if left else 0
        if len(left) >= _HEAD:
            cut = min(max(unpack("H", left, 6)[0] - len(left), 0), len(data))
        for part, begin in ((left + data[:cut], 0), (data, cut)):
            at = self._skipped(begin, len(part))
            while len(part) - at >= _HEAD:
                block = self._block(part, at)
                if not len(block.start):
                    break
                yield block
                at = self._skipped(block.base + int(block.start[-1]) * 8 + int(block.size[-1]), len(part))
            self._left += part[at:]

    def _skipped(self, at: int, end: int) -> int:
        """Behind the data that follow a record."""
        skipped = min(self._skip, end - at)
        self._skip -= skipped
        return at + skipped

    def _block(self, data: bytes, at: int) -> RecordBlock:
        """Every whole record up to one that ends a block."""
        words = np.frombuffer(data, "<u8", (len(data) - at) // 8, at)
        start = _starts(words, len(data) - at)
        kind, misc, size = (column.view(np.int64) for column in _heads(words.take(start)))
        if len(kind) and kind[-1] in _WITH_DATA:
            (length,) = unpack(_WITH_DATA[kind[-1]], data, at + int(start[-1]) * 8 + _HEAD)
            self._skip = -(-length // 8) * 8
        return RecordBlock(data, at, words, start, kind, misc, size)


def _heads(words: Words) -> tuple[Words, Words, Words]:
    """Type, miscellaneous bits and size in bytes of the records that begin with these words."""
    return words & _LOW, words >> np.uint64(32) & _SHORT, words >> np.uint64(48)


def _starts(words: Words, end: int) -> NDArray[np.int64]:
    """The first word of every whole record before byte ``end``, up to one that ends a block.

    Most are samples of one size, so that runs of them are found at once.
    """
    found = [_NONE]
    at = 0
    for _ in range(_RUNS):
        if at >= len(words):
            return np.concatenate(found)
        kind, _, length = (int(one[0]) for one in _heads(words[at : at + 1]))
        if _ends_block(kind, length):
            last = [at] if at * 8 + length <= end else []
            return np.concatenate((*found, np.array(last, np.int64)))
        run = _run(words, at, length // 8)
        found.append(run)
        if not len(run):
            return np.concatenate(found)
        at = int(run[-1]) + length // 8
    found.append(np.array(_each(words, at), np.int64))
    return np.concatenate(found)


def _ends_block(kind: int, size: int) -> bool:
    """Whether other things follow a record, or it ends within a word, as only those do that perf makes itself."""
    if size < _HEAD or (size % 8 and kind < PerfRecord.HEADER_ATTR):
        raise ValueError(f"a record of type {kind} says that it has {size} bytes")
    return size % 8 != 0 or kind in _WITH_DATA or kind in _PACKED


def _run(words: Words, at: int, size: int) -> NDArray[np.int64]:
    """The whole records from ``at`` on that have the type and size (in words) of the first one."""
    most = (len(words) - at) // size
    probe = _FIRST_PROBE
    while most:
        other = np.flatnonzero((words[at : at + min(probe, most) * size : size] ^ words[at]) & _TELLING)
        if len(other) or probe >= most:
            count = int(other[0]) if len(other) else min(probe, most)
            return at + size * np.arange(count, dtype=np.int64)
        probe *= 8
    return _NONE


def _each(words: Words, at: int) -> list[int]:
    """The records from ``at`` on, one after the other, in front of one that ends a block."""
    kinds, _, sizes = (column.tolist() for column in _heads(words[at:]))
    found = []
    here, end = 0, len(sizes)
    while here < end and not _ends_block(kinds[here], sizes[here]):
        following = here + sizes[here] // 8
        if following > end:
            break
        found.append(at + here)
        here = following
    return found


def blocks_of(pieces: Iterable[bytes], may_be_cut: bool) -> Iterator[RecordBlock]:
    """The records of a stream, and those in compressed ones; there, a record may end in the next compressed one.

    Raises ``ValueError`` where the stream is damaged, ``ToolMissing``.
    """
    outer, inner = RecordWalker(), RecordWalker()
    unpacker = None
    for data in pieces:
        for block in outer.feed(data):
            yield block
            if block.kind[-1] in _PACKED:
                unpacker = unpacker or _Unpacker()
                # The newer kind is padded, and so has its length.
                record, padded = block.record(-1), block.kind[-1] != PerfRecord.COMPRESSED
                packed = record[16 : 16 + unpack("Q", record, _HEAD)[0]] if padded else record[_HEAD:]
                for plain in unpacker.unpack(packed):
                    yield from inner.feed(plain)
    if not (may_be_cut or (outer.is_between_records and inner.is_between_records)):
        raise ValueError("it is cut off in the middle of a record")


class _Buffer(ctypes.Structure):
    """``ZSTD_inBuffer`` and ``ZSTD_outBuffer`` of zstd.h."""

    _fields_ = (("data", ctypes.c_char_p), ("size", ctypes.c_size_t), ("at", ctypes.c_size_t))


class _Unpacker:
    """libzstd, which perf uses too, on one stream; raises ``ToolMissing`` where it is not installed."""

    def __init__(self) -> None:
        try:
            self._library = ctypes.CDLL("libzstd.so.1")
        except OSError as error:
            raise ToolMissing(
                "the profile is compressed, and libzstd is not installed (package libzstd1); install it, "
                "or record without -z"
            ) from error
        self._library.ZSTD_createDStream.restype = ctypes.c_void_p
        self._library.ZSTD_decompressStream.restype = ctypes.c_size_t
        self._stream = ctypes.c_void_p(self._library.ZSTD_createDStream())
        self._output = ctypes.create_string_buffer(_UNPACKED_BYTES)
        weakref.finalize(self, self._library.ZSTD_freeDStream, self._stream)

    def unpack(self, data: bytes) -> Iterator[bytes]:
        """What the next part of the stream unpacks to. Raises ``ValueError`` when it is damaged."""
        packed = _Buffer(data, len(data))
        plain = _Buffer(ctypes.cast(self._output, ctypes.c_char_p), _UNPACKED_BYTES, _UNPACKED_BYTES)
        # Output that fills the buffer may have more behind it.
        while packed.at < packed.size or plain.at == plain.size:
            plain.at = 0
            status = self._library.ZSTD_decompressStream(self._stream, ctypes.byref(plain), ctypes.byref(packed))
            if self._library.ZSTD_isError(ctypes.c_size_t(status)):
                raise ValueError("a compressed record cannot be unpacked")
            yield ctypes.string_at(self._output, plain.at)
