# SPDX-License-Identifier: GPL-2.0-or-later
"""What a layout is predicted to cost as a ratio to the layout as it is: the cheapest fidelity.

Contacts count as in docs/cost.md, half in the profile's phase and half over all phases, and a little for meeting on a
pair of lines; what lies on a second line, and neighbours in a row of objects, count likewise. The ratio is that of
contended samples, not of time: it orders layouts, and promises no gain.
"""

from __future__ import annotations

from collections.abc import Sequence

from linesmith.tuner.conflict import adjacent_cost, cost
from linesmith.tuner.exposure import exposure
from linesmith.tuner.search import Option
from linesmith.tuner.space.hot_record import HotRecord
from linesmith.tuner.space.touches import meeting, straddling

# What meeting on a 128-byte pair of lines costs of meeting on a line: a prefetcher may bring the pair together.
ADJACENT = 0.1
# What of its samples a member on a second line costs.
STRADDLE = 0.8
# What one member without samples that newly meets a writer costs, as a share of all contended samples.
EXPOSED = 0.02
# What a step more costs, so that of layouts that promise the same the smaller change comes first.
STEP = 0.003
# No layout removes all contention.
LEAST = 0.02


def estimate(record: HotRecord, option: Option) -> float:
    """The predicted ratio, below 1 when better."""
    target = record.subject
    before = _cost(record, target.starts, target.layout.size, target.heat.granule)
    after = _cost(record, option.starts, option.size, option.granule)
    total = max(record.contended, before, 1.0)
    exposed = EXPOSED * exposure(target, option.starts, option.granule)
    steps = STEP * len(option.arrangement.moves)
    return max((total - before + after) / total, LEAST) + exposed + steps


def _cost(record: HotRecord, starts: Sequence[int], size: int, granule: int) -> float:
    heat = record.subject.heat
    met = cost(heat, starts, granule)
    paired = adjacent_cost(heat, starts, granule)
    split = straddling(heat, record.touches, starts, granule)
    row = sum(one.weight * meeting(one, starts, size, heat.line_bytes, granule) for one in record.neighbours)
    return (1 - ADJACENT) * (met.here + met.anywhere) / 2 + ADJACENT * paired + STRADDLE * split + row
