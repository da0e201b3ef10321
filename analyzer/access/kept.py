# SPDX-License-Identifier: GPL-2.0-or-later
"""The access map on disk, beside the index of layouts: columns in one file, mapped into memory.

A prefix (magic, checksum and length of the head), the head (msgpack: stamp, checksum of the body, and where which
column lies), then the columns, each aligned for its type. Whatever does not check out makes the file as good as absent.
"""

from __future__ import annotations

import mmap
import os
import struct
import zlib
from contextlib import suppress
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from linesmith.analyzer import store
from linesmith.analyzer.access.access_map import AccessMap, as_arrays, from_arrays

# Counts up when the columns, or what Python fills them with, become others; the stamp tells other native cores.
FORMAT = b"linesmith-map-02"
SUFFIX = ".access"
ALIGNMENT = 64
_PREFIX = struct.Struct("<16sII")


class _Column(msgspec.Struct, frozen=True, array_like=True):
    """``offset`` counts bytes from the start of the body."""

    name: str
    type: str
    offset: int
    length: int


class _Head(msgspec.Struct, frozen=True, array_like=True):
    stamp: store.Stamp
    columns: tuple[_Column, ...]
    body_crc: int


def save(directory: Path, key: str, stamp: store.Stamp, accesses: AccessMap) -> None:
    """Keep the map under ``key``; raises ``OSError`` when the directory cannot be written."""
    columns, parts, at, checksum = [], [], 0, 0
    for name, array in as_arrays(accesses).items():
        data = np.ascontiguousarray(array)
        content = data.view(np.uint8).data
        columns.append(_Column(name, data.dtype.str, at, len(data)))
        for part in (content, bytes(-data.nbytes % ALIGNMENT)):
            checksum = zlib.crc32(part, checksum)
            parts.append(part)
            at += len(part)
    head = msgspec.msgpack.encode(_Head(stamp, tuple(columns), checksum))
    prefix = _PREFIX.pack(FORMAT, zlib.crc32(head), len(head))
    gap = bytes(-(len(prefix) + len(head)) % ALIGNMENT)
    store.keep(directory, key + SUFFIX, (prefix, head, gap, *parts))


def load(directory: Path, key: str, stamp: store.Stamp) -> AccessMap | None:
    """The map kept under ``key`` if it is sound and made of what ``stamp`` says; ``None`` otherwise."""
    path = directory / (key + SUFFIX)
    try:
        with path.open("rb") as file:
            content = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        head, body = _parted(content)
        if head.stamp != stamp or zlib.crc32(body) != head.body_crc:
            return None
        accesses = from_arrays({column.name: _column(column, body) for column in head.columns})
    except (OSError, ValueError, KeyError, struct.error, msgspec.MsgspecError):
        return None
    with suppress(OSError):
        os.utime(path)  # the least recently used file is the first to go
    return accesses


def _parted(content: memoryview) -> tuple[_Head, memoryview]:
    """Head and body; raises ``ValueError`` where the head is not what was written."""
    magic, checksum, length = _PREFIX.unpack_from(content)
    encoded = content[_PREFIX.size : _PREFIX.size + length]
    if magic != FORMAT or zlib.crc32(encoded) != checksum:
        raise ValueError(magic)
    end = _PREFIX.size + length
    gap = -end % ALIGNMENT
    if any(content[end : end + gap]):
        raise ValueError(end)
    return msgspec.msgpack.decode(encoded, type=_Head), content[end + gap :]


def _column(column: _Column, body: memoryview) -> NDArray[np.generic]:
    array: NDArray[np.generic] = np.frombuffer(body, np.dtype(column.type), column.length, column.offset)
    return array
