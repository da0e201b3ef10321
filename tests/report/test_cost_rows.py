# SPDX-License-Identifier: GPL-2.0-or-later
"""Who waits for whom, and on how many CPUs, in a few words."""

from __future__ import annotations

import pytest

from linesmith.analyzer.model import Bounds, LineCost, Side
from linesmith.analyzer.report.cost import cost_rows, places


def side(member: str, cpus: int, *nodes: int) -> Side:
    return Side(member, 9, 9, cpu_count=cpus, nodes=nodes)


@pytest.mark.parametrize(
    ("victim", "writer", "told"),
    [
        (side("root", 7, 0), side("guard", 1, 0), "7 CPUs after 1 CPU, node 0"),
        (side("guard", 1, 0), side("guard", 1, 0), "1 CPU after another, node 0"),
        (side("guard", 1), side("guard", 1), "1 CPU after another"),
        (side("guard", 2, 0), side("guard", 1, 0), "2 CPUs after 1 CPU, node 0"),
        (side("root", 1, 0), side("guard", 1, 0), "1 CPU after 1 CPU, node 0"),
    ],
)
def test_no_cpu_waits_for_itself(victim: Side, writer: Side, told: str) -> None:
    assert places(victim, writer) == told


def test_misses_of_a_recording_are_not_called_contended_accesses() -> None:
    """Contended are those that found the line modified; a second reader behind the store finds it clean, and misses."""
    cost = LineCost(337, 40_000, removable=Bounds(327, 334), removable_cycles=Bounds(39_000, 39_800), exact=True)
    rows = cost_rows(cost, "accesses")
    assert rows[0] == "  cost     40,000 cycles on misses after stores by other CPUs (counted with assumed latencies)"
    assert rows[1].startswith("  removable 327 to 334 of 337 misses after stores by other CPUs, ")
