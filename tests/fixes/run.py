# SPDX-License-Identifier: GPL-2.0-or-later
"""Tries all scenarios on real kernels and writes the table of docs/change-results.md.

    PYTHONPATH=tests python -m fixes.run vmlinux-6.1 vmlinux-6.12 [--seeds N] [--case NAME ...] [--details]

A scenario for a release of which no ELF file is given is left out and named.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from fixes.kernel import RealKernel, real_kernel
from fixes.scenario import Scenario, ScenarioError, cases
from fixes.table import details, table
from fixes.trial import Trial, tried

from linesmith.analyzer.base.errors import NotSimulated


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, try, print."""
    parser = argparse.ArgumentParser(description="Try layout fixes of the kernel's history on real kernels.")
    parser.add_argument("kernel", nargs="+", type=Path, help="an ELF file with DWARF")
    parser.add_argument("--case", action="append", help="this scenario only; may be repeated")
    parser.add_argument("--details", action="store_true", help="every candidate of every scenario")
    parser.add_argument("--keep", type=Path, help="keep reports and traces in this folder")
    parser.add_argument("--traced", action="store_true", help="give the tool the trace, as a recording has one")
    parser.add_argument("--seeds", type=int, default=1, help="so many runs of each scenario")
    given = parser.parse_args(arguments)
    chosen = [one for one in cases() if not given.case or one.name in given.case]
    with TemporaryDirectory() as scratch:
        folder = given.keep or Path(scratch)
        trials = list(_tried(chosen, given, folder))
    print("\n".join(table(trials)))
    if given.details:
        print("\n".join(line for trial in trials for line in details(trial)))


def _tried(chosen: Sequence[Scenario], given: argparse.Namespace, folder: Path) -> Iterator[Trial]:
    waiting = list(chosen)
    for file in given.kernel:
        kernel = real_kernel(file)
        mine = [one for one in waiting if one.release == kernel.release]
        waiting = [one for one in waiting if one.release != kernel.release]
        for scenario in mine:
            yield from _runs(scenario, kernel, folder, given)
    for one in waiting:
        print(f"{one.name}: left out, no ELF file of {one.release} was given", file=sys.stderr)


def _runs(scenario: Scenario, kernel: RealKernel, folder: Path, given: argparse.Namespace) -> Iterator[Trial]:
    """The scenario with every seed."""
    try:
        for seed in range(given.seeds):
            yield tried(scenario, kernel, folder, seed, given.traced)
    except (ScenarioError, NotSimulated) as error:
        print(f"{scenario.name}: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
