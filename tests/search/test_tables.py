# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables of measured costs are read as they are written down, and answer as a ladder would."""

from __future__ import annotations

import json
from pathlib import Path

from search.tables import Table, read_table

from linesmith.analyzer.model import Ask, FailureKind

TEXT = {
    "title": "two counters",
    "dimensions": [
        {"name": "place of a", "choices": ["as it is", "at the front"]},
        {"name": "b", "choices": ["x", "y"]},
    ],
    "priors": [[1, 0]],
    "values": {"0,0": [1.0, 1.0], "1,0": [0.5, 0.7], "0,1": [1.1, 0.9]},
    "estimates": {"1,0": 0.4, "0,1": 1.0},
    "failures": {"1,1": "it would grow"},
}


def written(folder: Path) -> Table:
    path = folder / "table.json"
    path.write_text(json.dumps(TEXT))
    return read_table(path)


def test_costs_are_means(tmp_path: Path) -> None:
    found = written(tmp_path)
    assert (found.cost((1, 0)), found.cost((1, 1)), round(found.best_gain, 6)) == (0.6, 1.0, 0.4)
    assert found.space.priors == ((1, 0),)


def test_the_baseline_is_no_point_to_try(tmp_path: Path) -> None:
    assert (0, 0) not in written(tmp_path).values


def test_an_answer_is_drawn_from_what_was_measured(tmp_path: Path) -> None:
    told = written(tmp_path).measured(Ask((1, 0), 1), blocks=1, seed=3)
    assert told.cost in (0.5, 0.7)
    assert told == written(tmp_path).measured(Ask((1, 0), 1), blocks=1, seed=3)


def test_a_failure_is_told_as_one(tmp_path: Path) -> None:
    told = written(tmp_path).estimated(Ask((1, 1), 0))
    assert told.failure is not None
    assert (told.failure.kind, told.failure.reason) == (FailureKind.ILLEGAL, "it would grow")
