# SPDX-License-Identifier: GPL-2.0-or-later
"""The access map of a file: made on demand, kept beside the index of layouts, mapped into memory.

A prefix (magic, checksum and length of the head), the head (msgpack: stamp, checksum of the body, and where which
column lies), then the columns, each aligned for its type. Whatever does not check out makes the file as good as absent.
"""

from __future__ import annotations

import mmap
import os
import zlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from linesmith.analyzer.access.access_map import AccessMap, as_arrays, from_arrays
from linesmith.analyzer.access.building import build
from linesmith.analyzer.base.errors import CodeMissing, DebugInfoMissing
from linesmith.analyzer.layouts import dwarf, store
from linesmith.analyzer.model import ElfIdentity

# Counts up when the columns, or what Python fills them with, become others; the stamp tells other native cores.
FORMAT = b"linesmith-map-02"
SUFFIX = ".access"
ALIGNMENT = 64
MACHINES = ("x86-64", "aarch64")


class _MapColumn(msgspec.Struct, frozen=True, array_like=True):
    """``offset`` counts bytes from the start of the body."""

    name: str
    type: str
    offset: int
    length: int


class _MapHead(msgspec.Struct, frozen=True, array_like=True):
    stamp: store.Stamp
    columns: tuple[_MapColumn, ...]
    body_crc: int


def save(directory: Path, key: str, stamp: store.Stamp, accesses: AccessMap) -> None:
    """Keep the map under ``key``; raises ``OSError`` when the directory cannot be written."""
    columns, parts, at, checksum = [], [], 0, 0
    for name, array in as_arrays(accesses).items():
        data = np.ascontiguousarray(array)
        content = data.view(np.uint8).data
        columns.append(_MapColumn(name, data.dtype.str, at, len(data)))
        for part in (content, bytes(-data.nbytes % ALIGNMENT)):
            checksum = zlib.crc32(part, checksum)
            parts.append(part)
            at += len(part)
    head = msgspec.msgpack.encode(_MapHead(stamp, tuple(columns), checksum))
    begin = store.prefixed(FORMAT, head)
    store.keep(directory, key + SUFFIX, (begin, bytes(-len(begin) % ALIGNMENT), *parts))


def load(directory: Path, key: str, stamp: store.Stamp) -> AccessMap | None:
    """The map kept under ``key`` if it is sound and made of what ``stamp`` says; ``None`` otherwise."""
    path = directory / (key + SUFFIX)
    try:
        with path.open("rb") as file:
            content = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        head, body = _head_and_columns(content)
        if head.stamp != stamp or zlib.crc32(body) != head.body_crc:
            return None
        columns = {one.name: np.frombuffer(body, np.dtype(one.type), one.length, one.offset) for one in head.columns}
        accesses = from_arrays(columns)
    except (OSError, ValueError, KeyError, msgspec.MsgspecError):
        return None
    with suppress(OSError):
        os.utime(path)  # the least recently used file is the first to go
    return accesses


def _head_and_columns(content: memoryview) -> tuple[_MapHead, memoryview]:
    """Head and body; raises ``ValueError`` where the head is not what was written."""
    encoded, rest = store.head_and_body(content, FORMAT)
    gap = (len(rest) - len(content)) % ALIGNMENT
    if any(rest[:gap]):
        raise ValueError(gap)
    return msgspec.msgpack.decode(encoded, type=_MapHead), rest[gap:]


@dataclass(frozen=True, slots=True, eq=False)
class AccessReading:
    """The map of one file; ``cached`` tells that it was at hand, ``remarks`` are whole sentences for the user."""

    identity: ElfIdentity
    accesses: AccessMap
    cached: bool
    remarks: tuple[str, ...] = ()


def read_accesses(path: Path, progress: dwarf.Progress = dwarf.unwatched) -> AccessReading:
    """What every instruction of ``path`` touches; ``progress`` gets (done, total) while the map is made.

    The ids of layouts are those of ``dwarf.read_layouts``. Raises ``ElfError``, ``DebugInfoMissing``,
    ``DebugInfoDamaged``, or ``CodeMissing`` where there is no code to look at. A map that cannot be kept is a remark,
    no error.
    """
    identity = dwarf.identify(path)
    _check(identity)
    place = dwarf.cache_place(identity, "DWARF")
    accesses = load(place.directory, place.key, place.stamp) if place.directory else None
    if accesses is not None:
        return AccessReading(identity, accesses, cached=True)
    table = dwarf.map_accesses(path, progress)
    if not table.functions:
        raise CodeMissing(f"{path}: there is no code in it; give the file that runs rather than its debug file")
    accesses = build(table, dwarf.read_layouts(path).layouts)
    remarks = dwarf.keep_or_remark(place, lambda directory: save(directory, place.key, place.stamp, accesses))
    return AccessReading(identity, accesses, cached=False, remarks=remarks)


def accesses_if_any(path: Path) -> AccessMap | None:
    """The access map of ``path``; ``None`` where none can be made, so that weaker evidence must do."""
    try:
        return read_accesses(path).accesses
    except (CodeMissing, DebugInfoMissing):
        return None


def _check(identity: ElfIdentity) -> None:
    """Raise what can be said without reading the file."""
    if identity.kind == "BTF" or (identity.has_btf and not identity.has_dwarf):
        raise DebugInfoMissing(
            f"{identity.path}: there is BTF but no DWARF, and only DWARF tells where variables are; give the file "
            "that was built with -g, or install its debug package"
        )
    if identity.machine not in MACHINES:
        raise CodeMissing(
            f"{identity.path}: code for {identity.machine} cannot be followed, only that for "
            f"{' and '.join(MACHINES)}; linesmith layout reads its types all the same"
        )
