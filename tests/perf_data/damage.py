# SPDX-License-Identifier: GPL-2.0-or-later
"""Damages a perf.data file: cut off, numbers that lie, bytes replaced."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import numpy as np

ESCAPES = "\x1b]0;owned\x07\x1b[2Jevil\r\n\x9b31m\u202e"
_U64 = (1 << 64) - 1
# Where the header has its own size, then the size of an attribute, the attributes' and the data's offset and size.
_HEADER = (8, 16, 24, 32, 40, 48)
_NUMBERS = (0, 1, 7, 103, 1 << 31, 1 << 40, _U64 - 7, _U64)
Damaged = Iterator[tuple[str, bytes]]


def lying_header(whole: bytes) -> Damaged:
    """One number of the header replaced."""
    for at in _HEADER:
        for number in _NUMBERS:
            yield f"{number:#x} at byte {at} of the header", _with(whole, at, "<Q", number)


def lying_features(whole: bytes) -> Damaged:
    """Feature sections of wrong offsets, sizes and counts; also ones that hold themselves."""
    table = sum(struct.unpack_from("<QQ", whole, 40))
    for number in range(int.from_bytes(whole[72:104], "little").bit_count()):
        at = table + number * 16
        for value in (0, table, len(whole), _U64):
            yield f"section {number} at {value:#x}", _with(whole, at, "<Q", value)
        for value in (0, 3, len(whole), _U64):
            yield f"section {number} of {value:#x} bytes", _with(whole, at + 8, "<Q", value)
        offset = struct.unpack_from("<Q", whole, at)[0]
        yield f"section {number} begins with a count of 4 billion", _with(whole, offset, "<I", 0xFFFFFFFF)
    yield "every feature there is", whole[:72] + b"\xff" * 32 + whole[104:]


def lying_records(whole: bytes) -> Damaged:
    """Records of wrong sizes and kinds."""
    begin, size = struct.unpack_from("<QQ", whole, 40)
    places, at = [], begin
    while at + 8 <= begin + size:
        places.append(at)
        at += max(8, struct.unpack_from("<H", whole, at + 6)[0])
    for at in np.random.default_rng(1).choice(places, min(6, len(places)), replace=False).tolist():
        for value in (0, 1, 7, 8, 9, 16, 0xFFF8, 0xFFFF):
            yield f"record at {at} of {value} bytes", _with(whole, at + 6, "<H", value)
        for kind in (0, 2, 9, 10, 64, 66, 67, 71, 80, 81, 83, 255, 0xFFFFFFFF):
            yield f"record at {at} of kind {kind}", _with(whole, at, "<I", kind)
        yield f"record at {at} full of ones", whole[: at + 8] + b"\xff" * 64 + whole[at + 72 :]


def _with(whole: bytes, at: int, form: str, value: int) -> bytes:
    packed = struct.pack(form, value)
    return whole[:at] + packed + whole[at + len(packed) :]
