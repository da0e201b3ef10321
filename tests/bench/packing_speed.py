# SPDX-License-Identifier: GPL-2.0-or-later
"""The packing solver on the structs of a real file: against every order there is, and against other ways to search.

Usage: PYTHONPATH=tests python tests/bench/packing_speed.py exact ELF [--atoms 9] [--seed 1] [--limit 0]

``exact`` takes every struct of up to so many atoms, gives it random heat, and compares with the cheapest of all orders.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from statistics import median
from time import process_time

from packing_cases import cheapest, heated

from linesmith.analyzer.dwarf import read_layouts
from linesmith.analyzer.model import RecordKind
from linesmith.tuner.packing.problem import Problem
from linesmith.tuner.packing.solve import solve

MOST_HOT = 6


def main() -> None:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=["exact"])
    parser.add_argument("elf", type=Path)
    parser.add_argument("--atoms", type=int, default=9)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=int, default=0, help="structs to take, all without")
    options = parser.parse_args()
    for line in exact(options.elf, options.atoms, options.seed, options.limit):
        print(line, flush=True)


def problems(elf: Path, seed: int, least: int, most: int) -> Iterator[tuple[str, Problem]]:
    """Structs of so many atoms with random heat, by name."""
    layouts = read_layouts(elf).layouts
    for layout in layouts:
        if layout.kind is RecordKind.STRUCT and layout.members:
            problem = heated(layout, layouts, Random(f"{seed} {layout.id}"), MOST_HOT)  # noqa: S311
            if problem and least <= len(problem.items) <= most:
                yield layout.title, problem


def exact(elf: Path, atoms: int, seed: int, limit: int) -> Iterator[str]:
    """Every struct of up to so many atoms against all its orders."""
    seen: Counter[int] = Counter()
    proven: Counter[int] = Counter()
    times: list[float] = []
    for title, problem in problems(elf, seed, 2, atoms):
        begin = process_time()
        answer = solve(problem)
        times.append(process_time() - begin)
        best = cheapest(problem)
        seen[len(problem.items)] += 1
        proven[len(problem.items)] += answer.proven
        if abs(answer.cost - best) > 1e-6 * max(best, 1.0):
            yield f"{title}: {answer.cost} instead of {best}"
        if limit and sum(seen.values()) >= limit:
            break
    yield f"{sum(seen.values())} structs, {sum(proven.values())} proven, seconds each: median {median(times):.4f}, "
    yield f"most {max(times):.3f}; by atoms: {dict(sorted(seen.items()))}"


if __name__ == "__main__":
    main()
