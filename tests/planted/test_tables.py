# SPDX-License-Identifier: GPL-2.0-or-later
"""The measured tables are whole, and the plans they were made with can be read."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from planted.exhaustive import kept, text_of
from search.tables import Table, read_table

from linesmith.tuner.plan_file import read_plan

HERE = Path(__file__).parent
TABLES = ("channel", "gateway", "mailbox", "routes", "server", "tallies", "traffic")


@pytest.fixture(params=TABLES)
def table(request: pytest.FixtureRequest) -> Table:
    return read_table(HERE / "tables" / f"{request.param}.json")


def test_every_point_was_measured_or_is_no_layout(table: Table) -> None:
    points = set(product(*(range(len(one.choices)) for one in table.space.dimensions))) - {table.space.start}
    assert set(table.values) | set(table.failures) == points
    assert not set(table.values) & set(table.failures)


def test_every_layout_was_measured_several_times(table: Table) -> None:
    assert min(map(len, table.values.values())) >= 4


def test_what_was_planted_can_be_mended(table: Table) -> None:
    assert table.best_gain > 0.1


@pytest.mark.parametrize("plan", sorted((HERE / "plans").glob("*.toml")), ids=lambda path: path.stem)
def test_a_plan_names_what_its_makefile_builds(plan: Path) -> None:
    recipe = read_plan(plan).recipe
    assert recipe.products == (f"{plan.stem}.run",)
    assert (recipe.tree / f"{plan.stem}.c").is_file()


def test_figures_of_earlier_calls_are_kept_with_new_ones(tmp_path: Path) -> None:
    figures = tmp_path / "benchmark.jsonl"
    figures.write_text('["a", 0.5]\n["b", 1.0]\n["a", 0.25]\n')
    assert kept(figures) == {"a": [0.5, 0.25], "b": [1.0]}


def test_a_table_has_a_line_for_each_part() -> None:
    assert text_of({"title": "t", "values": {"0,1": [0.5]}}) == '{"title": "t",\n "values": {"0,1":[0.5]}}\n'
