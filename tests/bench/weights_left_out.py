# SPDX-License-Identifier: GPL-2.0-or-later
"""What the judge asks of a change, chosen anew without each scenario in turn and tried on that one.

The scenarios of tests/fixes are tried as fixes.run does it; all candidates that the judge had are kept with what they
cost by the trace. Then the judge chooses among them with every combination of WEIGHTS. Of a scenario left out counts
what the combination chooses that gets most runs of all others right; of equals the one nearest to what is in use.

    PYTHONPATH=tests python tests/bench/weights_left_out.py vmlinux-6.1 vmlinux-6.12 [--seeds N]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from unittest.mock import patch

from fixes import trial
from fixes.judgement import Cost, as_good, change
from fixes.kernel import RealKernel, real_kernel
from fixes.run import LEAST_SAVED
from fixes.scenario import Answer, Scenario, cases

from linesmith.tuner.propose.candidates import Suggestion
from linesmith.tuner.replay import recommend
from linesmith.tuner.replay.recommend import Contender, chosen

# What is tried beside the value in use: half and twice as much.
WEIGHTS = ("WORTH_A_MOVE", "EXPOSED_COST", "WORTH_GROWING", "TIMES_LEVEL", "LEAST_SAVING")
FACTORS = (1.0, 0.5, 2.0)

Weights = Mapping[str, float]


class Run(NamedTuple):
    """A run of a scenario: for each answer what the judge chose from, and what each costs by the trace."""

    scenario: Scenario
    now: Cost
    human: Cost | None
    answers: tuple[tuple[tuple[Contender, ...], tuple[Cost, ...]], ...]
    advised: bool

    def right(self, weights: Weights) -> bool:
        """Whether what is recommended with the weights is as good as the human's, or nothing where nothing helps."""
        taken = None
        for contenders, costs in self.answers:
            with patch.multiple(recommend, **weights):
                best = chosen(contenders)
            if best is not None:
                taken = costs[contenders.index(best)]
                break
        if self.scenario.answer is Answer.LAYOUT:
            return taken is not None and self.human is not None and as_good(taken, self.human, self.now)
        if self.scenario.answer is Answer.NONE:
            return taken is None
        # As fixes.run counts: a change that costs misses does no good, but is no reason against the structure's.
        return self.advised and not (taken is not None and change(self.now, taken) >= LEAST_SAVED)


def run_of(scenario: Scenario, kernel: RealKernel, folder: Path, seed: int) -> Run:
    """One run with all that its judge saw."""
    seen: list[tuple[Suggestion, Sequence[Contender]]] = []
    benches = []
    answered, suggested = recommend.answered, trial.suggested

    def noted(answer: Suggestion, found: Sequence[Contender]) -> Suggestion:
        seen.append((answer, tuple(found)))
        return answered(answer, found)

    def with_bench(*given: object) -> trial.Suggested:
        benches.append(given[3])
        seen.clear()
        return suggested(*given)  # type: ignore[arg-type]

    with patch.object(recommend, "answered", noted), patch.object(trial, "suggested", with_bench):
        told = trial.tried(scenario, kernel, folder, seed)
    bench = benches[0]
    answers = []
    for answer, found in seen:
        if not answer.withheld and bench.concerns(found[0].candidate.before.id):
            costs = tuple(bench.cost(one.candidate.before, one.candidate.after) for one in found)
            answers.append((tuple(found), costs))
    return Run(scenario, told.now, told.human, tuple(answers), scenario.advice in told.advice)


def combinations() -> Iterator[dict[str, float]]:
    """What is in use first, then by how many weights differ from it."""
    used = {name: getattr(recommend, name) for name in WEIGHTS}
    for factors in sorted(product(FACTORS, repeat=len(WEIGHTS)), key=lambda one: len(WEIGHTS) - one.count(1.0)):
        yield {name: used[name] * factor for name, factor in zip(WEIGHTS, factors, strict=True)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kernel", nargs="+", type=Path, help="an ELF file with DWARF")
    parser.add_argument("--seeds", type=int, default=3, help="so many runs of each scenario")
    given = parser.parse_args()
    runs: dict[str, list[Run]] = {}
    with TemporaryDirectory() as scratch, patch.dict("os.environ", XDG_CACHE_HOME=scratch):
        # Answers that a former run has kept would not be judged again.
        for kernel in map(real_kernel, given.kernel):
            for scenario in (one for one in cases() if one.release == kernel.release):
                found = [run_of(scenario, kernel, Path(scratch), seed) for seed in range(given.seeds)]
                # A layout fix that its scenario does not show says nothing.
                human = found[0].human
                shown = human is not None and change(found[0].now, human) <= -LEAST_SAVED
                if shown or scenario.answer is not Answer.LAYOUT:
                    runs[scenario.name] = found
    grid = list(combinations())
    right = [{name: sum(run.right(one) for run in found) for name, found in runs.items()} for one in grid]
    total = len(runs) * given.seeds
    print(f"{len(runs)} scenarios, {total} runs, {len(grid)} combinations; in use: {_shown(grid[0])}")
    print(f"right with what is in use: {sum(right[0].values())} of {total} runs")
    best = max(range(len(grid)), key=lambda at: sum(right[at].values()))
    print("  " + ", ".join(f"{name} {count}" for name, count in right[0].items()))
    print(f"right with the best of all: {sum(right[best].values())} of {total} runs: {_shown(grid[best])}")
    left_out = 0
    for name in runs:
        at = max(range(len(grid)), key=lambda one: sum(right[one].values()) - right[one][name])
        left_out += right[at][name]
        if right[at][name] != right[0][name] or right[best][name] != right[0][name]:
            print(f"  without {name}: {_shown(grid[at])}: {right[at][name]} instead of {right[0][name]}")
    print(f"right where left out: {left_out} of {total} runs ({left_out / total:.1%})")
    for name in WEIGHTS:
        rows = [(one, each) for one, each in zip(grid, right, strict=True) if _only(one, grid[0], name)]
        print(f"{name} alone: " + ", ".join(f"{one[name]:g}: {sum(each.values())}" for one, each in rows))


def _only(one: Weights, used: Weights, name: str) -> bool:
    return all(one[other] == used[other] for other in WEIGHTS if other != name)


def _shown(weights: Weights) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in weights.items())


if __name__ == "__main__":
    main()
