# SPDX-License-Identifier: GPL-2.0-or-later
"""The stride of a cache, as the objects that were seen in its slabs tell it.

Some records are cut or grow when the kernel boots (``task_struct``), others are built otherwise than their rules say.
The starts of their objects, taken modulo the size of a slab, are multiples of one stride all the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from linesmith.analyzer.model import SlabGeometry
from linesmith.analyzer.slab.order import MOST, least_order

# Share of the objects that must lie at multiples of the stride; the others were placed wrongly.
_MOSTLY = 0.8
# Different starts, besides that of the slab, that tell a stride from chance.
_ENOUGH = 2
_GRANULE = 8


def observed_geometry(starts: Collection[int], size: int, page_bytes: int) -> SlabGeometry | None:
    """The geometry that explains objects of about ``size`` bytes at these addresses; ``None`` where none does.

    The smallest slab wins that explains as many as any other.
    """
    found = (
        _of_order(starts, size, order, page_bytes) for order in range(least_order(size // 2, page_bytes), MOST + 1)
    )
    best = max(filter(None, found), key=lambda one: (one[0], -one[1].order), default=None)
    return best[1] if best else None


def _of_order(starts: Collection[int], size: int, order: int, page_bytes: int) -> tuple[int, SlabGeometry] | None:
    slab = page_bytes << order
    offsets = [start % slab for start in starts]
    counted = ((sum(offset % one == 0 for offset in offsets), one) for one in set(_strides(offsets, size, slab)))
    count, stride = max(counted, default=(0, 0))
    if count < _MOSTLY * len(offsets) or not stride:
        return None
    if len({offset for offset in offsets if offset and offset % stride == 0}) < _ENOUGH:
        return None
    return count, SlabGeometry(size, stride & -stride, stride, order, slab // stride, page_bytes)


def _strides(offsets: Collection[int], size: int, slab: int) -> Iterator[int]:
    """Strides between half and twice the size of which an offset is a multiple."""
    for offset in set(offsets) - {0}:
        for number in range(1, min(2 * offset // size, slab // _GRANULE) + 1):
            stride, rest = divmod(offset, number)
            if not rest and stride % _GRANULE == 0 and size <= 2 * stride <= 4 * size:
                yield stride
