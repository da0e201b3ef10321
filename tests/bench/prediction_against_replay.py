# SPDX-License-Identifier: GPL-2.0-or-later
"""What runs reconstructed from a profile say of candidates, beside the replay of the run that the profile is of.

With PROFILEs, recordings of the kernel in VMLINUX, each with its trace beside it as PROFILE.trace, which the
reconstruction does not see. Without, the scenarios of tests/fixes for the release of VMLINUX: their reports are read as
anybody's would be. Changes are shares of the misses of the record, over all phases of its objects.

    PYTHONPATH=tests python tests/bench/prediction_against_replay.py VMLINUX [PROFILE...] [--seeds N] [--case NAME ...]
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean, median, quantiles
from tempfile import TemporaryDirectory
from time import process_time
from typing import NamedTuple

from fixes.execution import report
from fixes.judgement import Judge, judges
from fixes.kernel import RealKernel, real_kernel
from fixes.scenario import Scenario, ScenarioError, cases
from fixes.trial import course

from linesmith.analyzer.base.errors import NothingToSuggest, NotSimulated
from linesmith.analyzer.cli.analysis import analyse
from linesmith.analyzer.cli.suggest import offered
from linesmith.analyzer.model import Candidate, Finding, Interval, Layout
from linesmith.analyzer.sharing.analysis import Explanation
from linesmith.analyzer.slab.allocation import Kernel
from linesmith.tuner.constraints.freedom import Premises
from linesmith.tuner.propose.candidates import Suggestion
from linesmith.tuner.reconstruction.reconstructed import reconstructed
from linesmith.tuner.replay.plan import ReplayPlan, in_all_phases, relaid, unchanged
from linesmith.tuner.replay.replayer import Replay, open_trace
from linesmith.tuner.replay.runs import widened
from linesmith.tuner.replay.scene import sampled_scene, scene

# Changes smaller than this have no sign worth asking for.
SIGN_FROM = 0.02


class Row(NamedTuple):
    """A candidate: what was predicted with the interval, and what the replay says."""

    case: str
    candidate: Candidate
    predicted: float
    interval: Interval
    replayed: float

    @property
    def holds(self) -> bool:
        return self.interval.low <= self.replayed <= self.interval.high


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vmlinux", type=Path)
    parser.add_argument("profiles", nargs="*", type=Path)
    parser.add_argument("--seeds", type=int, default=1, help="so many runs of each scenario")
    parser.add_argument("--case", action="append", help="this scenario only; may be repeated")
    given = parser.parse_args()
    kernel = real_kernel(given.vmlinux)
    rows: list[Row] = []
    for row in _rows(kernel, given):
        rows.append(row)
        print(_told(row), flush=True)
    print(_summed("all", rows))
    print(_summed("recommended", [row for row in rows if row.candidate.recommended]))


def _rows(kernel: RealKernel, given: argparse.Namespace) -> Iterator[Row]:
    for profile in given.profiles:
        yield from _recorded(kernel, profile)
    if given.profiles:
        return
    with TemporaryDirectory() as folder:
        for scenario in cases():
            if scenario.release == kernel.release and (not given.case or scenario.name in given.case):
                for seed in range(given.seeds):
                    yield from _scenario(kernel, scenario, seed, Path(folder))


def _recorded(kernel: RealKernel, profile: Path) -> Iterator[Row]:
    """The candidates of a recording; replayed is its trace."""
    found = analyse(kernel.elf, profile)
    answers = offered(found, Premises(kernel=kernel.slabs), None)
    trace = next(
        one for one in (profile.with_name(f"{profile.name}.trace"), profile.with_suffix(".trace")) if one.exists()
    )
    for finding, candidates in _by_record(answers):
        here = scene(candidates[0].before, found.profile.areas, kernel.layouts)
        replay = open_trace(trace, [here])
        if replay.accesses(0):
            judged = [(one, _change(replay, one, kernel)) for one in candidates]
            yield from _predicted(profile.name, found, finding, judged, kernel)


def _scenario(kernel: RealKernel, scenario: Scenario, seed: int, folder: Path) -> Iterator[Row]:
    """The candidates of a scenario's report; replayed is its run."""
    text = folder / "report.c2c"
    try:
        run = course(scenario, kernel, seed=seed)
        text.write_text(report(run.events, run.seen_at, run.code.code, seed))
        bench, _ = judges(folder / "trace", run.events, run.starts, run.memory, run.record, kernel)
        found, answers = _asked(kernel, text, scenario.type, bench)
    except (ScenarioError, NothingToSuggest) as error:
        print(f"{scenario.name}: {error}")
        return
    now = bench.now().misses
    for finding, candidates in _by_record(answers):
        mine = [one for one in candidates if bench.concerns(one.before.id)]
        judged = [(one, bench.cost(one.before, one.after).misses / now - 1) for one in mine]
        yield from _predicted(f"{scenario.name} {seed}", found, finding, judged, kernel)


