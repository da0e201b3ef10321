# SPDX-License-Identifier: GPL-2.0-or-later
"""Which inlined functions code writes some bytes of a type by: ``refcount_dec_and_test`` says more than a write."""

from __future__ import annotations

from collections import Counter

import numpy as np

from linesmith.analyzer.access.access_map import KINDS, OUTCOMES, AccessMap
from linesmith.analyzer.model import AccessKind

_RESOLVED = np.array([outcome.resolved for outcome in OUTCOMES])
_READ = KINDS.index(AccessKind.READ)


def writing_ways(layout_id: int, offset: int, size: int, accesses: AccessMap) -> Counter[tuple[str, ...]]:
    """The inlined functions, outermost first, from which ``size`` bytes at ``offset`` of a layout are written.

    Counts are instructions; an empty chain is code of the function itself.
    """
    first, last = np.searchsorted(accesses.entry_layout, (layout_id, layout_id + 1))
    found: set[int] = set()
    for number in range(int(first), int(last)):
        place, begin = int(accesses.entry_place[number]), int(accesses.entry_offset[number])
        if begin < offset + size and offset < begin + max(int(accesses.place_width[place]), 1):
            rows = accesses.rows_of_place(place)
            writing = _RESOLVED[accesses.outcome[rows]] & (accesses.kind[rows] != _READ)
            found.update(rows[writing].tolist())
    return Counter(accesses.chain_of(int(accesses.chain[row])) for row in sorted(found))
