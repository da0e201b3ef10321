# SPDX-License-Identifier: GPL-2.0-or-later
"""What lies at the places that code touches: member paths, and the records they fall into."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linesmith.analyzer.geometry import leaves_at
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Entered, Layout, Leaf

# No machine touches more by one instruction of known width; more would be damage.
WIDEST = 64
# Unions of real kernels have fewer alternatives; damaged ones could cost as much at every place.
ALTERNATIVES = 256


@dataclass(frozen=True, slots=True)
class Places:
    """Distinct (type, offset, width) of rows; ``of_row`` tells the one of each row. Place 0 is what is not known."""

    of_row: NDArray[np.uint32]
    type: NDArray[np.uint32]
    offset: NDArray[np.int32]
    width: NDArray[np.uint16]


@dataclass(frozen=True, slots=True)
class Found:
    """What a place is: the path of the member there, and the records that its bytes fall into."""

    path: str
    entered: tuple[Entered, ...]


NOTHING = Found("", ())


def distinct_places(types: NDArray[np.uint32], offset: NDArray[np.int32], width: NDArray[np.uint16]) -> Places:
    """The places of rows with these types, offsets and widths, by type and offset."""
    where = (types.astype(np.uint64) << np.uint64(32)) | offset.view(np.uint32).astype(np.uint64)
    _, spot_of_row = np.unique(where, return_inverse=True)
    keys = (spot_of_row.astype(np.uint64) << np.uint64(16)) | width.astype(np.uint64)
    keys[types == 0] = 0
    _, first, of_row = np.unique(keys, return_index=True, return_inverse=True)
    known = types[first] != 0
    numbers = np.where(known, np.cumsum(known), 0).astype(np.uint32)
    chosen = first[known]
    return Places(
        numbers[of_row],
        np.concatenate((np.zeros(1, np.uint32), types[chosen])),
        np.concatenate((np.zeros(1, np.int32), offset[chosen])),
        np.concatenate((np.zeros(1, np.uint16), width[chosen])),
    )


def find(layout: Layout, layouts: Layouts, offset: int, width: int) -> Found:
    """What ``width`` bytes at ``offset`` of ``layout`` are; a hole falls into the record itself, nothing else does."""
    leaves = tuple(leaves_within(layout, layouts, offset, width))
    if leaves:
        entered = dict.fromkeys(one for leaf in leaves for one in leaf.entered)
        begins = leaves[0] if leaves[0].offset <= offset else None
        return Found(begins.path if begins else "", tuple(entered))
    return Found("", (Entered(layout.id, 0, ""),)) if 0 <= offset < layout.size else NOTHING


def leaves_within(layout: Layout, layouts: Layouts, offset: int, width: int) -> Iterator[Leaf]:
    """The leaves that ``width`` bytes from ``offset`` on touch, by offset: of a union one alternative.

    ``width`` 0 stands for a width that is not known: what begins there.
    """
    at, end = max(offset, 0), offset + min(max(width, 1), WIDEST)
    while at < end:
        leaf = chosen(leaves_at(layout, layouts, at, ALTERNATIVES), at, width)
        if leaf is not None:
            yield leaf
        at = max(at + 1, leaf.offset + leaf.size if leaf else 0)


def chosen(leaves: Sequence[Leaf], offset: int, width: int) -> Leaf | None:
    """Of alternatives the one that begins at ``offset`` and has this width, else one that begins there, else any."""
    return min(leaves, key=lambda leaf: (leaf.offset != offset, leaf.size != width), default=None)
