# SPDX-License-Identifier: GPL-2.0-or-later
"""Which option to recommend, and why; or why none.

A reviewer takes the smallest change that removes the cost. So what an option leaves is weighed against the members that
it moves and the memory that it takes, and doing nothing is an option too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linesmith.analyzer.model import Strategy
from linesmith.tuner.merit import Merit, best_first


@dataclass(frozen=True, slots=True)
class Evidence:
    """How many ``counted`` (``samples``, or ``misses`` of a simulation) may be chance: ``noise``."""

    noise: float
    counted: str = "samples"


def recommended(found: Sequence[Merit], evidence: Evidence) -> Merit | None:
    """The one to take, ``None`` where doing nothing is as good."""
    worth = [one for one in found if one.price < 1 and not _is_noise(one, evidence)]
    return min(worth, key=best_first, default=None)


def _is_noise(one: Merit, evidence: Evidence) -> bool:
    return one.now - one.left <= evidence.noise


def reason(chosen: Merit, found: Sequence[Merit], evidence: Evidence) -> str:
    """Why this one of ``found``, in a sentence."""
    saved = f"{_amount(chosen.now - chosen.left)} of {_amount(chosen.now)} contended {evidence.counted}"
    clauses = [f"Takes away {saved}: {_effort(chosen)}", *_smaller(chosen, found), *_larger(chosen, found)]
    return f"{'; '.join(clauses)}."


def _effort(chosen: Merit) -> str:
    """What it takes, in words."""
    moved = "one member moves" if chosen.members == 1 else f"{chosen.members} members move"
    if chosen.option.arrangement.strategy is Strategy.ALIGN:
        moved = "one member is aligned"
    if chosen.growth > 0:
        return f"{moved} and the record grows by {chosen.growth} bytes"
    return f"{moved} and the record shrinks by {-chosen.growth} bytes" if chosen.growth else f"{moved}, the size stays"


def _smaller(chosen: Merit, found: Sequence[Merit]) -> list[str]:
    """What the best smaller change would leave."""
    smaller = [one.left for one in found if one.effort < chosen.effort]
    return [f"a smaller change would leave {_amount(min(smaller))}"] if smaller else []


def _larger(chosen: Merit, found: Sequence[Merit]) -> list[str]:
    """What the best larger one would gain."""
    larger = [one.left for one in found if one.effort > chosen.effort and one.left < chosen.left]
    return [f"a larger one would take away {_amount(chosen.left - min(larger))} more"] if larger else []


def _amount(samples: float) -> str:
    return f"{samples:,.0f}" if samples >= 10 or samples == round(samples) else f"{samples:.1f}"


def declined(found: Sequence[Merit], evidence: Evidence) -> str:
    """Why none of ``found``, of which there is at least one, is recommended: a sentence."""
    best = min(found, key=best_first)
    saved = f"{_amount(max(best.now - best.left, 0))} of {_amount(best.now)} contended {evidence.counted}"
    if all(_is_noise(one, evidence) for one in found):
        why = f"differences of up to {_amount(evidence.noise)} would be chance"
    else:
        why = f"too little for what it takes: {_effort(best)}"
    return f"Nothing is recommended: the best candidate is predicted to take away {saved}, and {why}."
