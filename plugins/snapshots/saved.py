# SPDX-License-Identifier: GPL-2.0-or-later
"""Snapshots as files: the map of objects alone, without a byte of the memory they lie in."""

from __future__ import annotations

from pathlib import Path

import msgspec

from linesmith.analyzer.errors import SnapshotError
from linesmith.analyzer.model import ObjectArea, Snapshot

VERSION = 1
_MOST_BYTES = 1 << 30
_ADDRESSES = 1 << 64


class _Document(msgspec.Struct, forbid_unknown_fields=True):
    """The file: its version, then the snapshot as the model has it."""

    version: int = msgspec.field(name="linesmith-snapshot")
    snapshot: Snapshot


class _Head(msgspec.Struct):
    version: int = msgspec.field(name="linesmith-snapshot")


def encode(snapshot: Snapshot) -> bytes:
    """The document for a snapshot: one line of UTF-8 JSON with a newline."""
    return msgspec.json.encode(_Document(VERSION, snapshot)) + b"\n"


def read_snapshot(path: Path) -> Snapshot:
    """The snapshot in a file; raises ``SnapshotError`` when it is none, is damaged or of another version."""
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise SnapshotError(f"cannot read the snapshot {path}: {error.strerror}; name another file") from error
    if len(data) > _MOST_BYTES:
        raise SnapshotError(f"{path} is larger than any snapshot; give what `linesmith snapshot` wrote")
    return _decoded(data, path)


def _decoded(data: bytes, path: Path) -> Snapshot:
    try:
        version = msgspec.json.decode(data, type=_Head).version
        if version != VERSION:
            raise SnapshotError(
                f"{path} is a snapshot of linesmith in version {version}, but this linesmith reads version {VERSION}; "
                "take it again, or use the linesmith that wrote it"
            )
        snapshot = msgspec.json.decode(data, type=_Document).snapshot
    except (msgspec.MsgspecError, RecursionError) as error:
        raise SnapshotError(
            f"{path} is no snapshot, or a damaged one ({error}); give what `linesmith snapshot` wrote"
        ) from error
    if not all(map(_is_in_memory, snapshot.areas)):
        raise SnapshotError(f"{path} has an object of no size or beyond all addresses; take it again")
    return snapshot


def _is_in_memory(area: ObjectArea) -> bool:
    return min(area.size, area.stride, area.count) > 0 and 0 <= area.address < area.end <= _ADDRESSES
