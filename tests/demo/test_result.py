# SPDX-License-Identifier: GPL-2.0-or-later
"""The outcome of a race as the demo prints it."""

from __future__ import annotations

from linesmith.analyzer.demo.cpus import CpuChoice, Placement
from linesmith.analyzer.demo.race import Race, Throughput
from linesmith.analyzer.demo.result import race_text


def raced(after: list[float], placement: Placement = Placement.CORES) -> Race:
    before = tuple(Throughput(40e6 + 1e5 * number, 30e6) for number in range(12))
    return Race(before, tuple(Throughput(rate, 30e6) for rate in after), CpuChoice((0, 1), placement), 500)


def squeezed(line: str) -> str:
    return " ".join(line.split())


def test_a_gain_is_shown_with_its_spread() -> None:
    lines = race_text(raced([80e6] * 12)).splitlines()
    assert squeezed(lines[1]) == "lookups 40.5 (40.0 … 41.1) 80.0 (80.0 … 80.0) 1.97 (1.96 … 1.99) better"
    assert squeezed(lines[2]) == "renewals 30.0 (30.0 … 30.0) 30.0 (30.0 … 30.0) 1.00 (1.00 … 1.00) no difference seen"
    assert lines[-1] == "The change helps here: 1.97 times the lookups per second."


def test_noise_is_not_called_a_result() -> None:
    answer = race_text(raced([20e6, 90e6] * 6))
    assert "too noisy to tell" in answer
    assert "The lookups differ too much from run to run to tell" in answer


def test_siblings_of_one_core_are_mentioned_with_the_answer() -> None:
    answer = race_text(raced([40.5e6] * 12, Placement.SIBLINGS))
    assert "No difference of the lookups was seen here." in answer
    assert "siblings share their first-level cache" in answer
