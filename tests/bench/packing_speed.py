# SPDX-License-Identifier: GPL-2.0-or-later
"""The packing solver on the structs of a real file: against every order there is, and against other ways to search.

Usage: PYTHONPATH=tests python tests/bench/packing_speed.py exact ELF [--atoms 9] [--seed 1] [--limit 100]
       PYTHONPATH=tests python tests/bench/packing_speed.py ways ELF [--least 35] [--atoms 45] [--hot 6] [--limit 20]

``exact`` takes every struct of up to so many atoms, gives it random heat, and compares with the cheapest of all orders.
``ways`` compares the solver with its parts, with annealing from the present order, and with random orders. Times are
seconds of CPU.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import median
from time import process_time

from packing_cases import cheapest, heated

from linesmith.analyzer.layouts.dwarf import read_layouts
from linesmith.analyzer.model import RecordKind
from linesmith.tuner.packing.local_search import anneal
from linesmith.tuner.packing.positions import Positions
from linesmith.tuner.packing.prices import UNITS
from linesmith.tuner.packing.problem import PackingProblem
from linesmith.tuner.packing.scene import PricedProblem
from linesmith.tuner.packing.solve import front

# Beginnings of orders looked at by one search.
WORK = 50_000


def main() -> None:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=["exact", "ways"])
    parser.add_argument("elf", type=Path)
    parser.add_argument("--least", type=int, default=2)
    parser.add_argument("--atoms", type=int, default=9)
    parser.add_argument("--hot", type=int, default=6, help="hot members at most")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=int, default=10**9, help="structs to take")
    options = parser.parse_args()
    cases = problems(options.elf, options.seed, range(options.least, options.atoms + 1), options.hot, options.limit)
    for line in exact(cases) if options.what == "exact" else ways(cases):
        print(line, flush=True)


def problems(elf: Path, seed: int, atoms: range, hot: int, limit: int) -> Iterator[tuple[str, PackingProblem]]:
    """Structs of so many atoms with random heat, by name."""
    layouts = read_layouts(elf).layouts
    for layout in layouts:
        if limit and layout.kind is RecordKind.STRUCT and layout.members:
            problem = heated(layout, layouts, Random(f"{seed} {layout.id}"), hot)  # noqa: S311
            if problem and len(problem.items) in atoms and problem.clashes:
                limit -= 1
                yield layout.title, problem


def exact(cases: Iterator[tuple[str, PackingProblem]]) -> Iterator[str]:
    """Each struct against all its orders."""
    seen: Counter[int] = Counter()
    proven = wrong = 0
    times: list[float] = []
    for title, problem in cases:
        begin = process_time()
        answer = front(problem, WORK)[-1].optimality
        times.append(process_time() - begin)
        best = cheapest(problem)
        seen[len(problem.items)] += 1
        proven += answer.proven
        if abs(answer.cost - best) > 1e-6 * max(best, 1.0):
            wrong += 1
            yield f"{title}: {answer.cost} instead of {best}"
    yield f"{sum(seen.values())} structs, {wrong} wrong, {proven} proven; by atoms: {dict(sorted(seen.items()))}"
    yield f"seconds: median {median(times):.4f}, most {max(times):.3f}"


@dataclass(frozen=True, slots=True)
class Result:
    """What one way came to: its cost, its bound if it has one, and how long it took."""

    cost: float
    bound: float | None
    seconds: float


def ways(cases: Iterator[tuple[str, PackingProblem]]) -> Iterator[str]:
    """Each struct by each way, then how each way did in all."""
    found: dict[str, list[tuple[Result, float]]] = {name: [] for name in WAYS}
    for title, problem in cases:
        present = present_cost(problem)
        results = {name: timed(way, problem) for name, way in WAYS.items()}
        best = min(result.cost for result in results.values())
        for name, result in results.items():
            found[name].append((result, best))
        row = "  ".join(f"{name} {one.cost:.0f}{'*' if proven(one) else ''}" for name, one in results.items())
        yield f"{title}: {len(problem.items)} atoms, {problem.size_limit} bytes, now {present:.0f}: {row}"
    for name, rows in found.items():
        yield f"{name:11} {summary(rows)}"


def summary(rows: list[tuple[Result, float]]) -> str:
    """How often a way found the best cost of all ways and proved it, and how long it took."""
    best = sum(result.cost <= least * (1 + 1e-6) + 1e-6 for result, least in rows)
    seconds = [result.seconds for result, _ in rows]
    return (
        f"best {best:3} of {len(rows)}, proven {sum(proven(result) for result, _ in rows):3}, "
        f"sum of costs {sum(result.cost for result, _ in rows):9.0f}, "
        f"seconds median {median(seconds):.3f}, most {max(seconds):.3f}"
    )


def proven(result: Result) -> bool:
    """Whether the bound is the cost, but for the library's rounding."""
    return result.bound is not None and result.cost - result.bound <= 1e-6 * max(result.cost, 1.0)


def timed(way: Callable[[PackingProblem], tuple[float, float | None]], problem: PackingProblem) -> Result:
    """The way's cost and bound, and seconds of CPU."""
    begin = process_time()
    cost, bound = way(problem)
    return Result(cost, bound, process_time() - begin)


def present_cost(problem: PackingProblem) -> float:
    """The cost of the order that the struct has."""
    return next(iter(front(problem, 1))).optimality.cost


def by_solver(problem: PackingProblem) -> tuple[float, float | None]:
    """The whole solver."""
    answer = front(problem, WORK)[-1].optimality
    return answer.cost, answer.bound


def by_places(problem: PackingProblem) -> tuple[float, float | None]:
    """Its branch and bound over places alone."""
    scene = PricedProblem(problem)
    found = Positions(scene, WORK // 5, 2 * UNITS).run()
    cost = found.best.units * scene.prices.unit if found.best else present_cost(problem)
    return cost, min(cost, found.bound * scene.prices.unit)


def by_annealing(problem: PackingProblem) -> tuple[float, float | None]:
    """Annealing from the present order: 10,000 orders."""
    scene = PricedProblem(problem)
    present = scene.judge(range(len(problem.items)))
    return (anneal(scene, present, 10_000).units * scene.prices.unit if present else 0.0), None


def by_chance(problem: PackingProblem) -> tuple[float, float | None]:
    """The best of 10,000 random orders that keep segments."""
    scene, random = PricedProblem(problem), Random(1)  # noqa: S311
    best = present_cost(problem)
    for _ in range(10_000):
        order = sorted(range(len(problem.items)), key=lambda item: (problem.items[item].segment, random.random()))
        placed = scene.places(order)
        if placed:
            best = min(best, scene.units(placed[0]) * scene.prices.unit)
    return best, None


WAYS: dict[str, Callable[[PackingProblem], tuple[float, float | None]]] = {
    "solver": by_solver,
    "places": by_places,
    "annealing": by_annealing,
    "random": by_chance,
}


if __name__ == "__main__":
    main()
