# SPDX-License-Identifier: GPL-2.0-or-later
"""What runs reconstructed from a profile say of changes, beside the replay of the run that the profile is of.

With PROFILEs, recordings of what ran from ELF, each with its trace beside it as PROFILE.trace, which the reconstruction
does not see. The candidates are those of the search, which has not seen a run either: the same for every version of the
reconstruction, at most ``--candidates`` of each recording, drawn by ``--seed``. For each of their records the judge is
also asked which change it recommends. Without a PROFILE, the scenarios of tests/fixes for the release of ELF: their
reports are read as anybody's would be. Changes are shares of the misses of the record, over all phases of its objects.

    PYTHONPATH=tests python tests/bench/prediction_against_replay.py ELF [PROFILE...] [--candidates N] [--draws N]
        [--seed N] [--details] [--seeds N] [--case NAME ...]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from statistics import mean, median
from tempfile import TemporaryDirectory
from time import process_time
from typing import NamedTuple

from fixes.execution import report
from fixes.judgement import judges
from fixes.kernel import RealKernel, real_kernel
from fixes.scenario import Scenario, ScenarioError, cases
from fixes.trial import course

from linesmith.analyzer.base.errors import NothingToSuggest, NotSimulated
from linesmith.analyzer.cli.analysis import analyse
from linesmith.analyzer.cli.premises import in_found_caches
from linesmith.analyzer.cli.suggest import worthwhile
from linesmith.analyzer.model import CACHE_LINE_BYTES, Candidate, Interval
from linesmith.analyzer.sharing.analysis import Explanation, quiet_lines
from linesmith.analyzer.sharing.records import shares_by_line
from linesmith.analyzer.slab.allocation import Kernel
from linesmith.analyzer.slab.caches import machine_of, release_of
from linesmith.tuner.constraints.freedom import Premises
from linesmith.tuner.propose.candidates import MOST_JUDGED, Suggestion, answers
from linesmith.tuner.replay.recommend import judged
from linesmith.tuner.replay.reconstructed import DRAWS, reconstructed
from linesmith.tuner.replay.replayer import open_trace
from linesmith.tuner.replay.runs import RecordRuns
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

    @property
    def has_sign(self) -> bool:
        return abs(self.replayed) >= SIGN_FROM

    @property
    def sign_right(self) -> bool:
        return (self.predicted < 0) == (self.replayed < 0)


class Asked(NamedTuple):
    """A record: what is proposed for it, all its lines are in ``found``, and its run as it was recorded."""

    found: Explanation
    kernel: Kernel | None
    answer: Suggestion
    truth: RecordRuns


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("elf", type=Path)
    parser.add_argument("profiles", nargs="*", type=Path)
    parser.add_argument("--candidates", type=int, default=60, help="at most so many of each recording")
    parser.add_argument("--draws", type=int, default=DRAWS, help="so many runs are reconstructed of a record")
    parser.add_argument("--seed", type=int, default=0, help="which candidates")
    parser.add_argument("--details", action="store_true", help="every candidate")
    parser.add_argument("--seeds", type=int, default=1, help="so many runs of each scenario")
    parser.add_argument("--case", action="append", help="this scenario only; may be repeated")
    given = parser.parse_args()
    rows, chosen = list[Row](), list[Row]()
    for name, asked in _cases(given):
        began = process_time()
        here, best = _predicted(name, asked, given)
        rows += here
        chosen += best
        for one in (*here, *best) if given.details else ():
            print(_told(one))
        if given.profiles:
            print(f"{_summed(name, here, best)}, {process_time() - began:.0f} s of CPU", flush=True)
    print(_summed("all", rows, chosen))


def _cases(given: argparse.Namespace) -> Iterator[tuple[str, Sequence[Asked]]]:
    version = release_of(given.elf)
    for profile in given.profiles:
        kernel = Kernel(machine_of("x86_64", version)) if version else None
        yield profile.name, [*_recorded(given.elf, profile, Premises(kernel=kernel))]
    if given.profiles:
        return
    real = real_kernel(given.elf)
    with TemporaryDirectory() as folder:
        for scenario in cases():
            if scenario.release == real.release and (not given.case or scenario.name in given.case):
                for seed in range(given.seeds):
                    yield scenario.name, [*_scenario(real, scenario, seed, Path(folder))]


def _recorded(elf: Path, profile: Path, premises: Premises) -> Iterator[Asked]:
    """What is proposed for the records of a recording; the truth is its trace."""
    found = worthwhile(analyse(elf, profile))
    layouts = found.reading.layouts
    given = [one for one in _proposed(found, premises) if one.candidates and not one.withheld]
    scenes = [scene(layouts.by_id(_outer(one)), found.profile.areas, layouts) for one in given]
    replay = open_trace(profile.with_name(f"{profile.name}.trace"), scenes, (CACHE_LINE_BYTES,))
    for number, answer in enumerate(given):
        if replay.accesses(number):
            yield Asked(found, premises.kernel, answer, RecordRuns([(replay, number)], layouts, None, 0.0))


def _scenario(kernel: RealKernel, scenario: Scenario, seed: int, folder: Path) -> Iterator[Asked]:
    """What is proposed for a scenario's report; the truth is its run.

    The type is named only where nothing is proposed for its objects without.
    """
    text = folder / "report.c2c"
    try:
        run = course(scenario, kernel, seed=seed)
        text.write_text(report(run.events, run.seen_at, run.code.code, seed))
        bench, _ = judges(folder / "trace", run.events, run.starts, run.memory, run.record, kernel)
    except ScenarioError as error:
        print(f"{scenario.name}: {error}")
        return
    for wanted in (None, scenario.type):
        try:
            found = worthwhile(analyse(kernel.elf, text, type_=wanted))
        except NothingToSuggest:
            continue
        given = _proposed(found, Premises(kernel=kernel.slabs))
        mine = [one for one in given if one.candidates and bench.concerns(one.candidates[0].before.id)]
        yield from (Asked(found, kernel.slabs, one, bench.runs()) for one in mine)
        if mine:
            return


def _proposed(found: Explanation, premises: Premises) -> tuple[Suggestion, ...]:
    shares = shares_by_line(found.records, found.findings)
    known = replace(in_found_caches(premises, found), beside=quiet_lines(found), accesses=found.accesses, shares=shares)
    return answers(found.findings, found.reading.layouts, known, found.others, MOST_JUDGED)


def _outer(answer: Suggestion) -> int:
    return answer.finding.objects[0].layout or 0


def _predicted(name: str, asked: Sequence[Asked], given: argparse.Namespace) -> tuple[list[Row], list[Row]]:
    """Some candidates of all records, and what is recommended for those that they are of."""
    every = [(number, one) for number, each in enumerate(asked) for one in each.answer.candidates]
    taken = Random(given.seed).sample(every, min(given.candidates, len(every)))  # noqa: S311 - repeatable, no secret
    rows, best = list[Row](), list[Row]()
    for number, each in enumerate(asked):
        mine = [one for at, one in taken if at == number]
        runs = _reconstructed(each, given.draws) if mine else None
        if runs is None:
            continue
        rows += (_row(name, one, runs, each.truth) for one in mine)
        first = judged((each.answer,), dict.fromkeys((one.before.id for one in each.answer.candidates), runs))[0]
        best += (_row(name, one, runs, each.truth) for one in first.candidates[:1] if one.recommended)
    return rows, best


def _reconstructed(asked: Asked, draws: int) -> RecordRuns | None:
    found, layout = asked.found, asked.answer.finding.objects[0].layout
    layouts = found.reading.layouts
    lines = [one for one in found.findings if one.objects and one.objects[0].layout == layout and not one.apart]
    here = sampled_scene(lines, layouts.by_id(layout or 0), layouts, asked.kernel, found.profile.areas)
    runs = reconstructed(lines, found.profile, layouts, found.accesses, here, draws)
    return RecordRuns([(one, 0) for one in runs], layouts, None, 0.0) if runs else None


def _row(case: str, one: Candidate, runs: RecordRuns, truth: RecordRuns) -> Row:
    """A change is 0 where the objects cannot have the layout."""
    predicted, replayed = Interval(0.0, 0.0), 0.0
    change = 0.0
    try:
        told = runs.judgement(runs.under_candidate(one))
        change, predicted = told.change, told.interval
        replayed = truth.judgement(truth.under_candidate(one)).change
    except NotSimulated:
        pass
    return Row(case, one, change, predicted, replayed)


def _told(row: Row) -> str:
    moves = "; ".join(f"{one.kind.value} {one.member}" for one in row.candidate.moves)
    wrong = "wrong sign " if row.has_sign and not row.sign_right else ""
    return (
        f"{row.case} {row.candidate.before.title:22.22} {row.predicted:+7.1%} ({row.interval.low:+7.1%} to "
        f"{row.interval.high:+7.1%}), replayed {row.replayed:+7.1%} {'' if row.holds else 'not held '}{wrong}"
        f"{'recommended ' if row.candidate.recommended else ''}{moves:.60}"
    )


def _summed(name: str, rows: Sequence[Row], best: Sequence[Row]) -> str:
    if not rows:
        return f"{name}: no candidates"
    apart = [row.predicted - row.replayed for row in rows]
    signs = [row.sign_right for row in rows if row.has_sign]
    clear = [row.sign_right for row in rows if row.has_sign and not row.interval.low <= 0 <= row.interval.high]
    fewer = sum(row.replayed < 0 for row in best)
    return (
        f"{name}: {len(rows)} candidates of {len({row.candidate.before.title for row in rows})} records, sign right "
        f"{mean(signs or [True]):.0%} of {len(signs)} (where the interval excludes zero {mean(clear or [True]):.0%} of "
        f"{len(clear)}), mean error {mean(map(abs, apart)):.1%} (bias {mean(apart):+.1%}), intervals hold "
        f"{mean(row.holds for row in rows):.0%}, median width "
        f"{median(row.interval.high - row.interval.low for row in rows):.1%}; recommended {len(best)}, with fewer "
        f"misses {fewer}"
    )


if __name__ == "__main__":
    main()
