# SPDX-License-Identifier: GPL-2.0-or-later
"""Which option to recommend, and why; or why none.

A reviewer takes the smallest change that removes the cost, and memory has to be earned. Doing nothing is an option too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linesmith.analyzer.model import Strategy
from linesmith.tuner.merit import Merit, best_first

# A change is recommended that saves at least this share of the record's contended samples.
LEAST_SAVING = 0.02
# What a record that grows must save more than the best that does not, as a share of what it costs now: for growing at
# all, and for each share of memory that its objects then take more.
WORTH_GROWING = 0.15
WORTH_MEMORY = 0.5


@dataclass(frozen=True, slots=True)
class Evidence:
    """How many ``counted`` (``samples``, or ``misses`` of a simulation) may be chance: ``noise``."""

    noise: float
    counted: str = "samples"


def recommended(found: Sequence[Merit], evidence: Evidence) -> Merit | None:
    """The one to take, ``None`` where what can be saved may be chance, or is too little."""
    worth = [one for one in found if not _is_noise(one, evidence) and one.saved >= LEAST_SAVING * one.now]
    level = [one for one in worth if one.growth <= 0]
    return _best([one for one in worth if one.growth > 0 and _pays(one, level)]) or _best(level)


def _best(found: Sequence[Merit]) -> Merit | None:
    """That whose churn and risk are worth it most."""
    return min(found, key=best_first, default=None)


def _pays(grown: Merit, level: Sequence[Merit]) -> bool:
    """Whether a record that grows saves more than all that do not, for the memory it takes."""
    more = min((one.cost for one in level), default=grown.now) - grown.cost
    return more >= max(WORTH_GROWING, WORTH_MEMORY * grown.heavier) * grown.now


def _is_noise(one: Merit, evidence: Evidence) -> bool:
    return one.saved <= evidence.noise


def reason(chosen: Merit, found: Sequence[Merit], evidence: Evidence) -> str:
    """Why this one of ``found``, in a sentence."""
    now, stays = chosen.here
    saved = f"{_amount(now - stays)} of {_amount(now)} contended {evidence.counted}"
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
    smaller = [one.here[1] for one in found if one.effort < chosen.effort]
    return [f"a smaller change would leave {_amount(min(smaller))}"] if smaller else []


def _larger(chosen: Merit, found: Sequence[Merit]) -> list[str]:
    """What the best larger one would gain."""
    larger = [chosen.here[1] - one.here[1] for one in found if one.effort > chosen.effort]
    more = max(larger, default=0.0)
    return [f"a larger one would take away {_amount(more)} more"] if more >= 1 else []


def _amount(samples: float) -> str:
    return f"{samples:,.0f}" if samples >= 10 or samples == round(samples) else f"{samples:.1f}"


def declined(found: Sequence[Merit], evidence: Evidence) -> str:
    """Why none of ``found``, of which there is at least one, is recommended: a sentence."""
    best = min(found, key=best_first)
    now, stays = best.here
    saved = f"{_amount(max(now - stays, 0.0))} of {_amount(now)} contended {evidence.counted}"
    if all(_is_noise(one, evidence) for one in found):
        why = f"differences of up to {_amount(evidence.noise)} would be chance"
    else:
        why = f"too little for what it takes: {_effort(best)}"
    return f"Nothing is recommended: the best candidate is predicted to take away {saved}, and {why}."
