# SPDX-License-Identifier: GPL-2.0-or-later
"""What a layout is predicted to cost as a ratio to the layout as it is: the cheapest fidelity.

Contacts count as in docs/cost.md, half in the profile's phase and half over all phases, and a little for meeting on a
pair of lines; what lies on a second line, and neighbours in a row of objects, count likewise. The ratio is that of
contended samples, not of time: it orders layouts, and promises no gain.
"""

from __future__ import annotations

from collections.abc import Sequence

from linesmith.tuner.cost.conflict import hot_lines
from linesmith.tuner.cost.exposure import exposure
from linesmith.tuner.search import Option
from linesmith.tuner.space.disturbances import adjacent_disturbance, disturbance
from linesmith.tuner.space.hot_record import HotRecord
from linesmith.tuner.space.touches import Neighbours, meeting, straddling
from linesmith.tuner.subject import Subject

# What meeting on a 128-byte pair of lines costs of meeting on a line: a prefetcher may bring the pair together.
ADJACENT = 0.1
# What of its samples a member on a second line costs.
STRADDLE = 0.8
# What one member without samples that newly meets a writer costs, as a share of all contended samples.
EXPOSED = 0.02
# What one more line of hot members costs: each is fetched by itself.
LINE = 0.03
# What a record twice as large costs more: fewer of them fit a cache.
SIZE = 0.02
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
    return max((total - before + after) / total, LEAST) + _beside(target, option)


def _beside(target: Subject, option: Option) -> float:
    """What no contact tells: who is newly exposed, lines of hot members, the size, and the steps."""
    exposed = exposure(target, option.starts, option.granule)
    lines = hot_lines(target.heat, option.starts, option.granule)
    lines -= hot_lines(target.heat, target.starts, target.heat.granule)
    larger = option.size / max(target.layout.size, 1) - 1
    return EXPOSED * exposed + LINE * lines + SIZE * larger + STEP * len(option.arrangement.moves)


def _cost(record: HotRecord, starts: Sequence[int], size: int, granule: int) -> float:
    heat = record.subject.heat
    met = disturbance(heat, record.disturbances, starts, granule)
    paired = adjacent_disturbance(record.disturbances, starts, heat.mixes.starts(granule))
    split = straddling(heat, record.touches, starts, granule)
    row = sum(one.weight * _still_met(record, one, starts, size, granule) for one in record.neighbours)
    return (1 - ADJACENT) * (met.here + met.anywhere) / 2 + ADJACENT * paired + STRADDLE * split + row


def _still_met(record: HotRecord, one: Neighbours, starts: Sequence[int], size: int, granule: int) -> float:
    """How often neighbours meet of the times that they meet now, which gave them their weight."""
    target = record.subject
    line_bytes = target.heat.line_bytes
    now = meeting(one, target.starts, target.layout.size, line_bytes, target.heat.granule)
    return meeting(one, starts, size, line_bytes, granule) / now if now else 0.0
