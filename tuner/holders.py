# SPDX-License-Identifier: GPL-2.0-or-later
"""What becomes of the records that hold a record by value when it gets another size or alignment.

An aligned member makes its record's holders larger although the record itself may keep its size: they begin it at a
multiple of more bytes, and end at one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property, lru_cache

from linesmith.analyzer.errors import NotSimulated
from linesmith.analyzer.geometry.inference import record_alignment, with_inferred_alignment
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import HolderChange, Layout
from linesmith.analyzer.slab import Kernel, own_cache
from linesmith.tuner.constraints.holders import held
from linesmith.tuner.cost.memory import memory_use
from linesmith.tuner.cost.phase_mixes import changed_cache
from linesmith.tuner.relocation import Relocation, around

# Records that are laid out anew; what more of them hold is a building block, whose layout nobody changes for one line.
MOST_HOLDERS = 256


class Holders:
    """The records of ``layouts`` that hold ``record``, laid out anew when first asked for.

    ``kernel`` has their slab caches; it is ``None`` for a program.
    """

    def __init__(self, record: Layout, layouts: Layouts, kernel: Kernel | None) -> None:
        self.record = record
        self._layouts = layouts
        self._kernel = kernel
        self._explained = lru_cache(maxsize=None)(self._with_inferred_alignment)
        self.changes = lru_cache(maxsize=None)(self._changes)

    def growth(self, granule: int, growth: int) -> int:
        """Bytes by which that one of them grows that grows most; ``growth`` itself where none changes."""
        largest = self.largest(granule, growth)
        return growth if largest is None else largest.after - largest.before

    def largest(self, granule: int, growth: int) -> HolderChange | None:
        """That one of them that grows by most bytes, ``None`` where none changes."""
        return max(self.changes(granule, growth), key=lambda one: one.after - one.before, default=None)

    def _changes(self, granule: int, growth: int) -> tuple[HolderChange, ...]:
        """Those of another size, where it costs most first; the record has ``granule``, and ``growth`` bytes more."""
        now = record_alignment(self._explained(self.record.id))
        if not growth and granule <= now:
            return ()
        size = self.record.size
        known: dict[int, Relocation] = {
            self.record.id: Relocation((), size, size + growth, now, max(now, granule)),
        }
        found = dict.fromkeys(filter(None, (self._change(one, known) for one in self._holding)))
        return tuple(sorted(found, key=_worst_first))

    def _change(self, holder: int, known: dict[int, Relocation]) -> HolderChange | None:
        layout, new = self._layouts.by_id(holder), self._resized(holder, known)
        if not layout.name or new.new_size == layout.size:
            return None
        cache = own_cache(layout, self._kernel) if self._kernel is not None else None
        if cache is None or self._kernel is None:
            return HolderChange(layout.title, layout.size, new.new_size)
        larger = replace(layout, size=new.new_size, alignment=new.new_alignment)
        memory = memory_use(cache), memory_use(changed_cache(cache, larger, self._kernel))
        return HolderChange(layout.title, layout.size, new.new_size, memory)

    def _resized(self, holder: int, known: dict[int, Relocation]) -> Relocation:
        """The sizes and alignments of a record, those that it holds being ``known``; a packed one stays as it is."""
        if holder not in known:
            outer = self._explained(holder)
            alignment = record_alignment(outer)
            # What holds itself is damaged, and stays.
            known[holder] = Relocation((), outer.size, outer.size, alignment, alignment)
            inner = {at: self._resized(one, known) for at, one in self._holding[holder].items()}
            try:
                new = around(outer, inner)
            except NotSimulated:
                return known[holder]
            known[holder] = Relocation((), outer.size, new.size, alignment, record_alignment(new))
        return known[holder]

    def _with_inferred_alignment(self, layout_id: int) -> Layout:
        return with_inferred_alignment(self._layouts.by_id(layout_id))

    @cached_property
    def _holding(self) -> Mapping[int, Mapping[int, int]]:
        """By each record that holds the record at any depth: which member of it does, and what that is."""
        found: dict[int, dict[int, int]] = {}
        waiting = [self.record.id]
        for inner in waiting:
            for one in held(inner, self._layouts):
                if one.holder.id not in found:
                    waiting.append(one.holder.id)
                found.setdefault(one.holder.id, {})[one.number] = inner
            if len(found) > MOST_HOLDERS:
                break
        return found


def _worst_first(one: HolderChange) -> tuple[bool, float, str]:
    """What is allocated from a cache of its own first, by the share of memory that it takes more."""
    if one.memory is None:
        return True, -one.after / max(one.before, 1), one.record
    before, after = one.memory
    return False, -after.pages_per_1000 / before.pages_per_1000, one.record
