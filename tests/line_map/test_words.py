# SPDX-License-Identifier: GPL-2.0-or-later
"""What is said of a cell to whoever points at it or cannot see it."""

from __future__ import annotations

import pytest

from linesmith.analyzer.model import Cell, CellKind, Toucher
from linesmith.analyzer.report.map_words import MOST_TOUCHERS, description


@pytest.mark.parametrize(("left", "told"), [(1, "and 1 more function"), (2, "and 2 more functions")])
def test_functions_that_have_no_room_are_counted(left: int, told: str) -> None:
    touchers = tuple(Toucher(f"reader{number}", 1, 0) for number in range(MOST_TOUCHERS + left))
    cell = Cell("word", "long", CellKind.MEMBER, 0, 8, 0, touchers=touchers)
    assert description(cell).split("; ")[-1] == told
