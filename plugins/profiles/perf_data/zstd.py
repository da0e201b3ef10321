# SPDX-License-Identifier: GPL-2.0-or-later
"""Unpacks the compressed records of a perf.data file with libzstd, which perf uses too."""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Iterator

from linesmith.analyzer.errors import ToolMissing

_PIECE = 1 << 20


class _Buffer(ctypes.Structure):
    """``ZSTD_inBuffer`` and ``ZSTD_outBuffer`` of zstd.h."""

    _fields_ = (("data", ctypes.c_void_p), ("size", ctypes.c_size_t), ("at", ctypes.c_size_t))


class Unpacker:
    """One stream of any number of frames. Raises ``ToolMissing`` where there is no libzstd."""

    def __init__(self) -> None:
        name = ctypes.util.find_library("zstd") or "libzstd.so.1"
        try:
            self._library = ctypes.CDLL(name)
        except OSError as error:
            raise ToolMissing(
                "the profile is compressed, and libzstd is not installed (package libzstd1); install it, "
                "or record without -z"
            ) from error
        for function in ("ZSTD_createDStream", "ZSTD_decompressStream"):
            getattr(self._library, function).restype = (
                ctypes.c_void_p if function == "ZSTD_createDStream" else ctypes.c_size_t
            )
        self._stream = ctypes.c_void_p(self._library.ZSTD_createDStream())
        self._output = ctypes.create_string_buffer(_PIECE)

    def unpack(self, data: bytes) -> Iterator[bytes]:
        """What ``data``, the next part of the stream, unpacks to. Raises ``ValueError`` when it is damaged."""
        given = ctypes.create_string_buffer(data, len(data))
        packed = _Buffer(ctypes.cast(given, ctypes.c_void_p), len(data), 0)
        while True:
            plain = _Buffer(ctypes.cast(self._output, ctypes.c_void_p), _PIECE, 0)
            status = self._library.ZSTD_decompressStream(self._stream, ctypes.byref(plain), ctypes.byref(packed))
            if self._library.ZSTD_isError(ctypes.c_size_t(status)):
                raise ValueError("a compressed record cannot be unpacked")
            yield ctypes.string_at(self._output, plain.at)
            if packed.at == packed.size and plain.at < plain.size:
                return

    def __del__(self) -> None:
        if hasattr(self, "_stream"):
            self._library.ZSTD_freeDStream(self._stream)