def _asked(kernel: RealKernel, text: Path, type_: str, bench: Judge) -> tuple[Explanation, Sequence[Suggestion]]:
    """What is proposed; the type is named only where nothing is proposed for its objects without."""
    for wanted in (None, type_):
        try:
            found = analyse(kernel.elf, text, type_=wanted)
            answers = offered(found, Premises(kernel=kernel.slabs), None)
        except NothingToSuggest:
            if wanted:
                raise
            continue
        if wanted or any(bench.concerns(one.before.id) for answer in answers for one in answer.candidates):
            break
    return found, answers


def _by_record(answers: Sequence[Suggestion]) -> Iterator[tuple[Finding, list[Candidate]]]:
    """Candidates by the record that they change and the object it is in, each once."""
    groups: dict[tuple[int | None, int], tuple[Finding, dict[Layout, Candidate]]] = {}
    for answer in answers:
        for one in answer.candidates:
            key = answer.finding.objects[0].layout, one.before.id
            groups.setdefault(key, (answer.finding, {}))[1].setdefault(one.after, one)
    for finding, different in groups.values():
        yield finding, list(different.values())


def _predicted(
    case: str, found: Explanation, finding: Finding, judged: Sequence[tuple[Candidate, float]], kernel: RealKernel
) -> Iterator[Row]:
    if not judged:
        return
    began = process_time()
    layout = finding.objects[0].layout
    lines = [one for one in found.findings if one.objects and one.objects[0].layout == layout and not one.apart]
    slabs: Kernel = kernel.slabs
    here = sampled_scene(lines, judged[0][0].before, kernel.layouts, slabs, found.profile.areas)
    draws = reconstructed(lines, found.profile, kernel.layouts, kernel.accesses, here)
    for candidate, replayed in judged:
        changes = [_change(one, candidate, kernel) for one in draws]
        cuts = quantiles(changes, n=10, method="inclusive")
        predicted = mean(changes)
        yield Row(case, candidate, predicted, widened(Interval(cuts[0], cuts[-1]), predicted), replayed)
    print(f"{case}: {len(draws)} draws, {len(judged)} candidates, {process_time() - began:.1f} s of CPU")


def _change(replay: Replay, candidate: Candidate, kernel: RealKernel) -> float:
    """The change of misses over all phases, 0 where there are none or the objects cannot have the layout."""
    here = replay.scenes[0]

    def misses(plan: ReplayPlan) -> float:
        return mean(replay.run(0, one).misses.total for one in in_all_phases(plan, here))

    before = misses(unchanged(here))
    try:
        after = misses(relaid(here, {candidate.before.id: candidate.after}, kernel.layouts))
    except NotSimulated:
        return 0.0
    return after / before - 1 if before else 0.0


def _told(row: Row) -> str:
    moves = "; ".join(f"{one.kind.value} {one.member}" for one in row.candidate.moves)
    return (
        f"{row.case} {row.candidate.before.title:22.22} {row.predicted:+7.1%} ({row.interval.low:+7.1%} to "
        f"{row.interval.high:+7.1%}), replayed {row.replayed:+7.1%} {'' if row.holds else 'not held '}{moves:.60}"
    )


def _summed(name: str, rows: Sequence[Row]) -> str:
    if not rows:
        return f"{name}: none"
    apart = [row.predicted - row.replayed for row in rows]
    by_case = defaultdict(list)
    for row, one in zip(rows, apart, strict=True):
        by_case[row.case].append(abs(one))
    signs = [(row.predicted < 0) == (row.replayed < 0) for row in rows if abs(row.replayed) >= SIGN_FROM]
    return (
        f"{name}: {len(rows)} candidates, intervals hold {mean(row.holds for row in rows):.0%}, median width "
        f"{median(row.interval.high - row.interval.low for row in rows):.1%}, sign right {mean(signs or [True]):.0%}, "
        f"apart {mean(map(abs, apart)):.1%} on average (mean of cases {mean(map(mean, by_case.values())):.1%}), "
        f"bias {mean(apart):+.1%}"
    )


if __name__ == "__main__":
    main()
