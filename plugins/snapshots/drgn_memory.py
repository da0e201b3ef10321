# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads a memory dump of a kernel, or the running kernel, with drgn."""

from __future__ import annotations

from collections.abc import Collection
from importlib.metadata import version
from pathlib import Path

from linesmith.analyzer.errors import SnapshotError, ToolMissing
from linesmith.analyzer.extras import install_command
from linesmith.analyzer.model import Snapshot


class DrgnMemory:
    """Names objects in memory by the kernel's own records (https://drgn.readthedocs.io)."""

    name = "drgn"

    def read(self, memory: Path, vmlinux: Path, addresses: Collection[int]) -> Snapshot:
        """The areas that hold ``addresses``; see ``SnapshotSource``."""
        # Loaded on use: everything else works without drgn.
        try:
            import drgn
        except ImportError as error:
            raise ToolMissing(
                f"naming objects in memory needs drgn ({error}); install it with: {install_command('snapshot')}"
            ) from error
        from linesmith.plugins.snapshots.identify import snapshot

        try:
            return snapshot(memory, vmlinux, addresses)
        except (LookupError, AttributeError, ValueError, drgn.FaultError, drgn.BadDataError) as error:
            # Kernels move their records; drgn and this reader know them up to their own release.
            raise SnapshotError(
                f"drgn {version('drgn')} cannot find its way in {memory} ({error}); a newer drgn may know this kernel"
            ) from error
