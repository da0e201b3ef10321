# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the memory of a kernel with drgn, and snapshots from their files: the map of objects, no byte of the memory.

This module must load where drgn is not installed: saved snapshots are read without it.
"""

from __future__ import annotations

from collections.abc import Collection
from importlib.metadata import version
from pathlib import Path

import msgspec

from linesmith.analyzer.base.errors import SnapshotError, ToolMissing, install_command
from linesmith.analyzer.model import Snapshot

VERSION = 1
_MOST_BYTES = 1 << 30
_ADDRESSES = 1 << 64


class DrgnMemory:
    """Names objects in memory by the kernel's own records (https://drgn.readthedocs.io)."""

    name = "drgn"

    def obstacle(self) -> str | None:
        """That drgn is not installed, or cannot be loaded; see ``SnapshotSource``."""
        try:
            import drgn  # noqa: F401 - loaded on use: everything else works without it
        except ImportError as error:
            return f"naming objects in memory needs drgn ({error}); install it with: {install_command('snapshot')}"
        return None

    def read(self, memory: Path, vmlinux: Path, addresses: Collection[int]) -> Snapshot:
        """The areas that hold ``addresses``; see ``SnapshotSource``."""
        if reason := self.obstacle():
            raise ToolMissing(reason)
        import drgn

        from linesmith.plugins.snapshots.areas import snapshot_of

        try:
            return snapshot_of(memory, vmlinux, addresses)
        except (LookupError, AttributeError, ValueError, drgn.FaultError, drgn.BadDataError) as error:
            # Kernels move their records; drgn and this reader know them up to their own release.
            raise SnapshotError(
                f"drgn {version('drgn')} cannot read {memory} ({error}); a newer drgn may support this kernel"
            ) from error


class _SnapshotHead(msgspec.Struct):
    """What a file of any version has."""

    version: int = msgspec.field(name="linesmith-snapshot")


class _SnapshotDocument(_SnapshotHead, forbid_unknown_fields=True):
    """The file: its version, then the snapshot as the model has it."""

    snapshot: Snapshot


def encode(snapshot: Snapshot) -> bytes:
    """The document for a snapshot: one line of UTF-8 JSON with a newline."""
    return msgspec.json.encode(_SnapshotDocument(VERSION, snapshot)) + b"\n"


def read_snapshot(path: Path) -> Snapshot:
    """The snapshot in a file; raises ``SnapshotError`` when it is none, is damaged or of another version."""
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise SnapshotError(f"cannot read the snapshot {path}: {error.strerror}; name another file") from error
    if len(data) > _MOST_BYTES:
        raise SnapshotError(f"{path} is too large for a snapshot; give a file written by `linesmith snapshot`")
    try:
        version = msgspec.json.decode(data, type=_SnapshotHead).version
        if version != VERSION:
            raise SnapshotError(
                f"{path} has snapshot version {version}, but this linesmith reads version {VERSION}; take it again,"
                " or use the linesmith that wrote it"
            )
        snapshot = msgspec.json.decode(data, type=_SnapshotDocument).snapshot
    except (msgspec.MsgspecError, RecursionError) as error:
        raise SnapshotError(
            f"{path} is not a snapshot, or is damaged ({error}); give a file written by `linesmith snapshot`"
        ) from error
    areas = snapshot.areas
    if not all(min(one.size, one.stride, one.count) > 0 <= one.address < one.end <= _ADDRESSES for one in areas):
        raise SnapshotError(f"{path} has an object of no size or beyond all addresses; take it again")
    return snapshot
