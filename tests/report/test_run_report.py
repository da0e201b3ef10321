# SPDX-License-Identifier: GPL-2.0-or-later
"""The report of a whole run: verdict first, then what it rests on, and what was not checked."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import pytest
from finished_run import CONFIRMED, RUN
from measured import samples

from linesmith.analyzer.model import (
    SIMULATED,
    Build,
    Failure,
    FailureKind,
    Fidelity,
    Result,
    Sample,
    Trial,
    VerdictKind,
)
from linesmith.analyzer.report import bench, bench_markdown, matrix
from linesmith.analyzer.report.facts import merged
from linesmith.analyzer.report.two_runs import render_two_runs

EXPECTED = Path(__file__).with_name("expected")


def sections(result: Result) -> dict[str, str]:
    """The sections of the text by their titles."""
    text = bench.render_text(result)
    found = [block.partition(":\n") for block in text.split("\n\n") if ":\n" in block]
    return {title: body.rstrip("\n") for title, _, body in found}


def test_a_whole_run_as_text_and_as_markdown() -> None:
    """The verdict comes first, then what it rests on, and last what was not checked."""
    assert bench.render_text(RUN) == (EXPECTED / "run.txt").read_text()
    assert bench_markdown.render_markdown(RUN) == (EXPECTED / "run.md").read_text()


GIVEN = (Trial(1, "moved", (), Fidelity.BENCHMARK, (), 0.95, 0.01),)
BUILDS = tuple(Build(f"v{n}", f"{n:064}", 1.0, "gcc 12.2.0", "") for n in range(1, 4))
REUSED = (Build("moved", "0123456789abcdef", 0.0, "gcc 12.2.0", ""),)
LATER_LOG = Failure(FailureKind.BUILD, "no such file; see run/logs/7/make.log", "logs/7/build.log")
OF_TWO_LOGS = replace(RUN.trials[1], failure=LATER_LOG, moves=())
ESTIMATED = Trial(1, "", (), Fidelity.ESTIMATE, (1,), 0.9)
CLIMBED = (replace(RUN.trials[0], number=190), replace(RUN.trials[0], number=191, fidelity=Fidelity.BENCHMARK))
SIMULATION = CONFIRMED[3:]
UNDECIDED = replace(
    CONFIRMED[1], verdict=VerdictKind.UNDECIDED, reason="3 blocks with numbers of both, and 4 are needed"
)

# Name of the case: what is other than in RUN, the section to look at, a line that it must have.
CASES: dict[str, tuple[dict[str, object], str, str]] = {
    "a search that found nothing": ({"best": None}, "verdict", "  no variant is confirmed to be better than baseline"),
    "one of a simulation": (
        {"confirmed": SIMULATION},
        "verdict",
        "  moved is better than baseline in simulation, confirmed on fresh runs",
    ),
    "nothing found in a simulation": (
        {"confirmed": SIMULATION, "best": None},
        "verdict",
        "  no variant is confirmed to be better than baseline in simulation",
    ),
    "an emulated machine": (
        {"facts": (("machine", "QEMU, tcg"),)},
        "verdict",
        "  moved is better than baseline in an emulated machine, confirmed on fresh runs",
    ),
    "what the winner does": ({"best": "v1"}, "verdict", "  what v1 does: move `i_mmap_rwsem` behind `flags`"),
    "why there is no verdict": (
        {"best": None, "confirmed": (UNDECIDED,)},
        "verdict",
        (
            "  moved: not decided, +5.00% (+4.00% to +6.00%), exec-storm.ops_per_second (8 threads, ops/s, higher is "
            "better); 3 blocks with numbers of both, and 4 are needed"
        ),
    ),
    "what would decide": ({"advice": ("about 2 more blocks",)}, "verdict", "  next: about 2 more blocks"),
    "of two logs the one that the reason names": (
        {"trials": (OF_TWO_LOGS,)},
        "trials",
        "     1  v2  benchmark  failed, build failed: no such file; see run/logs/7/make.log",
    ),
    "trials are counted anew and say once what they do": (
        {"trials": (ESTIMATED, *CLIMBED)},
        "trials",
        "     2  v1  benchmark  cost 0.412 ± 0.050 of the baseline's, 41 s",
    ),
    "builds of many variants take few lines": (
        {"builds": BUILDS},
        "builds",
        "  gcc 12.2.0: v1 000000000000 (1 s), v2 000000000000 (1 s), v3 000000000000 (1 s)",
    ),
    "a program has no configuration and a build may be reused": (
        {"builds": REUSED},
        "builds",
        "  gcc 12.2.0: moved 0123456789ab (reused)",
    ),
    "patches of many variants": (
        {"patches": tuple((one.variant, f"patches/{one.variant}.patch") for one in BUILDS)},
        "patches",
        "  in patches: v1.patch, v2.patch, v3.patch",
    ),
    "simulated counts are no time": (
        {"confirmed": SIMULATION, "samples": ()},
        "not checked",
        "  time on real hardware: nothing was timed there",
    ),
    # As when every patch failed and only the placebos ran, or before the first variant has climbed to a machine.
    "time of other builds is none of the variant": (
        {"confirmed": SIMULATION, "best": None},
        "not checked",
        "  time on real hardware: only other builds were timed there",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_section_says(case: str) -> None:
    changed, section, line = CASES[case]
    assert line in sections(replace(RUN, **changed))[section].splitlines()  # type: ignore[arg-type]


def test_patches_of_the_user_are_compared_and_not_chosen() -> None:
    given = replace(RUN, trials=GIVEN)
    assert list(sections(given))[2] == "compared"
    assert bench.render_text(given).splitlines()[1] == "1 trial, 67 min, finished"
    assert "- next: more blocks\n" in bench_markdown.render_markdown(replace(RUN, advice=("more blocks",)))


def test_layouts_that_were_only_estimated_are_counted_and_a_point_on_two_rungs_once() -> None:
    wrong = Failure(FailureKind.ILLEGAL, "`a` cannot move")
    cheap = [Trial(n, "", (), Fidelity.ESTIMATE, (n,), 0.9) for n in range(3, 1203)]
    cheap += [replace(one, fidelity=Fidelity.REPLAY) for one in cheap[:5]]
    cheap += [Trial(2000, "", (), Fidelity.ESTIMATE, (2000,), failure=wrong)]
    run = replace(RUN, trials=(*RUN.trials, *cheap))
    assert bench.counted(run) == "2 trials (1 failed), 1,201 layouts estimated (1 ruled out)"
    assert sections(run)["trials"] == sections(RUN)["trials"]
    again = replace(RUN.trials[0], number=3, fidelity=Fidelity.BENCHMARK)
    assert bench.counted(replace(RUN, trials=(*RUN.trials, again))) == "2 trials (1 failed)"


def test_a_run_that_is_cut_off_claims_nothing() -> None:
    run = Result("exec storm", "baseline", (), seconds=12.0)
    assert bench.render_text(run) == dedent("""\
        exec storm
        no trials, 12 s, not finished

        verdict:
          not yet: no variant has been confirmed to be better than baseline

        not checked:
          time on real hardware: nothing was timed there
          the rest of the plan: the run has not come to its end
        """)


def test_what_was_explored_only_leaves_much_unchecked() -> None:
    run = replace(RUN, best=None, confirmed=(), noise=(), finished=False)
    assert sections(run)["not checked"].splitlines() == [
        "  a single thread: the fewest were 8 threads",
        "  what other builds of the same layout differ by (placebos measured: 0)",
        "  other workloads: there was no guard benchmark",
        "  the rest of the plan: the run has not come to its end",
    ]


def test_the_matrix_has_the_samples_of_each_variant_by_metric_threads_and_order() -> None:
    assert json.loads(matrix.render_json(RUN)) == {
        "baseline": {"exec-storm.seconds": [1.0, 1.5]},
        "moved": {"exec-storm.seconds": [0.9, 0.8]},
    }
    eight = samples([((5.0,), (4.0,))], threads=8)
    found = matrix.matrix(replace(RUN, samples=(*RUN.samples, *eight), confirming=(0,)))
    assert found["moved"] == {"exec-storm.1_threads.seconds": [0.9, 0.8], "exec-storm.8_threads.seconds": [4.0]}
    later = samples([((1.0,), (2.0,)), ((3.0,), (4.0,))])
    run = replace(RUN, samples=later[::-1], confirming=(0, 1))
    assert matrix.matrix(run)["baseline"]["exec-storm.seconds"] == [1.0, 3.0]
    # Samples of the search are not in it.
    assert matrix.matrix(replace(RUN, samples=later, confirming=(1,)))["moved"] == {"exec-storm.seconds": [4.0]}
    assert matrix.matrix(replace(RUN, samples=later, confirming=())) == {}


def test_a_recording_that_serves_two_variants_is_one_sample() -> None:
    seeds = [("v1", 0, 7.0), ("v1", 1, 8.0), ("v2", 2, 7.0)]
    both = [
        Sample(variant, SIMULATED, "pair", 8, value, block, boot)
        for head, block, base in seeds
        for boot, (variant, value) in enumerate((("baseline", base), (head, 0.0)))
    ]
    assert matrix.matrix(replace(RUN, samples=tuple(both), confirming=(0, 1, 2))) == {
        "baseline": {"simulated.pair": [7.0, 8.0]},
        "v1": {"simulated.pair": [0.0, 0.0]},
        "v2": {"simulated.pair": [0.0]},
    }


def test_two_runs_agree_or_contradict_each_other() -> None:
    slower = replace(CONFIRMED[0], ratio=0.9, low=0.89, high=0.91, verdict=VerdictKind.WORSE)
    unsure = replace(CONFIRMED[1], low=0.99, verdict=VerdictKind.NO_DIFFERENCE)
    other = replace(RUN, title="another day", confirmed=(slower, unsure, CONFIRMED[2]))
    assert render_two_runs(RUN, other) == dedent("""\
        first:  exec storm
        second: another day

        moved, exec-storm.ops_per_second, 1 thread: the runs contradict each other
          first      0.00% (-0.40% to +0.40%), no difference seen; base 1,010 ±  0.8%
          second    -10.0% (-11.0% to -9.00%), worse; base 1,010 ±  0.8%
        moved, exec-storm.ops_per_second, 8 threads: the intervals agree, the verdicts are not the same
          first     +5.00% (+4.00% to +6.00%), better; base 1,010 ±  0.8%
          second    +5.00% (-1.00% to +6.00%), no difference seen; base 1,010 ±  0.8%
        moved, page-faults.faults_per_second, 8 threads: both say no difference seen
          first      0.00% (-3.00% to +3.00%), no difference seen; base 1,010 ±  0.8%
          second     0.00% (-3.00% to +3.00%), no difference seen; base 1,010 ±  0.8%
        only in the first: moved simulated.pair (8 CPUs)
        """)


def test_runs_of_different_things_have_nothing_in_common() -> None:
    assert "the runs have no comparison in common\n" in render_two_runs(RUN, Result("other", "baseline", ()))


def test_what_machines_say_again_and_again_is_said_once_and_loads_column_by_column() -> None:
    facts = [("cpus", "8"), ("cpus", "8"), ("seconds", "10.4"), ("seconds", "14"), *(("host", one) for one in "abcdef")]
    assert merged(facts) == (("cpus", "8"), ("seconds", "10.4 to 14"), ("host", "a, b, c, d and 2 more"))
    assert merged([("load", "1 2 3"), ("load", "4 2 1")]) == (("load", "1 to 4, 2, 1 to 3"),)
    assert merged([("load", "1 2 3"), ("load", "4 2")]) == (("load", "1 2 3, 4 2"),)


def test_every_variant_has_its_verdict_the_best_one_first() -> None:
    other = replace(CONFIRMED[1], variant="turned", verdict=VerdictKind.NO_DIFFERENCE)
    shown = replace(CONFIRMED[3], only_shown=True)
    rows = sections(replace(RUN, confirmed=(other, shown, CONFIRMED[1])))["verdict"].splitlines()
    assert [row.split(",")[0] for row in rows] == [
        "  moved is better than baseline",
        "  moved: better",
        "  turned: no difference seen",
    ]
