# SPDX-License-Identifier: GPL-2.0-or-later
"""How often the judge errs and what it finds: ``PYTHONPATH=tests python tests/bench/judge_power.py [--real]``.

Printed are the tables of docs/judge.md. For each noise model a thing is compared with itself, then with one that really
takes longer; every comparison may stop after each block, as a run does. ``--real`` runs one and the same program under
both names instead, each process a boot, on the machine as it is.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import fmean, median, stdev

from noise_models import BASE, HEAD, METRIC, MODELS, USE, looked, trial

from linesmith.analyzer.model import Comparison, Rules, Sample, VerdictKind
from linesmith.tuner.judge.ranking import enough, order

CHANGES = (0.01, 0.03, 0.05, 0.2, 1.0)
PROGRAM = """
#include <stdlib.h>
int main(int count, char **words)
{
	unsigned *next = calloc(1 << 16, sizeof(*next)), at = 0, steps = atoi(words[count - 1]);

	for (unsigned i = 0; i < 1 << 16; i++)
		next[i] = (i * 40503u + 12345u) & 0xffff;
	for (unsigned i = 0; i < steps; i++)
		at = next[at ^ (i & 7)];
	return at == 1 << 20;
}
"""


def main() -> None:
    """Print the tables asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--real", action="store_true", help="run a program instead of drawing numbers")
    parser.add_argument("--repetitions", type=int, default=400, help="comparisons for each cell (default: 400)")
    parser.add_argument(
        "--steps", type=int, default=12_000_000, help="of the program (default: 12 million, some 50 ms)"
    )
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    if given.real:
        print_real(given.repetitions, given.steps)
        return
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


def print_real(repetitions: int, steps: int) -> None:
    """Compare a program with itself on this machine, by its wall time and by its CPU time."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "chase"
        command = ["gcc", "-O2", "-x", "c", "-", "-o", str(program)]
        subprocess.run(command, input=PROGRAM, text=True, check=True, timeout=60)
        found = [real_trial((str(program), str(steps)), seed) for seed in range(repetitions)]
    print("| measured | spread of runs | no difference seen | too noisy | better | worse | blocks |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name, which in (("wall time", 0), ("CPU time", 1)):
        ones = [pair[which] for pair in found]
        counts = Counter(one.verdict for one in ones)
        spread = median(stdev(one.base) / fmean(one.base) for one in ones)
        cells = " | ".join(str(counts[kind]) for kind in _KINDS)
        print(f"| {name} | {100 * spread:.1f} % | {cells} | {_blocks(ones):.1f} |")


def real_trial(command: Sequence[str], seed: int) -> tuple[Comparison, Comparison]:
    """One program under two names, in the judge's order, until both its wall and its CPU seconds are clear."""
    rules = Rules()
    taken: tuple[list[Sample], list[Sample]] = ([], [])
    found: dict[int, Comparison] = {}
    _seconds(command)
    for block in range(rules.most_blocks):
        for variant in order(BASE, HEAD, block, seed):
            for values, seconds in zip(taken, _seconds(command), strict=True):
                values.append(Sample(variant, USE.label, METRIC.name, 1, seconds, block, len(values), len(values) % 4))
        for which in {0, 1} - found.keys():
            look = looked(taken[which], rules)
            if enough([look], rules):
                found[which] = look
        if len(found) == len(taken):
            break
    return found[0], found[1]


def _seconds(command: Sequence[str]) -> tuple[float, float]:
    begin = time.perf_counter()
    child = subprocess.Popen(command)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return time.perf_counter() - begin, usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
