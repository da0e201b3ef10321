# SPDX-License-Identifier: GPL-2.0-or-later
"""What a layout is predicted to cost as a ratio to the layout as it is: the cheapest fidelity.

Contacts count as in docs/cost.md, half in the profile's phase and half over all phases, and a little for meeting on a
pair of lines; a hot member on two lines costs a part of its samples, a member that newly meets a writer a part of the
contacts. The ratio is that of contended samples, not of time: it orders layouts, and promises no gain.
"""

from __future__ import annotations

from collections.abc import Sequence

from linesmith.tuner.conflict import adjacent_cost, cost
from linesmith.tuner.exposure import exposure
from linesmith.tuner.search import Option
from linesmith.tuner.space.hot_record import HotRecord, straddling

# What meeting on a 128-byte pair of lines costs of meeting on a line: the prefetcher brings the pair together.
ADJACENT = 0.1
# What of its samples a member on two lines costs.
STRADDLE = 0.25
# What one member without samples that newly meets a writer costs, as a share of all contended samples.
EXPOSED = 0.02


def estimate(record: HotRecord, option: Option) -> float:
    """The predicted ratio, below 1 when better."""
    target = record.subject
    before = _cost(record, target.starts, target.heat.granule)
    after = _cost(record, option.starts, option.granule)
    total = max(record.contended, before, 1.0)
    exposed = EXPOSED * exposure(target, option.starts, option.granule)
    return (total - before + after) / total + exposed


def _cost(record: HotRecord, starts: Sequence[int], granule: int) -> float:
    target = record.subject
    met = cost(target.heat, starts, granule)
    paired = adjacent_cost(target.heat, starts, granule)
    split = sum(spot.samples * straddling(target, spot, starts, granule) for spot in target.heat.spots)
    return (1 - ADJACENT) * (met.here + met.anywhere) / 2 + ADJACENT * paired + STRADDLE * split
