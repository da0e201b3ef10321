# SPDX-License-Identifier: GPL-2.0-or-later
"""Values far from the others are named."""

from __future__ import annotations

from linesmith.tuner.judge.outliers import outliers


def test_a_value_three_times_the_others_is_far_out() -> None:
    assert outliers((1.0, 1.02, 3.0, 0.99, 1.01, 1.0, 0.2)) == (3.0, 0.2)


def test_a_second_mode_is_no_outlier() -> None:
    assert outliers((1.0, 1.05, 1.0, 1.05, 1.05, 1.0, 1.0)) == ()


def test_of_few_values_none_is_called_an_outlier() -> None:
    assert outliers((1.0, 1.0, 9.0, 1.0, 1.0)) == ()
