# SPDX-License-Identifier: GPL-2.0-or-later
"""Which option to recommend, and why; or why none.

A reviewer takes the smallest change that removes the cost, and memory has to be earned. Doing nothing is an option too.
"""

from __future__ import annotations

from collections.abc import Sequence

from linesmith.analyzer.model import Strategy
from linesmith.tuner.propose.tradeoff import MOST_FOR_GROWING, Tradeoff, best_first

# A change is recommended that saves at least this share of the record's contended accesses.
LEAST_SAVING = 0.02
# What is nearly as good: this share of the saving less, and of what can be saved more for risk.
NEARLY = 0.1
# What a record that grows must save more than the best that does not, as a share of what it costs now: for growing at
# all, and for each share of memory that its objects then take more; to no more than half, as for the price.
WORTH_GROWING = 0.15
WORTH_MEMORY = 0.5

_PLACE_ALONE = "that rests on where the profile's objects begin: in all phases together its pairs meet as often as now"


def recommended(found: Sequence[Tradeoff]) -> Tradeoff | None:
    """The one to take, ``None`` where what can be saved may be chance, is too little, or is of one place alone."""
    worth = [
        one for one in found if one.parts and one.saving.tells and one.saving.likely >= LEAST_SAVING * one.saving.before
    ]
    level = [one for one in worth if one.grown <= 0]
    return _best([one for one in worth if one.grown > 0 and _pays(one, level)]) or _best(level)


def _best(found: Sequence[Tradeoff]) -> Tradeoff | None:
    """That whose churn and risk are worth it most; a smaller one, if it saves nearly as much for nearly that price."""
    best = min(found, key=best_first, default=None)
    if best is None:
        return None
    least, most = (1 - NEARLY) * best.saving.likely, best.price + NEARLY
    near = [one for one in found if one.saving.likely >= least and one.price <= most]
    return min(near, key=lambda one: (one.members, best_first(one)))


def _pays(grown: Tradeoff, level: Sequence[Tradeoff]) -> bool:
    """Whether a record that grows saves more than all that do not: enough for its memory, and no chance."""
    more = grown.promised - max((one.promised for one in level), default=0.0)
    wanted = min(max(WORTH_GROWING, WORTH_MEMORY * grown.heavier), MOST_FOR_GROWING) * grown.saving.before
    return more >= wanted and (not level or more > grown.saving.noise)


def reason(best: Tradeoff, found: Sequence[Tradeoff], counted: str, doubt: str = "") -> str:
    """Why this one of ``found``, in a sentence; ``counted`` are ``loads``, or ``accesses`` of a recording.

    ``doubt`` is that of the candidate.
    """
    surely = "Perhaps takes" if best.saving.may_lose or doubt else "Likely takes"
    clauses = [f"{surely} away {_saved(best)} contended {counted}: {_effort(best)}"]
    likely = best.saving.likely
    smaller = max((one.saving.likely for one in found if one.effort < best.effort), default=likely)
    if smaller < likely:
        clauses.append(f"a smaller change would take away {_amount(max(smaller, 0.0))}")
    more = max((one.saving.likely - likely for one in found if one.effort > best.effort), default=0.0)
    if more >= 1:
        clauses.append(f"a larger one would take away {_amount(more)} more")
    equal = [one for one in found if one.effort == best.effort and one.saving.likely >= (1 - NEARLY) * likely]
    if not best.around_lock and any(one.around_lock for one in equal):
        clauses.append("moving others away from the lock would leave it with all the rest")
    return f"{'; '.join(clauses)}."


def _saved(one: Tradeoff) -> str:
    return f"{_amount(max(one.saving.likely, 0.0))} of {_amount(one.saving.before)}"


def _effort(one: Tradeoff) -> str:
    """What it takes, in words."""
    moved = "one member moves" if one.members == 1 else f"{one.members} members move"
    if one.option.arrangement.strategy is Strategy.ALIGN:
        moved = "one member is aligned"
    around = f", a record around it by {one.held}" if one.held > max(one.growth, 0) else ""
    if one.growth > 0:
        return f"{moved} and the record grows by {one.growth} bytes{around}"
    if one.growth:
        return f"{moved} and the record shrinks by {-one.growth} bytes"
    grows = f", but a record around it grows by {one.held} bytes" if around else ""
    return f"{moved}, the size stays{grows}"


def _amount(samples: float) -> str:
    return f"{samples:,.0f}" if samples >= 10 or samples == round(samples) else f"{samples:.1f}"


def declined(found: Sequence[Tradeoff], counted: str) -> str:
    """Why none of ``found``, of which there is at least one, is recommended: a sentence."""
    best = max(found, key=lambda one: one.saving.likely)
    if best.saving.tells:
        why = f"too little for what it takes: {_effort(best)}" if best.parts else _PLACE_ALONE
    else:
        why = f"differences of up to {_amount(best.saving.noise)} would be chance"
    saved = f"{_saved(best)} contended {counted}"
    return f"Nothing is recommended: the best candidate is predicted to take away {saved}, and {why}."
