# SPDX-License-Identifier: GPL-2.0-or-later
"""Limits of shares and ratios of sampled counts, against values from the literature and against simulation."""

from __future__ import annotations

from math import inf

import pytest
from numpy.random import default_rng

from linesmith.analyzer.model import Bounds
from linesmith.analyzer.sharing.interval import ratio_of, scatter_of, share_of, widened


def test_a_share_as_in_the_tables() -> None:
    found = share_of(81, 263)  # Newcombe (Statistics in Medicine 17, 1998), table I, method 3
    assert (round(found.least, 4), round(found.most, 4)) == (0.2553, 0.3662)


def test_without_samples_a_share_may_be_anything() -> None:
    assert (share_of(0, 0).least, share_of(0, 0).most) == (0.0, 1.0)


def test_none_of_many_is_little_but_not_nothing() -> None:
    found = share_of(0, 100)
    assert found.least == 0
    assert 0.03 < found.most < 0.04


def test_the_ratio_of_equal_counts_holds_one() -> None:
    found = ratio_of(100, 100, 1000, 1000)
    assert found.least < 1 < found.most


def test_totals_scale_the_ratio() -> None:
    found = ratio_of(100, 100, 1000, 4000)
    assert found.least < 0.25 < found.most < 1


def test_what_was_not_there_before_has_no_upper_limit() -> None:
    assert ratio_of(0, 50, 1000, 1000).most == inf


@pytest.mark.parametrize("rate", [3, 30, 300])
def test_the_interval_of_equal_rates_holds_one_in_about_95_of_100_pairs(rate: int) -> None:
    pairs = default_rng(rate).poisson(rate, (400, 2))
    held = sum(
        found.least <= 1 <= found.most for found in (ratio_of(one, other, 1, 1) for one, other in pairs.tolist())
    )
    assert held / 400 > 0.91


def test_the_scatter_of_pairs_that_only_chance_parts_is_small() -> None:
    pairs = default_rng(1).poisson(1000, (200, 2)).tolist()
    assert scatter_of(pairs) < 0.02


def test_the_scatter_between_runs_is_found_whatever_all_have_in_common_and_a_few_changes() -> None:
    random = default_rng(2)
    rates = 1000 * random.lognormal(0, 0.2, (200, 2)) * (1.0, 3.0)
    pairs = [*random.poisson(rates).tolist(), *([1000, 50] for _ in range(20))]
    assert 0.18 < scatter_of(pairs) < 0.26


def test_of_a_few_pairs_nothing_is_learnt() -> None:
    assert scatter_of([(100, 900)] * 11) == 0


def test_scatter_widens_the_limits_on_either_side() -> None:
    counted = Bounds(0.9, 1.1)
    wide = widened(counted, 1.0, 0.2)
    assert wide.least < 0.6 < 1.7 < wide.most
    assert widened(counted, 1.0, 0.0) == counted


def test_what_has_vanished_stays_so_with_a_wider_limit() -> None:
    assert widened(Bounds(0.0, 0.01), 0.0, 0.2).least == 0
    assert 0.01 < widened(Bounds(0.0, 0.01), 0.0, 0.2).most < 0.02
    assert widened(Bounds(30.0, inf), 0.0, 0.2).most == inf
