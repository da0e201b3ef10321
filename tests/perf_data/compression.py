# SPDX-License-Identifier: GPL-2.0-or-later
"""Zstandard by way of the library that perf itself is linked with."""

from __future__ import annotations

import ctypes
import ctypes.util
from functools import cache


def available() -> bool:
    """Whether the library is installed."""
    return ctypes.util.find_library("zstd") is not None


@cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(ctypes.util.find_library("zstd"))
    library.ZSTD_compressBound.argtypes, library.ZSTD_compressBound.restype = [ctypes.c_size_t], ctypes.c_size_t
    library.ZSTD_compress.argtypes = [
        ctypes.c_char_p,
        ctypes.c_size_t,
        ctypes.c_char_p,
        ctypes.c_size_t,
        ctypes.c_int,
    ]
    library.ZSTD_compress.restype = ctypes.c_size_t
    return library


def compressed(raw: bytes, level: int = 1) -> bytes:
    """One frame."""
    library = _library()
    room = library.ZSTD_compressBound(len(raw))
    buffer = ctypes.create_string_buffer(room)
    written = library.ZSTD_compress(buffer, room, raw, len(raw), level)
    if written > room:
        raise ValueError("zstd did not compress")
    return buffer.raw[:written]
