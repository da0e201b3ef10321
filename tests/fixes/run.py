# SPDX-License-Identifier: GPL-2.0-or-later
"""Tries all scenarios on real kernels and writes the table of docs/proposal-results.md.

    PYTHONPATH=tests python -m fixes.run vmlinux-6.1 vmlinux-6.12 [--case NAME ...] [--details]

A scenario for a release of which no ELF file is given is left out and named.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from fixes.kernel import real_kernel
from fixes.scenario import Answer, Scenario, ScenarioError, cases
from fixes.trial import Trial, tried
from fixes.verdict import best, shares, told, verdict

HEAD = "| scenario | commit | release, place | as it is | the human's | recommended | best of the set | verdict |"


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, try, print."""
    parser = argparse.ArgumentParser(description="Try layout fixes of the kernel's history on real kernels.")
    parser.add_argument("kernel", nargs="+", type=Path, help="an ELF file with DWARF")
    parser.add_argument("--case", action="append", help="this scenario only; may be repeated")
    parser.add_argument("--details", action="store_true", help="every candidate of every scenario")
    parser.add_argument("--keep", type=Path, help="keep reports and traces in this folder")
    parser.add_argument("--reports", type=Path, help="where posted reports are that scenarios name")
    given = parser.parse_args(arguments)
    chosen = [one for one in cases() if not given.case or one.name in given.case]
    with TemporaryDirectory() as scratch:
        folder = given.keep or Path(scratch)
        trials = list(_tried(chosen, given.kernel, folder, given.reports))
    print("\n".join(table(trials)))
    if given.details:
        print("\n".join(line for trial in trials for line in details(trial)))


def _tried(chosen: Sequence[Scenario], files: Sequence[Path], folder: Path, reports: Path | None) -> Iterator[Trial]:
    waiting = list(chosen)
    for file in files:
        kernel = real_kernel(file)
        for scenario in [one for one in waiting if one.release == kernel.release]:
            waiting.remove(scenario)
            posted = [reports / name for name in scenario.reports if (reports / name).is_file()] if reports else []
            for profile in (None, *posted):
                try:
                    yield tried(scenario, kernel, folder, profile)
                except ScenarioError as error:
                    print(f"{scenario.name}: {error}", file=sys.stderr)
    for one in waiting:
        print(f"{one.name}: left out, no ELF file of {one.release} was given", file=sys.stderr)


def table(trials: Sequence[Trial]) -> Iterator[str]:
    """The table in Markdown, and the sum below it."""
    yield HEAD
    yield "|---" * HEAD.count(" | ") + "|---|"
    for trial in sorted(trials, key=lambda one: one.scenario.name):
        yield _row(trial)
    every, found, recommended = shares(trials)
    others = [verdict(one) for one in trials if one.scenario.answer is not Answer.LAYOUT]
    yield ""
    yield (
        f"{every} layout fixes: the human's layout or one as good is in the set of {found}"
        f" ({100 * found / max(every, 1):.0f} %), and is the recommended one of {recommended}"
        f" ({100 * recommended / max(every, 1):.0f} %)."
    )
    yield f"Of {len(others)} records that no layout helps, {sum(one.found for one in others)} get the right answer."


def _row(trial: Trial) -> str:
    scenario, chosen, first = trial.scenario, trial.recommended, best(trial)
    cells = (
        _name(trial),
        scenario.commit,
        f"{scenario.release}, {trial.place}",
        f"{trial.now.misses:,}",
        told(trial.human, trial.now),
        told(chosen.cost, trial.now) if chosen else "-",
        told(first.cost, trial.now) if first else "-",
        verdict(trial),
    )
    return f"| {' | '.join(cells)} |"


def _name(trial: Trial) -> str:
    return f"{trial.scenario.name}, posted report" if trial.posted else trial.scenario.name


def details(trial: Trial) -> Iterator[str]:
    """Everything about one trial."""
    yield ""
    yield f"{_name(trial)}: {trial.scenario.subject} ({verdict(trial)})"
    yield f"  as it is {trial.now.misses:,} misses, mean of {trial.now.phases} phases; {trial.now.size} bytes"
    yield f"  human    {told(trial.human, trial.now)}"
    for one in trial.tried:
        marks = "".join(
            mark
            for mark, is_so in ((" recommended", one.recommended), (" same", one.same), (" as good", one.good))
            if is_so
        )
        yield f"  tool     {told(one.cost, trial.now)}: {one.moves}{marks}"
    if trial.advice:
        yield f"  advice   {', '.join(trial.advice)}"
    if trial.refusal:
        yield f"  tool     {trial.refusal}"
    if trial.asked:
        yield "  the type had to be named"
    yield from (f"  unseen   {one}" for one in trial.unseen)


if __name__ == "__main__":
    main()
