# SPDX-License-Identifier: GPL-2.0-or-later
"""The evidence of a commit message: runs, spread, interval, circumstances, and nothing beyond the verdict."""

from __future__ import annotations

from dataclasses import replace
from textwrap import dedent

from finished_run import CONFIRMED, RUN

from linesmith.analyzer.model import Failure, FailureKind
from linesmith.analyzer.report.evidence import WIDTH, evidence


def test_a_reviewer_finds_what_was_measured_simulated_and_left_open() -> None:
    assert evidence(RUN, "moved") == dedent("""\
        Measured, baseline against this patch (mean ± standard deviation over
        runs):

          exec-storm.ops_per_second (ops/s, higher is better)
            1 thread         1,010 ±  0.8%     1,010 ±  0.8%    0.00%
              no difference seen; 98% interval -0.40% to +0.40%
            8 threads        1,010 ±  0.8%     1,060 ±  0.8%   +5.00%
              better; 98% interval +4.00% to +6.00%
          page-faults.faults_per_second (faults/s, higher is better; a guard)
            8 threads        1,010 ±  0.8%     1,010 ±  0.8%    0.00%
              no difference seen; 98% interval -3.00% to +3.00%

        Simulated, baseline against this patch; these are counts of an emulated
        machine with a model of private caches, no time of a real one:

          simulated.pair (misses/op, lower is better)
            8 CPUs           1,010 ±  0.8%       404 ±  0.8%   -60.0%
              better; 98% interval -70.0% to -50.0%

        12 runs of each side in 6 interleaved blocks; bounds are of the ratio of
        means, by bootstrap. 2 builds of equal layout were seen to differ by up to
        0.20%.

        On: compiler gcc 12.2.0; configuration fedcba987654; cpus 8.

        Not measured: what other builds of the same layout differ by (placebos
        measured: 1); whether page-faults.faults_per_second with 8 threads loses
        more than 2.0%: up to 3.0% is possible.
        """)


def test_no_line_is_wider_than_a_commit_message_may_be() -> None:
    wide = replace(CONFIRMED[0], benchmark="a-benchmark-with-a-very-long-name", base=(1e11, 3e11), head=(5e11, 1e11))
    text = evidence(replace(RUN, confirmed=(wide, *CONFIRMED), facts=(("machine", "word " * 40),)), "moved")
    assert max(map(len, text.splitlines())) <= WIDTH


def test_large_numbers_do_not_touch_each_other() -> None:
    wide = replace(CONFIRMED[0], base=(79.1e6, 95.3e6), head=(82.1e6, 98.6e6))
    assert "    1 thread    87,200,000 ± 13.1%  90,350,000 ± 12.9%    0.00%\n" in evidence(
        replace(RUN, confirmed=(wide,)), "moved"
    )


def test_runs_of_the_search_are_called_so() -> None:
    text = " ".join(evidence(replace(RUN, confirmed=()), "moved").split())
    assert "They are runs of the search itself; nothing was confirmed on fresh ones." in text


def test_simulation_alone_makes_no_claim_about_time() -> None:
    text = evidence(replace(RUN, confirmed=CONFIRMED[3:], samples=()), "moved")
    assert text.startswith("Simulated, baseline against this patch; these are counts")
    assert "Not measured: time on real hardware: nothing was timed there;" in text


def test_far_out_runs_are_not_hidden() -> None:
    text = " ".join(
        evidence(replace(RUN, confirmed=(replace(CONFIRMED[0], outliers=(512.0, 499.0)),)), "moved").split()
    )
    assert "Far-out runs are included: 2 (such as 512)." in text


def test_of_a_variant_that_was_not_measured_nothing_is_said() -> None:
    assert evidence(RUN, "v2") == ""


def test_of_a_variant_that_failed_when_it_was_measured_that_is_said() -> None:
    panic = Failure(FailureKind.PANIC, "Kernel panic - not syncing: Fatal exception", "logs/block-2")
    failed = replace(RUN.trials[0], variant="v7", cost=None, failure=panic)
    assert evidence(replace(RUN, trials=(failed,)), "v7") == (
        "It failed when it was measured: panic: Kernel panic - not syncing: Fatal\nexception.\n"
    )


def test_time_of_an_emulated_machine_is_called_so() -> None:
    text = " ".join(evidence(replace(RUN, facts=(("machine", "QEMU, tcg"),)), "moved").split())
    assert text.startswith("Timed in an emulated machine, which has no caches, baseline against this patch")
    assert "Not measured: time on real hardware: the machine was emulated, and its time knows no caches;" in text
