# SPDX-License-Identifier: GPL-2.0-or-later
"""What docs/benchmarks.md shows is what there is: every example is a plan, every setting and metric is told."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from benchmarks.cases import CASES

from linesmith.plugins.registry import benchmark
from linesmith.tuner.plan_file import plan_in

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "benchmarks.md"
EXAMPLES = re.findall(r"^```toml\n(.*?)^```$", DOCUMENT.read_text(), re.MULTILINE | re.DOTALL)
PROGRAM = '[source]\ntree = "."\ncommand = "make"\nproducts = ["server", "loader"]\n'


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_a_plan_that_its_benchmark_takes(example: str, tmp_path: Path) -> None:
    plan = plan_in(PROGRAM + example, tmp_path)
    assert plan.benchmarks
    for use in plan.benchmarks:
        assert benchmark(use.benchmark).metrics(dict(use.settings))


@pytest.mark.parametrize("name", sorted(CASES))
def test_metrics_are_in_the_document(name: str) -> None:
    told = benchmark(CASES[name].benchmark).metrics(CASES[name].settings)
    own = {"hits", "rate", "value"}  # which the user names
    missing = [each.name for each in told if f"`{each.name}`" not in DOCUMENT.read_text() and each.name not in own]
    assert missing == []
