# SPDX-License-Identifier: GPL-2.0-or-later
"""What becomes of the records that hold the changed one by value, for a commit message."""

from __future__ import annotations

from collections.abc import Sequence

from linesmith.analyzer.model import HolderChange
from linesmith.patches.paragraph import paragraph

_MOST = 3


def around(holders: Sequence[HolderChange], *, exact: bool) -> str:
    """A paragraph with the costliest of ``holders``; empty where none gets another size.

    ``exact`` tells that the tree's layouts are those that the sizes are of.
    """
    if not holders:
        return ""
    whose = "" if exact else ", in the build of the ELF file"
    sizes = [f"{one.record} from {one.before} to {one.after} bytes{_in_slabs(one)}" for one in holders[:_MOST]]
    more = len(holders) - _MOST
    others = f", and {more} more" if more > 0 else ""
    return paragraph(f"What holds one by value changes its size with it{whose}: {', '.join(sizes)}{others}.")


def _in_slabs(one: HolderChange) -> str:
    """How many objects its cache has room for in a slab, before and after."""
    if one.memory is None:
        return ""
    before, after = one.memory
    pages = f" of {1 << after.order} pages" if before.order == after.order and after.order else ""
    return f" ({before.objects_per_slab} -> {after.objects_per_slab} in a slab{pages})"
