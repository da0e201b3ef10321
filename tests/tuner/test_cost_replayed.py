# SPDX-License-Identifier: GPL-2.0-or-later
"""A predicted saving beside that of a replayed trace."""

from __future__ import annotations

from linesmith.analyzer.model import Bounds, Interval, Misses, ReplayedSaving, Saving, SimulatedLines, Simulation
from linesmith.tuner.cost.replayed_saving import replayed_saving

PREDICTED = Saving(Bounds(100, 300), likely=250, before=1000)


def simulated(before: int, after: int, phases: int = 1) -> SimulatedLines:
    return SimulatedLines(64, Misses(shared=before), Misses(shared=after), 10_000, Interval(0, 0), phases=phases)


def test_both_are_told_as_shares_of_what_there_was() -> None:
    found = replayed_saving(PREDICTED, Simulation((simulated(4000, 3200),)))
    assert found == ReplayedSaving(Bounds(0.1, 0.3), likely=0.25, replayed=0.2, apart=0.04999999999999999, holds=True)


def test_a_replay_beyond_the_limits_is_told() -> None:
    found = replayed_saving(PREDICTED, Simulation((simulated(4000, 4200),)))
    assert found is not None
    assert (found.replayed, found.holds) == (-0.05, False)


def test_where_the_trace_says_nothing_there_is_no_difference() -> None:
    assert replayed_saving(PREDICTED, Simulation(refusal="no objects")) is None
    assert replayed_saving(PREDICTED, Simulation((simulated(0, 0),))) is None
    assert replayed_saving(Saving(), Simulation((simulated(10, 5),))) is None


def test_objects_count_where_the_trace_had_them_not_in_all_phases() -> None:
    found = replayed_saving(PREDICTED, Simulation((simulated(4000, 3600), simulated(4000, 800, phases=8))))
    assert found is not None
    assert found.replayed == 0.1
