# SPDX-License-Identifier: GPL-2.0-or-later
"""The report of a whole run: verdict first, then what it rests on, and what was not checked."""

from __future__ import annotations

import json
from dataclasses import replace
from textwrap import dedent

from finished_run import CONFIRMED, RUN
from measured import samples

from linesmith.analyzer.model import Build, Result, VerdictKind
from linesmith.analyzer.report import bench, bench_markdown, matrix
from linesmith.analyzer.report.facts import merged
from linesmith.analyzer.report.two_runs import render_two_runs


def sections(result: Result) -> dict[str, str]:
    """The sections of the text by their titles."""
    text = bench.render_text(result)
    found = [block.partition(":\n") for block in text.split("\n\n") if ":\n" in block]
    return {title: body.rstrip("\n") for title, _, body in found}


def test_the_verdict_comes_first() -> None:
    assert bench.render_text(RUN).splitlines()[:8] == [
        "exec storm",
        "2 trials (1 failed), 67 min, finished",
        "",
        "verdict:",
        "  moved is better than baseline, confirmed on fresh runs",
        (
            "  moved: no difference seen, 0.00% (-0.40% to +0.40%), exec-storm.ops_per_second (1 thread, ops/s, higher "
            "is better)"
        ),
        "  moved: better, +5.00% (+4.00% to +6.00%), exec-storm.ops_per_second (8 threads, ops/s, higher is better)",
        (
            "  moved: no difference seen, 0.00% (-3.00% to +3.00%), page-faults.faults_per_second (8 threads, "
            "faults/s, higher is better, guard 2.0%)"
        ),
    ]


def test_trials_are_listed_with_their_failures() -> None:
    assert sections(RUN)["trials"] == (
        "     1  v1  simulate   0.412 ± 0.050 of the baseline, 41 s; move `i_mmap_rwsem` behind `flags`\n"
        "     2  v2  benchmark  failed, build failed: fs/inode.c:12:1: error: expected ';' (see\n"
        "                       logs/2/build.log); swap `flags` and `i_mmap`; align `i_mmap` to 64 bytes"
    )


def test_the_rest_says_on_what_it_was_found() -> None:
    found = sections(RUN)
    assert found["builds"] == "  moved: 0123456789ab, 5 min, gcc 12.2.0, configuration fedcba987654"
    assert found["patches"] == "  moved: patches/moved.patch"
    assert found["machines"] == "  cpus: 8\n  load before: 0.1 to 1.25"
    assert found["remarks"] == "  placebo-2 did not boot"
    assert list(found) == [
        *("verdict", "confirmed, on runs made after the choice", "explored, on the runs by which it was chosen"),
        *("equal layouts compared", "trials", "builds", "patches", "machines", "not checked", "remarks"),
    ]


def test_a_program_has_no_configuration_and_a_build_may_be_reused() -> None:
    run = replace(RUN, builds=(Build("moved", "0123456789abcdef", 0.0, "gcc 12.2.0", ""),))
    assert sections(run)["builds"] == "  moved: 0123456789ab, reused, gcc 12.2.0"


def test_a_run_that_is_cut_off_claims_nothing() -> None:
    run = Result("exec storm", "baseline", (), seconds=12.0)
    assert bench.render_text(run) == dedent("""\
        exec storm
        no trials, 12 s, not finished

        verdict:
          no variant is confirmed to be better than baseline

        not checked:
          time on real hardware: nothing was timed there
          the rest of the plan: the run has not come to its end
        """)


def test_what_was_explored_only_leaves_much_unchecked() -> None:
    run = replace(RUN, best=None, confirmed=(), noise=(), finished=False)
    assert sections(run)["not checked"].splitlines() == [
        "  a single thread: the fewest were 8 threads",
        "  what another build of the same layout changes: there was no placebo",
        "  other workloads: there was no guard benchmark",
        "  the rest of the plan: the run has not come to its end",
    ]


def test_simulated_counts_are_no_time() -> None:
    run = replace(RUN, confirmed=CONFIRMED[3:])
    assert sections(run)["not checked"].splitlines()[0] == "  time on real hardware: nothing was timed there"


def test_a_guard_that_may_lose_is_told() -> None:
    assert sections(RUN)["not checked"] == (
        "  whether page-faults.faults_per_second with 8 threads loses more than 2.0%: up to 3.0% is possible"
    )


def test_markdown_has_the_same_sections() -> None:
    lines = bench_markdown.render_markdown(RUN).splitlines()
    assert [line for line in lines if line.startswith("#")] == [
        "# exec storm",
        "## Confirmed, on runs made after the choice",
        "## Explored, on the runs by which it was chosen",
        "## Equal layouts compared",
        "## Machines",
        "## Not checked",
    ]
    assert lines[2] == "- moved is better than baseline, confirmed on fresh runs"
    assert lines[-1] == "2 trials (1 failed), 67 min."


def test_the_matrix_has_the_samples_of_each_variant_by_metric() -> None:
    assert json.loads(matrix.render_json(RUN)) == {
        "baseline": {"exec-storm.seconds": [1.0, 1.5]},
        "moved": {"exec-storm.seconds": [0.9, 0.8]},
    }


def test_several_numbers_of_threads_are_told_apart_in_the_matrix() -> None:
    eight = samples([((5.0,), (4.0,))], threads=8)
    found = matrix.matrix(replace(RUN, samples=(*RUN.samples, *eight)))
    assert found["moved"] == {"exec-storm.1_threads.seconds": [0.9, 0.8], "exec-storm.8_threads.seconds": [4.0]}


def test_samples_are_in_the_order_in_which_they_were_taken() -> None:
    later = samples([((1.0,), (2.0,)), ((3.0,), (4.0,))])
    assert matrix.matrix(replace(RUN, samples=later[::-1]))["baseline"]["exec-storm.seconds"] == [1.0, 3.0]


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
        only in the first: moved simulated.pair (8 threads)
        """)


def test_runs_of_different_things_have_nothing_in_common() -> None:
    assert "the runs have no comparison in common\n" in render_two_runs(RUN, Result("other", "baseline", ()))


def test_what_machines_say_again_and_again_is_said_once() -> None:
    facts = [
        ("cpus", "8"),
        ("cpus", "8"),
        ("seconds", "10.4"),
        ("seconds", "14"),
        *(("host", name) for name in "abcdef"),
    ]
    assert merged(facts) == (("cpus", "8"), ("seconds", "10.4 to 14"), ("host", "a, b, c, d and 2 more"))


def test_loads_are_merged_column_by_column() -> None:
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
