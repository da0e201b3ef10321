# SPDX-License-Identifier: GPL-2.0-or-later
"""Counts in words, of one and of several."""

from __future__ import annotations

import pytest

from linesmith.analyzer.report.counting import amount, runs


@pytest.mark.parametrize(
    ("count", "things", "told"),
    [
        (1, "contended accesses", "1 contended access"),
        (1, "loads", "1 load"),
        (1, "misses", "1 miss"),
        (2_000, "accesses", "2,000 accesses"),
        (0, "stores", "0 stores"),
    ],
)
def test_one_of_several_things(count: int, things: str, told: str) -> None:
    assert amount(count, things) == told


@pytest.mark.parametrize(
    ("numbers", "told"),
    [((), ""), ((0,), "0"), ((0, 1, 2), "0-2"), ((0, 3), "0 and 3"), ((0, 2, 3, 4, 9), "0, 2-4 and 9")],
)
def test_nodes_of_a_machine_in_a_sentence(numbers: tuple[int, ...], told: str) -> None:
    assert runs(numbers) == told
