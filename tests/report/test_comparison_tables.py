# SPDX-License-Identifier: GPL-2.0-or-later
"""Comparisons as tables, with the runs as dots and the reason of each verdict."""

from __future__ import annotations

from dataclasses import replace
from textwrap import dedent

from measured import compared, comparison

from linesmith.analyzer.model import SIMULATED, Better, Metric, VerdictKind
from linesmith.analyzer.report.comparison import comparison_table, markdown_table, render_comparisons
from linesmith.analyzer.report.figures import duration, mean_and_spread, number, signed, strips

WITH_AN_OUTLIER = [
    ((100.0, 101.0), (100.5, 101.5)),
    ((102.0, 100.0), (101.0, 300.0)),
    ((99.0, 100.0), (100.0, 101.0)),
] * 2


def test_a_pair_of_variants_is_a_table_with_its_reasons() -> None:
    assert render_comparisons([compared(WITH_AN_OUTLIER)]) == dedent("""\
        moved (head) against baseline (base)
              base ± sd   change     head ± sd   interval of the change   verdict     metric
          100.3 ±  1.0%   +33.6%   134 ± 57.9%        -21.4% to +127.0%   too noisy   exec-storm.seconds (1 thread, s, \
        lower is better)

          exec-storm.seconds, 1 thread: too noisy
            only changes beyond 74.2% can be seen, and 0.5% matters; far-out runs: 2; 12 + 12 runs in 6
            blocks
            outliers, which count like any run: 300, 300
            base |#                                                 |  from 99
            head |#                                                :|  to 300""").replace("        lower", "lower")


def test_many_outliers_are_counted() -> None:
    text = render_comparisons([comparison(outliers=tuple(map(float, range(1, 10))))])
    assert "outliers, which count like any run: 1, 2, 3, 4, 5, 6 and 3 more\n" in text


def test_several_variants_are_one_table_without_reasons() -> None:
    count = Metric("n", "", Better.LOWER)
    other = comparison(-0.2, 0.05, VerdictKind.WORSE, variant="v2", metric=count, guard=True, tolerance=0.02)
    assert comparison_table([comparison(), other]).splitlines() == [
        "      base ± sd   change       head ± sd   interval of the change   verdict              variant   metric",
        (
            "  1,010 ±  0.8%    0.00%   1,010 ±  0.8%         -1.00% to +1.00%   no difference seen   moved     "
            "exec-storm.ops_per_second (8 threads, ops/s, higher is better)"
        ),
        (
            "  1,010 ±  0.8%   +20.0%   1,212 ±  0.8%         +15.0% to +25.0%   worse                v2        "
            "exec-storm.n (8 threads, lower is better, guard 2.0%)"
        ),
    ]


def test_rows_that_decide_nothing_are_counted_and_not_shown_among_many_and_have_no_reason() -> None:
    shown = [comparison(metric=Metric(name, "", Better.LOWER), only_shown=True) for name in ("misses", "cycles")]
    lines = comparison_table([comparison(), *shown]).splitlines()
    assert (len(lines), lines[-1]) == (3, "  2 rows more, of metrics that decide nothing, in report.json")
    text = render_comparisons([comparison(), shown[1]])
    assert "exec-storm.cycles (8 threads, lower is better, decides nothing)\n" in text
    assert "exec-storm.cycles, 8 threads: " not in text


def test_a_simulated_machine_has_cpus_and_a_side_may_never_have_run() -> None:
    row = comparison_table([comparison(benchmark=SIMULATED, metric=Metric("type", "misses/op", Better.LOWER))])
    assert row.endswith("simulated.type (8 CPUs, misses/op, lower is better)")
    row = comparison_table([replace(comparison(), base=(), head=())]).splitlines()[1]
    assert row.startswith("       none    0.00%        none ")
    assert (render_comparisons([]), comparison_table([]), markdown_table([])) == ("", "", "")


def test_markdown_has_a_row_for_each_comparison() -> None:
    guard = comparison(guard=True, tolerance=0.02, variant="a|b", threads=1)
    assert markdown_table([guard]).splitlines() == [
        "| variant | metric | base ± sd | change | head ± sd | interval of the change | verdict | runs in blocks |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
        (
            "| a\\|b | exec-storm.ops_per_second, 1 thread | 1,010 ± 0.8% | 0.00% | 1,010 ± 0.8% | -1.00% to +1.00% "
            "| no difference seen | 12 + 12 in 6 |"
        ),
        "",
        "- exec-storm.ops_per_second: ops/s, higher is better, guard 2.0%",
    ]


def test_numbers_changes_spreads_and_times_are_rounded() -> None:
    numbers = (0.0, 0.000012345, 0.012345, 999.949, 1234567.8, 2.5e12)
    assert [number(one) for one in numbers] == ["0", "1.234e-05", "0.01235", "999.9", "1,234,568", "2.500e+12"]
    changes = (0.00004, -0.00004, 0.012, -0.4321, 1e9 - 1)
    assert [signed(one) for one in changes] == ["0.00%", "0.00%", "+1.20%", "-43.2%", ">+99,900%"]
    # A spread needs two runs and a mean.
    assert [mean_and_spread(one) for one in ((5.0,), (0.0, 0.0), ())] == ["5", "0", "none"]
    assert [duration(one) for one in (0.4, 99.0, 100.0, 7500.0)] == ["0 s", "99 s", "2 min", "2 h 05 min"]


def test_two_modes_are_seen_in_the_dots_and_equal_runs_lie_on_the_left() -> None:
    assert strips((1.0, 1.0, 2.0), (1.0, 2.0, 2.0, 2.0, 2.0), width=10) == (":        .", ".        #")
    assert strips((1.0,), (1.0,), width=3) == (".  ", ".  ")
