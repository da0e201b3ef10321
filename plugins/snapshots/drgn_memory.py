# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads a memory dump of a kernel, or the running kernel, with drgn."""

from __future__ import annotations

from collections.abc import Collection
from importlib.util import find_spec
from pathlib import Path

from linesmith.analyzer.errors import ToolMissing
from linesmith.analyzer.model import Snapshot


class DrgnMemory:
    """Names objects in memory by the kernel's own records (https://drgn.readthedocs.io)."""

    name = "drgn"

    def read(self, memory: Path, vmlinux: Path, addresses: Collection[int]) -> Snapshot:
        """The areas that hold ``addresses``; see ``SnapshotSource``."""
        if find_spec("drgn") is None:
            raise ToolMissing("naming objects in memory needs drgn; install it with: pip install 'linesmith[snapshot]'")
        # Loaded on use: everything else works without drgn.
        from linesmith.plugins.snapshots.identify import snapshot

        return snapshot(memory, vmlinux, addresses)
