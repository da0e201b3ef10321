# SPDX-License-Identifier: GPL-2.0-or-later
"""Numbers and strings in a perf.data file, which has the byte order of the machine that recorded it."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
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


class Reading:
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
            raise struct.error("a string ends behind its section")
        self.at += length
        return text_of(self.data[self.at - length : self.at])

    def rest(self) -> bytes:
        """All that is left."""
        return self.data[self.at :]


def text_of(data: bytes) -> str:
    """The string up to its zero; bytes that are no UTF-8 are replaced, control characters too."""
    text = data.partition(b"\0")[0].decode("utf-8", "replace")
    return text if text.isprintable() else "".join(one if one.isprintable() else "\ufffd" for one in text)
