# SPDX-License-Identifier: GPL-2.0-or-later
"""The interval of a change, from windows of one trace."""

from __future__ import annotations

from linesmith.analyzer.model import Interval
from linesmith.tuner.resampling import change_interval


def test_windows_that_all_change_alike_leave_no_doubt() -> None:
    assert change_interval([10, 20, 30], [5, 10, 15]) == Interval(-0.5, -0.5)


def test_windows_that_differ_widen_it_around_the_change() -> None:
    found = change_interval([100] * 20, [0, 100] * 10)
    assert found.low < -0.5 < found.high
    assert found.low > -0.8
    assert found.high < -0.2


def test_the_same_windows_give_the_same_interval() -> None:
    assert change_interval([9, 8, 7, 1], [1, 5, 7, 0]) == change_interval([9, 8, 7, 1], [1, 5, 7, 0])


def test_without_misses_there_is_no_change() -> None:
    assert change_interval([0, 0], [0, 0]) == Interval(0.0, 0.0)
