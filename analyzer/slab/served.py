# SPDX-License-Identifier: GPL-2.0-or-later
"""The records that slab caches are known to serve, with all that they hold: a small part of a kernel's."""

from __future__ import annotations

from collections.abc import Iterator

from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Layout
from linesmith.analyzer.slab.allocation import Kernel
from linesmith.analyzer.slab.known_caches import served_records

# The allocator's own record, and one that every module knows of that was built for the same kernel.
_OF_KERNELS = ("kmem_cache", "task_struct")


def has_slabs(layouts: Layouts) -> bool:
    """Whether the file is a kernel or a module, whose objects come from slabs; programs have records of such names."""
    return any(layouts.variants(name) for name in _OF_KERNELS)


class Served:
    """The layouts of a file, of which only these are walked: what a known or measured cache serves, and their parts.

    Any other can still be asked for. Whoever looks for the caches that hold a record need not read the others.
    """

    def __init__(self, layouts: Layouts, kernel: Kernel) -> None:
        self._all = layouts
        self._roots = tuple(dict.fromkeys([*served_records(kernel.machine.release), *kernel.measured]))
        self.by_id = layouts.by_id
        self.variants = layouts.variants
        self.names = layouts.names

    def __iter__(self) -> Iterator[Layout]:
        """Every such layout once, those in front that a cache serves."""
        waiting = [layout.id for name in self._roots for layout in self._all.variants(name)]
        seen = set(waiting)
        for one in waiting:  # grows while it is walked
            layout = self._all.by_id(one)
            yield layout
            inner = {member.record for member in layout.members if member.record is not None} - seen
            seen |= inner
            waiting += sorted(inner)
