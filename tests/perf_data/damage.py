# SPDX-License-Identifier: GPL-2.0-or-later
"""perf.data files that no perf would write: cut off, of wrong sizes, with counts and offsets that lie."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import numpy as np

ESCAPES = "\x1b]0;owned\x07\x1b[2Jevil\r\n\x9b31m\u202e"
_U64 = (1 << 64) - 1
# Where the numbers of the header lie, and what they are.
_HEADER = {
    "header's size": 8,
    "size of an attribute": 16,
    "offset of the attributes": 24,
    "size of the attributes": 32,
    "offset of the data": 40,
    "size of the data": 48,
}
_NUMBERS = (0, 1, 7, 103, 1 << 31, 1 << 40, _U64 - 7, _U64)


def cut(whole: bytes, times: int = 24, seed: int = 1) -> Iterator[tuple[str, bytes]]:
    """The file, ended early: at each of its first bytes that matter, and somewhere."""
    chosen = np.random.default_rng(seed)
    places = [0, 1, 7, 8, 15, 16, 103, 104, *chosen.integers(0, len(whole), times).tolist()]
    for place in places:
        yield f"cut off at byte {place}", whole[:place]


def lying_header(whole: bytes) -> Iterator[tuple[str, bytes]]:
    """One number of the header replaced."""
    for name, at in _HEADER.items():
        for number in _NUMBERS:
            yield f"{name} {number:#x}", _with(whole, at, "<Q", number)


def lying_features(whole: bytes) -> Iterator[tuple[str, bytes]]:
    """Feature sections of wrong offsets, sizes and counts; also ones that hold themselves."""
    table = sum(struct.unpack_from("<QQ", whole, 40))
    count = bin(int.from_bytes(whole[72:104], "little")).count("1")
    for number in range(count):
        at = table + number * 16
        offset = struct.unpack_from("<Q", whole, at)[0]
        for value in (0, table, len(whole), _U64):
            yield f"section {number} at {value:#x}", _with(whole, at, "<Q", value)
        for value in (0, 3, len(whole), _U64):
            yield f"section {number} of {value:#x} bytes", _with(whole, at + 8, "<Q", value)
        yield f"section {number} begins with a count of 4 billion", _with(whole, offset, "<I", 0xFFFFFFFF)
    yield "every feature there is", whole[:72] + b"\xff" * 32 + whole[104:]


def lying_records(whole: bytes, seed: int = 1) -> Iterator[tuple[str, bytes]]:
    """Records of wrong sizes and kinds."""
    begin, size = struct.unpack_from("<QQ", whole, 40)
    places = _records(whole, begin, begin + size)
    chosen = np.random.default_rng(seed)
    for at in chosen.choice(places, min(6, len(places)), replace=False).tolist():
        for value in (0, 1, 7, 8, 9, 16, 0xFFF8, 0xFFFF):
            yield f"record at {at} of {value} bytes", _with(whole, at + 6, "<H", value)
        for kind in (0, 2, 9, 10, 64, 67, 71, 80, 81, 83, 255, 0xFFFFFFFF):
            yield f"record at {at} of kind {kind}", _with(whole, at, "<I", kind)
        yield f"record at {at} full of ones", whole[: at + 8] + b"\xff" * 64 + whole[at + 72 :]


def scattered(whole: bytes, times: int = 40, seed: int = 1) -> Iterator[tuple[str, bytes]]:
    """Some bytes of the whole file replaced by others."""
    chosen = np.random.default_rng(seed)
    for number in range(times):
        found = bytearray(whole)
        for _ in range(1 + number % 16):
            found[chosen.integers(len(found))] = chosen.integers(256)
        yield f"scattered damage {number}", bytes(found)


def all_kinds(whole: bytes) -> Iterator[tuple[str, bytes]]:
    """Every damage of this file, each with what was done."""
    yield from cut(whole)
    yield from lying_header(whole)
    yield from lying_features(whole)
    yield from lying_records(whole)
    yield from scattered(whole)


def _records(whole: bytes, begin: int, end: int) -> list[int]:
    found, at = [], begin
    while at + 8 <= end:
        found.append(at)
        at += max(8, struct.unpack_from("<H", whole, at + 6)[0])
    return found


def _with(whole: bytes, at: int, form: str, value: int) -> bytes:
    packed = struct.pack(form, value)
    return whole[:at] + packed + whole[at + len(packed) :]
