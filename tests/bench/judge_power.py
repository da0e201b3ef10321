# SPDX-License-Identifier: GPL-2.0-or-later
"""How often the judge errs and what it finds: ``PYTHONPATH=tests python tests/bench/judge_power.py``.

Printed are the tables of docs/judge.md. For each noise model a thing is compared with itself, then with one that really
takes longer; every comparison may stop after each block, as a run does.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor

from noise_models import MODELS, trial

from linesmith.analyzer.model import Comparison, VerdictKind

CHANGES = (0.01, 0.03, 0.05, 0.2, 1.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=400, help="comparisons for each cell (default: 400)")
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    with ProcessPoolExecutor(given.processes) as pool:
        tasks = {
            (name, change): pool.submit(outcomes, name, change, given.repetitions)
            for name, noise in MODELS.items()
            for change in (0.0, *CHANGES)
            if change == 0.0 or change > noise.smallest
        }
        found = {key: task.result() for key, task in tasks.items()}
    print("\n".join(itself(found)), "\n", "\n".join(power(found)), sep="\n")


Found = dict[tuple[str, float], list[Comparison]]


def outcomes(name: str, change: float, repetitions: int) -> list[Comparison]:
    """Comparisons under one noise model with one true change, each with a seed of its own."""
    return [trial(MODELS[name], change, seed) for seed in range(repetitions)]


def itself(found: Found) -> Iterator[str]:
    """The table of comparisons of a thing with itself, in per cent."""
    yield "| runs differ by | smallest that matters | no difference seen | too noisy | better | worse | blocks |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for name, noise in MODELS.items():
        ones = found[name, 0.0]
        shares = " | ".join(f"{_share(ones, kind):.1f} %" for kind in _KINDS)
        yield f"| {name} | {100 * noise.smallest:g} % | {shares} | {_blocks(ones):.1f} |"


def power(found: Found) -> Iterator[str]:
    """The table of true changes: how often each is found, and after how many blocks."""
    yield "| runs differ by | " + " | ".join(f"{100 * change:g} % longer" for change in CHANGES) + " |"
    yield "|---" * (len(CHANGES) + 1) + "|"
    for name in MODELS:
        cells = [_cell(found.get((name, change), [])) for change in CHANGES]
        yield f"| {name} | {' | '.join(cells)} |"


_KINDS = (VerdictKind.NO_DIFFERENCE, VerdictKind.TOO_NOISY, VerdictKind.BETTER, VerdictKind.WORSE)


def _share(ones: Sequence[Comparison], kind: VerdictKind) -> float:
    return 100 * sum(one.verdict == kind for one in ones) / len(ones)


def _blocks(ones: Sequence[Comparison]) -> float:
    return sum(one.blocks for one in ones) / len(ones)


def _cell(ones: Sequence[Comparison]) -> str:
    return f"{_share(ones, VerdictKind.WORSE):.0f} % in {_blocks(ones):.1f}" if ones else "does not matter"


if __name__ == "__main__":
    main()
