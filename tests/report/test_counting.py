# SPDX-License-Identifier: GPL-2.0-or-later
"""Counts in words, of one and of several."""

from __future__ import annotations

import pytest

from linesmith.analyzer.report.counting import amount


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
