# SPDX-License-Identifier: GPL-2.0-or-later
"""The report of a whole run: verdict first, then what it rests on, and what was not checked."""

from __future__ import annotations

import json
from dataclasses import replace
from textwrap import dedent

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
            "faults/s, higher is better, guard 2.0%); a loss of up to 3.0% is not excluded"
        ),
    ]


def test_a_search_that_found_nothing_says_so() -> None:
    assert sections(replace(RUN, best=None))["verdict"].startswith("  no variant is confirmed to be better than base")


def test_patches_that_were_given_are_compared_and_not_chosen() -> None:
    given = replace(RUN, trials=(Trial(1, "moved", (), Fidelity.BENCHMARK, (), 0.95, 0.01),))
    assert list(sections(given))[2] == "compared"
    assert bench.render_text(given).splitlines()[1] == "1 trial, 67 min, finished"


def test_layouts_that_were_only_estimated_are_counted() -> None:
    wrong = Failure(FailureKind.ILLEGAL, "`a` cannot move")
    cheap = [Trial(n, "", (), Fidelity.ESTIMATE, (n,), 0.9) for n in range(3, 1203)]
    cheap += [replace(one, fidelity=Fidelity.REPLAY) for one in cheap[:5]]
    cheap += [Trial(2000, "", (), Fidelity.ESTIMATE, (2000,), failure=wrong)]
    run = replace(RUN, trials=(*RUN.trials, *cheap))
    assert bench.counted(run) == "2 trials (1 failed), 1,201 layouts estimated (1 ruled out)"
    assert sections(run)["trials"] == sections(RUN)["trials"]


def test_a_point_on_two_rungs_is_one_trial() -> None:
    again = replace(RUN.trials[0], number=3, fidelity=Fidelity.BENCHMARK)
    assert bench.counted(replace(RUN, trials=(*RUN.trials, again))) == "2 trials (1 failed)"


def test_trials_are_listed_with_their_failures() -> None:
    assert sections(RUN)["trials"] == (
        "     1  v1  simulate   cost 0.412 ± 0.050 of the baseline's, 41 s; move `i_mmap_rwsem` behind\n"
        "                       `flags`\n"
        "     2  v2  benchmark  failed, build failed: fs/inode.c:12:1: error: expected ';' (see\n"
        "                       logs/2/build.log); swap `flags` and `i_mmap`; align `i_mmap` to 64 bytes"
    )


def test_of_two_logs_the_one_that_the_reason_names_is_told() -> None:
    failure = Failure(FailureKind.BUILD, "no such file; see run/logs/7/make.log", "logs/7/build.log")
    text = sections(replace(RUN, trials=(replace(RUN.trials[1], failure=failure, moves=()),)))["trials"]
    assert text.endswith("failed, build failed: no such file; see run/logs/7/make.log")


def test_trials_are_counted_anew_and_say_once_what_they_do() -> None:
    climbed = replace(RUN.trials[0], number=191, fidelity=Fidelity.BENCHMARK)
    estimated = Trial(1, "", (), Fidelity.ESTIMATE, (1,), 0.9)
    run = replace(RUN, trials=(estimated, replace(RUN.trials[0], number=190), climbed))
    assert sections(run)["trials"].splitlines()[1:] == [
        "                       `flags`",
        "     2  v1  benchmark  cost 0.412 ± 0.050 of the baseline's, 41 s",
    ]


def test_builds_and_patches_of_many_variants_take_few_lines() -> None:
    made = [Build(f"v{n}", f"{n:064}", 1.0, "gcc 12.2.0", "") for n in range(1, 4)]
    run = replace(RUN, builds=tuple(made), patches=tuple((one.variant, f"patches/{one.variant}.patch") for one in made))
    assert sections(run)["builds"] == (
        "  gcc 12.2.0: v1 000000000000 (1 s), v2 000000000000 (1 s), v3 000000000000 (1 s)"
    )
    assert sections(run)["patches"] == "  in patches: v1.patch, v2.patch, v3.patch"


def test_the_rest_says_on_what_it_was_found() -> None:
    found = sections(RUN)
    assert found["builds"] == "  gcc 12.2.0, configuration fedcba987654: moved 0123456789ab (5 min)"
    assert found["patches"] == "  in patches: moved.patch"
    assert found["machines"] == "  cpus: 8\n  load before: 0.1 to 1.25"
    assert found["remarks"] == "  placebo-2 did not boot"
    assert list(found) == [
        *("verdict", "remarks", "confirmed, on runs made after the choice", "explored, on the runs of the search"),
        *("equal layouts compared", "trials", "builds", "patches", "machines", "not checked"),
    ]


