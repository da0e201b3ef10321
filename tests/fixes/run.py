# SPDX-License-Identifier: GPL-2.0-or-later
"""Tries all scenarios on real kernels and writes the table of docs/change-results.md.

    PYTHONPATH=tests python -m fixes.run vmlinux-6.1 vmlinux-6.12 [--seeds N] [--case NAME ...] [--details]

A scenario for a release of which no ELF file is given is left out and named.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory

from fixes.judgement import Cost, change
from fixes.kernel import RealKernel, real_kernel
from fixes.scenario import Answer, Scenario, ScenarioError, cases
from fixes.trial import Trial, Tried, tried

from linesmith.analyzer.base.errors import NotSimulated


def main(arguments: Sequence[str] | None = None) -> None:
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
    try:
        for seed in range(given.seeds):
            yield tried(scenario, kernel, folder, seed, given.traced)
    except (ScenarioError, NotSimulated) as error:
        print(f"{scenario.name}: {error}", file=sys.stderr)


# The human's change must save so much of the misses for a scenario to show that it does.
LEAST_SAVED = 0.02


class Verdict(StrEnum):
    """How far the tool got; the first four are what is asked of it."""

    RECOMMENDED = "recommended"
    IN_SET = "in the set"
    LEFT_ALONE = "left alone, as it should be"
    ADVISED = "the structure, as it should be"
    MISSED = "missed"
    NO_CANDIDATE = "no candidate"
    MEDDLED = "recommends a change where none helps"
    NOT_ADVISED = "does not advise to change the structure"
    UNSHOWN = "not shown by the scenario"

    @property
    def found(self) -> bool:
        return self in (Verdict.RECOMMENDED, Verdict.IN_SET, Verdict.LEFT_ALONE, Verdict.ADVISED)


def verdict(trial: Trial) -> Verdict:
    if trial.scenario.answer is Answer.STRUCTURE:
        if trial.recommended is not None and change(trial.now, trial.recommended.cost) >= LEAST_SAVED:
            return Verdict.MEDDLED
        return Verdict.ADVISED if trial.scenario.advice in trial.advice else Verdict.NOT_ADVISED
    if trial.scenario.answer is Answer.NONE:
        return Verdict.MEDDLED if trial.recommended else Verdict.LEFT_ALONE
    if trial.human is None or -change(trial.now, trial.human) < LEAST_SAVED:
        return Verdict.UNSHOWN
    if trial.recommended is not None and trial.recommended.good:
        return Verdict.RECOMMENDED
    if any(one.good for one in trial.tried):
        return Verdict.IN_SET
    return Verdict.MISSED if trial.tried else Verdict.NO_CANDIDATE


def best(trial: Trial) -> Tried | None:
    """The candidate with the fewest misses, the recommended one among equals."""
    return min(trial.tried, key=lambda one: (one.cost.misses, not one.recommended), default=None)


def told(cost: Cost | None, now: Cost) -> str:
    """The change of misses, and memory where it changes."""
    if cost is None:
        return "-"
    memory = "" if cost.size == now.size else f", {now.size} -> {cost.size} bytes"
    pages = "" if cost.pages == now.pages else f", {now.pages} -> {cost.pages} pages"
    return f"{100 * change(now, cost):+.1f} %{memory}{pages}"


HEAD = ("scenario", "where", "misses as it is", "the human's", "recommended", "best of the set", "runs", "verdict")


def table(trials: Iterable[Trial]) -> Iterator[str]:
    """The table in Markdown, and the sums below it."""
    groups: dict[str, list[Trial]] = {}
    for trial in trials:
        groups.setdefault(trial.scenario.name, []).append(trial)
    runs_of_each = [runs for _, runs in sorted(groups.items())]
    yield f"| {' | '.join(HEAD)} |"
    yield "|---" * len(HEAD) + "|"
    yield from map(_row, runs_of_each)
    yield ""
    yield from _sums(runs_of_each)


def outcome(runs: Sequence[Trial]) -> Verdict:
    """The verdict of the median run, from the best to the worst."""
    order = list(Verdict)
    found = sorted((verdict(run) for run in runs), key=order.index)
    return found[len(found) // 2]


def _row(runs: Sequence[Trial]) -> str:
    first = runs[0]
    chosen, lowest = first.recommended, best(first)
    found = sum(verdict(run).found for run in runs)
    cells = (
        first.scenario.name,
        f"{first.scenario.release}, {first.place}",
        f"{first.now.misses:,}",
        told(first.human, first.now),
        _told(chosen, first),
        _told(lowest, first),
        f"{found} of {len(runs)}",
        outcome(runs).value,
    )
    return f"| {' | '.join(cells)} |"


def _told(one: Tried | None, trial: Trial) -> str:
    return told(one.cost, trial.now) if one else "-"


def _sums(groups: Sequence[Sequence[Trial]]) -> Iterator[str]:
    fixes = [outcome(runs) for runs in groups if runs[0].scenario.answer is Answer.LAYOUT]
    shown = [one for one in fixes if one is not Verdict.UNSHOWN]
    in_set, first = sum(one.found for one in shown), shown.count(Verdict.RECOMMENDED)
    yield f"{len(shown)} layout fixes that their scenario shows. The human's layout, or one as good:"
    yield f"in the set of {in_set} ({_share(in_set, shown)}), the recommended one of {first} ({_share(first, shown)})."
    others = [outcome(runs) for runs in groups if runs[0].scenario.answer is not Answer.LAYOUT]
    yield f"{len(others)} records that no layout helps: {sum(one.found for one in others)} get the right answer."


def _share(part: int, whole: Sequence[object]) -> str:
    return f"{100 * part / max(len(whole), 1):.1f} %"


def details(trial: Trial) -> Iterator[str]:
    yield ""
    yield f"{trial.scenario.name}: {trial.scenario.subject} ({verdict(trial).value})"
    yield f"  as it is {trial.now.misses:,} misses, mean of {trial.now.phases} phases; {trial.now.size} bytes"
    yield f"  human    {told(trial.human, trial.now)}"
    yield from (f"  tool     {_told(one, trial)}: {one.moves}{_marks(one)}" for one in trial.tried)
    if trial.advice:
        yield f"  advice   {', '.join(trial.advice)}"
    if trial.refusal:
        yield f"  tool     {trial.refusal}"
    if trial.asked and trial.tried:
        yield "  the type had to be named"
    yield from (f"  unseen   {one}" for one in trial.unseen)


def _marks(one: Tried) -> str:
    marks = (("recommended", one.recommended), ("the human's", one.same), ("as good", one.good and not one.same))
    told_of = [mark for mark, is_so in marks if is_so]
    return f" ({', '.join(told_of)})" if told_of else ""


if __name__ == "__main__":
    main()
