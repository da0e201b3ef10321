# SPDX-License-Identifier: GPL-2.0-or-later
"""What the size of a record costs in memory."""

from __future__ import annotations

OBJECTS = 100_000
PAGES_OF = 1_000


def growth(before: int, after: int) -> str:
    """What growing from ``before`` to ``after`` bytes costs by itself, in one sentence; slabs may add to it."""
    more = (after - before) * OBJECTS / (1 << 20)
    return f"grows from {before} to {after} bytes: {more:.1f} MiB more for {OBJECTS:,} objects."
