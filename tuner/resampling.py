# SPDX-License-Identifier: GPL-2.0-or-later
"""How far a change may be chance: a block bootstrap over windows of one trace.

One trace is one interleaving. Its windows are taken as blocks that might have come in other numbers: they are drawn
with replacement, and the change is computed anew each time. Source: Kuensch, "The jackknife and the bootstrap for
general stationary observations", Annals of Statistics 17 (1989).
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from linesmith.analyzer.model import Interval

RESAMPLES = 1000
TAIL = 0.025


def change_interval(before: Sequence[float], after: Sequence[float]) -> Interval:
    """The middle 95 % of the change (after - before) / before; ``before`` and ``after`` are misses by window.

    The same windows give the same interval. 0 to 0 where nothing was missed before.
    """
    draw = Random(0)  # noqa: S311 - a repeatable choice of windows, no secret
    windows = [pair for pair in zip(before, after, strict=True) if any(pair)]
    changes = []
    for _ in range(RESAMPLES):
        chosen = draw.choices(windows, k=len(windows)) if windows else []
        old = sum(pair[0] for pair in chosen)
        if old:
            changes.append((sum(pair[1] for pair in chosen) - old) / old)
    if not changes:
        return Interval(0.0, 0.0)
    changes.sort()
    return Interval(changes[int(TAIL * len(changes))], changes[int((1 - TAIL) * len(changes)) - 1])
