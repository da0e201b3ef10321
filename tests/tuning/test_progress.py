# SPDX-License-Identifier: GPL-2.0-or-later
"""What a user hears while a run goes on: one line, in words that mean one thing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tuning.project import APART, PLAN, at_work, plan_of, project

from linesmith.analyzer.cli.tuning import fitting, line
from linesmith.analyzer.model import Fidelity, Variant
from linesmith.analyzer.report.excerpt import excerpt
from linesmith.tuner.tuning.bench import bench
from linesmith.tuner.tuning.progress import Progress
from linesmith.tuner.tuning.tune import tune

BEGUN = Progress("building v5", trials=3, budget=20, best="v2", cost=0.501, rung=Fidelity.SIMULATION)


def test_a_cost_is_no_speed_and_names_its_rung() -> None:
    assert line(BEGUN) == ("building v5; 3 of 20 trials; best so far v2, cost 0.501 of the baseline's (simulated)")


def test_on_a_higher_rung_another_variant_may_be_the_best() -> None:
    assert "best so far v3, cost 0.929 of the baseline's (benchmarked)" in line(
        replace(BEGUN, best="v3", cost=0.929, rung=Fidelity.BENCHMARK)
    )


def test_what_is_no_better_than_the_baseline_is_not_called_best() -> None:
    assert line(replace(BEGUN, cost=1.002)).endswith("; nothing better than the baseline so far (simulated)")


@pytest.mark.parametrize(
    ("seconds", "limit", "text"),
    [
        (20.0, 300.0, "0.3 of 5 min"),
        (299.0, 300.0, "4.9 of 5 min"),
        (650.0, 14400.0, "10 of 240 min"),
        (3.0, 12.0, "0.0 of 0.2 min"),
    ],
)
def test_minutes_that_are_over_have_tenths_while_they_are_few(seconds: float, limit: float, text: str) -> None:
    assert line(Progress("building v5", seconds=seconds, limit=limit)) == f"building v5; {text}"


def test_a_line_is_no_wider_than_the_terminal() -> None:
    assert fitting("building v5; 3 of 20 trials", 80) == "building v5; 3 of 20 trials"
    assert fitting("building v5; 3 of 20 trials", 20) == "building v5; 3 of …"


def test_what_is_searched_is_called_by_its_rung_and_then_confirmed(tmp_path: Path) -> None:
    folder = project(tmp_path)
    heard: list[str] = []
    with at_work(tmp_path / "run", folder) as (run, pool):
        tune(plan_of(folder, PLAN), run, pool, lambda progress: heard.append(progress.doing), excerpt)
    blocks = [doing for doing in heard if ", block " in doing]
    assert len(set(blocks)) == len(blocks)
    assert {doing.split()[0] for doing in blocks} == {"benchmarking", "confirming"}
    assert "benchmarking placebo-1, block 1" in blocks


def test_patches_that_were_given_are_benchmarked_and_not_confirmed(tmp_path: Path) -> None:
    folder = project(tmp_path)
    heard: list[str] = []
    with at_work(tmp_path / "run", folder) as (run, pool):
        bench(plan_of(folder), [Variant("apart", (APART,))], run, pool, lambda progress: heard.append(progress.doing))
    assert "benchmarking apart, block 1" in heard
    assert not [doing for doing in heard if doing.startswith("confirming")]
