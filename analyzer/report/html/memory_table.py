# SPDX-License-Identifier: GPL-2.0-or-later
"""What objects of two layouts cost in their slab caches, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linesmith.analyzer.model import MemoryUse

_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """One cache: each figure before and after, and which of them differ."""

    cache: str
    basis: str
    object_bytes: tuple[str, str]
    objects_per_slab: tuple[str, str]
    pages: tuple[str, str]
    mebibytes: tuple[str, str]
    changed: bool


def memory_rows(before: Sequence[MemoryUse], after: Sequence[MemoryUse]) -> tuple[MemoryRow, ...]:
    """A row for each cache that both know, those where something changes first."""
    rows = (_row(old, new) for old, new in zip(before, after, strict=False))
    return tuple(sorted(rows, key=lambda row: not row.changed))


def _row(old: MemoryUse, new: MemoryUse) -> MemoryRow:
    both = (old, new)
    return MemoryRow(
        old.cache,
        old.basis.value,
        _pair([f"{use.object_bytes:,}" for use in both]),
        _pair([f"{use.objects_per_slab:,} in {_pages(use)}" for use in both]),
        _pair([f"{use.pages_per_1000:,}" for use in both]),
        _pair([f"{use.bytes_per_100000 / _MIB:,.1f}" for use in both]),
        (old.stride, old.order, old.pages_per_1000) != (new.stride, new.order, new.pages_per_1000),
    )


def _pair(values: Sequence[str]) -> tuple[str, str]:
    return values[0], values[1]


def _pages(use: MemoryUse) -> str:
    pages = 1 << use.order
    return f"{pages} page{'s' * (pages != 1)}"
