# SPDX-License-Identifier: GPL-2.0-or-later
"""How many trials each optimizer needs on tables of measured costs, against random search.

Usage: PYTHONPATH=tests python tests/bench/optimizer_trials.py TABLE.json... [--seeds 50] [--blocks 4]

A trial is a point that was measured; estimates cost none. A search has arrived when the point that it would choose,
the one with the lowest cost told so far, really has 95 % of the gain of the best point of the table. Each answer is the
mean of some measurements of the point, drawn anew. All are told for nothing which layouts are legal; random search is
told no estimates and no priors.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import mean, median

from search.tables import Table, read_table

from linesmith.analyzer.model import Told
from linesmith.plugins.api import Optimizer, Search
from linesmith.plugins.optimizers.bayesian import Bayesian
from linesmith.plugins.optimizers.exhaustive import Exhaustive
from linesmith.plugins.optimizers.racing import Racing
from linesmith.plugins.optimizers.random import Random

ENOUGH = 0.95
# Estimates, which also tell what is legal, and measurements.
RUNGS = 2


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("tables", nargs="+", type=Path)
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--blocks", type=int, default=4, help="measurements of one trial")
    parser.add_argument("--optimizers", default="racing,scikit-optimize,exhaustive")
    options = parser.parse_args()
    for path in options.tables:
        for line in report(read_table(path), options.optimizers.split(","), options.seeds, options.blocks):
            print(line, flush=True)


def report(table: Table, names: list[str], seeds: int, blocks: int) -> Iterator[str]:
    """The lines for one table: random search first, then each optimizer with estimates and without."""
    yield f"{table.title}: {len(table.values)} layouts, best gain {table.best_gain:.1%}"
    chance = [trail(table, Random(), seed, blocks, table.space.size) for seed in range(seeds)]
    budget = median(arrival(table, one) for one in chance)
    most = int(2 * budget) + 1
    yield from rows(table, "random", chance, budget)
    known: dict[str, Optimizer] = {one.name: one for one in (Racing(), Bayesian(), Exhaustive())}
    for name in names:
        for hinted in (table, replace(table, estimates={})) if table.estimates and name != "exhaustive" else (table,):
            found = [trail(hinted, known[name], seed, blocks, most) for seed in range(seeds)]
            yield from rows(table, name + (", estimates" if hinted.estimates else ""), found, budget)


def rows(table: Table, title: str, trails: list[list[float]], budget: float) -> Iterator[str]:
    """One optimizer: median trials, the share of random search's, and the gain at a third of random search's."""
    arrived = median(arrival(table, one) for one in trails)
    third = max(1, int(budget / 3))
    gain = mean(one[min(third, len(one)) - 1] for one in trails) / (table.best_gain or 1)
    share = arrived / budget if budget else 0.0
    yield f"  {title:28} {arrived:6.1f} trials ({share:5.0%} of random's), {gain:6.1%} of the best gain after {third}"


def trail(table: Table, optimizer: Optimizer, seed: int, blocks: int, most: int) -> list[float]:
    """The real gain of the point that the search would choose, after each trial; ``most`` trials are followed."""
    told_nothing = isinstance(optimizer, Random)
    space = replace(table.space, priors=()) if told_nothing else table.space
    search = optimizer.search(space, RUNGS, seed, table.space.size, 1)
    gains: list[float] = []
    best: Told | None = None
    while len(gains) < most and (answer := _next(table, search, blocks, seed)):
        if answer.rung and answer.cost is not None:
            best = answer if best is None or answer.cost < (best.cost or 0.0) else best
            gains.append(1 - table.cost(best.point) if (best.cost or 0.0) < 1 else 0.0)
    return gains or [0.0]


def _next(table: Table, search: Search, blocks: int, seed: int) -> Told | None:
    """The answer to the search's next question, told to it."""
    asks = search.ask(1)
    if not asks:
        return None
    cheap = asks[0].rung == 0
    answer = table.estimated(asks[0]) if cheap else table.measured(asks[0], blocks, seed)
    search.tell(answer)
    return answer


def arrival(table: Table, gains: list[float]) -> int:
    """The trial at which the chosen point was first good enough; one more than there were, when it never is."""
    enough = ENOUGH * table.best_gain
    return next((trials for trials, gain in enumerate(gains, start=1) if gain >= enough), len(gains) + 1)


if __name__ == "__main__":
    main()
