# SPDX-License-Identifier: GPL-2.0-or-later
"""Two layouts beside each other: how large they are is told once as a size, and once as they lie."""

from __future__ import annotations

from hand_made import scalar, struct, table

from linesmith.analyzer.report.html.layout_pair import Emphasis, layout_pair


def test_the_lines_of_a_size_are_told_as_the_fewest() -> None:
    pool = struct("pool", *(scalar(f"m{number}") for number in range(16)))
    pair = layout_pair("pool", (pool, table(pool)), (pool, table(pool)), Emphasis())
    assert pair.before.size == "128 bytes, at least 2 lines"