def test_a_program_has_no_configuration_and_a_build_may_be_reused() -> None:
    run = replace(RUN, builds=(Build("moved", "0123456789abcdef", 0.0, "gcc 12.2.0", ""),))
    assert sections(run)["builds"] == "  gcc 12.2.0: moved 0123456789ab (reused)"


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


def test_simulated_counts_are_no_time() -> None:
    run = replace(RUN, confirmed=CONFIRMED[3:], samples=())
    assert sections(run)["not checked"].splitlines()[0] == "  time on real hardware: nothing was timed there"


def test_time_of_other_builds_is_none_of_the_variant() -> None:
    """As when every patch failed and only the placebos ran, or before the first variant has climbed to a machine."""
    run = replace(RUN, best=None, confirmed=CONFIRMED[3:])
    assert sections(run)["not checked"].splitlines()[0] == (
        "  time on real hardware: only other builds were timed there"
    )


def test_the_headline_says_that_a_verdict_is_one_of_a_simulation() -> None:
    run = replace(RUN, confirmed=CONFIRMED[3:])
    assert next(bench.verdict_rows(run)) == "moved is better than baseline in simulation, confirmed on fresh runs"
    none = next(bench.verdict_rows(replace(run, best=None)))
    assert none == "no variant is confirmed to be better than baseline in simulation"


def test_what_the_winner_does_stands_below_the_headline() -> None:
    run = replace(RUN, best="v1")
    assert list(bench.verdict_rows(run))[1] == "what v1 does: move `i_mmap_rwsem` behind `flags`"


def test_the_headline_says_that_a_machine_was_emulated() -> None:
    run = replace(RUN, facts=(("machine", "QEMU, tcg"),))
    assert next(bench.verdict_rows(run)).startswith("moved is better than baseline in an emulated machine, confirmed")


def test_a_verdict_that_was_not_come_to_says_why() -> None:
    cut = replace(CONFIRMED[1], verdict=VerdictKind.UNDECIDED, reason="3 blocks with numbers of both, and 4 are needed")
    rows = list(bench.verdict_rows(replace(RUN, best=None, confirmed=(cut,))))
    assert rows[1].endswith("higher is better); 3 blocks with numbers of both, and 4 are needed")


def test_what_would_decide_stands_below_the_verdict() -> None:
    advised = replace(RUN, advice=("moved: about 2 more blocks",))
    assert sections(advised)["verdict"].splitlines()[-1] == "  next: moved: about 2 more blocks"
    assert "- next: moved: about 2 more blocks\n" in bench_markdown.render_markdown(advised)


def test_a_guard_that_may_lose_is_told() -> None:
    assert sections(RUN)["not checked"].splitlines()[-1] == (
        "  whether page-faults.faults_per_second with 8 threads loses more than 2.0%: up to 3.0% is possible"
    )


def test_markdown_has_the_same_sections() -> None:
    lines = bench_markdown.render_markdown(RUN).splitlines()
    assert [line for line in lines if line.startswith("#")] == [
        "# exec storm",
        "## Remarks",
        "## Confirmed, on runs made after the choice",
        "## Explored, on the runs of the search",
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
    found = matrix.matrix(replace(RUN, samples=(*RUN.samples, *eight), confirming=(0,)))
    assert found["moved"] == {"exec-storm.1_threads.seconds": [0.9, 0.8], "exec-storm.8_threads.seconds": [4.0]}


def test_samples_are_in_the_order_in_which_they_were_taken() -> None:
    later = samples([((1.0,), (2.0,)), ((3.0,), (4.0,))])
    run = replace(RUN, samples=later[::-1], confirming=(0, 1))
    assert matrix.matrix(run)["baseline"]["exec-storm.seconds"] == [1.0, 3.0]


def test_samples_of_the_search_are_not_in_the_matrix() -> None:
    both = samples([((1.0,), (0.5,)), ((1.1,), (0.9,))])
    assert matrix.matrix(replace(RUN, samples=both, confirming=(1,)))["moved"] == {"exec-storm.seconds": [0.9]}
    assert matrix.matrix(replace(RUN, samples=both, confirming=())) == {}


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
