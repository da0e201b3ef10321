# SPDX-License-Identifier: GPL-2.0-or-later
"""Which variants are confirmed, and who won: never the luckiest sample."""

from __future__ import annotations

import pytest
from measured import SECONDS, comparison

from linesmith.analyzer.model import VerdictKind
from linesmith.tuner.judge.ranking import cost, finalists, overall, winner

BETTER, WORSE, NOISY = VerdictKind.BETTER, VerdictKind.WORSE, VerdictKind.TOO_NOISY


def test_the_cost_is_a_ratio_below_one_when_more_is_better() -> None:
    assert cost([comparison(0.25, 0.0)]) == pytest.approx((0.8, 0.0))


def test_several_numbers_of_threads_are_one_cost() -> None:
    assert cost(
        [comparison(0.5, 0.0, metric=SECONDS), comparison(0.0, 0.0, metric=SECONDS, threads=1)]
    ) == pytest.approx((0.5**0.5, 0.0))


def test_guards_and_what_is_only_shown_do_not_count_in_the_cost() -> None:
    aside = [comparison(-0.5, 0.0, guard=True), comparison(-0.5, 0.0, only_shown=True)]
    assert cost([comparison(0.25, 0.0), *aside]) == pytest.approx((0.8, 0.0))
    with pytest.raises(ValueError, match="without a deciding comparison"):
        cost(aside)


def test_a_lucky_mean_of_noisy_runs_ranks_below_a_sure_one() -> None:
    explored = [
        comparison(0.06, 0.12, variant="lucky", blocks=2),
        comparison(0.05, 0.01, variant="sure"),
        comparison(0.01, 0.01, variant="small"),
    ]
    assert finalists(explored, 2) == ("sure", "lucky")


def test_who_is_worse_or_hurts_a_guard_is_not_confirmed() -> None:
    explored = [
        comparison(-0.05, 0.01, WORSE, variant="worse"),
        comparison(0.2, 0.01, BETTER, variant="hurting"),
        comparison(-0.2, 0.01, WORSE, variant="hurting", guard=True),
    ]
    assert finalists(explored, 3) == ()


def test_one_block_is_no_reason_to_confirm_anything() -> None:
    assert finalists([comparison(0.5, 1e9, variant="once", blocks=1)], 1) == ()


def test_one_gain_without_a_loss_is_better() -> None:
    verdict, reason = overall([comparison(0.0, 0.01, threads=1), comparison(0.05, 0.01, BETTER)])
    assert (verdict, reason) == (BETTER, "exec-storm with 8 threads: as the test has it")


def test_a_loss_with_one_thread_is_worse_whatever_eight_gain() -> None:
    assert overall([comparison(-0.05, 0.01, WORSE, threads=1), comparison(0.05, 0.01, BETTER)])[0] == WORSE


def test_a_guard_spoils_but_never_wins() -> None:
    gained = comparison(0.05, 0.01, BETTER)
    assert overall([gained, comparison(-0.05, 0.01, WORSE, guard=True)])[0] == WORSE
    assert overall([comparison(), comparison(0.05, 0.01, BETTER, guard=True)])[0] == VerdictKind.NO_DIFFERENCE
    assert overall([gained, comparison(0.0, 9.0, NOISY, guard=True)])[0] == BETTER


def test_what_is_only_shown_neither_wins_nor_spoils() -> None:
    assert overall([comparison(), comparison(-0.5, 0.1, WORSE, only_shown=True)])[0] == VerdictKind.NO_DIFFERENCE


def test_the_winner_is_the_best_of_those_that_are_better_on_fresh_runs() -> None:
    confirmed = [
        comparison(0.04, 0.01, BETTER, variant="good"),
        comparison(0.06, 0.01, BETTER, variant="best"),
        comparison(0.09, 0.2, NOISY, variant="noisy"),
    ]
    assert winner(confirmed) == "best"
    assert winner(confirmed[2:]) is None


def test_of_two_that_cannot_be_told_apart_the_smaller_change_is_confirmed_first() -> None:
    explored = [comparison(0.40, 0.05, variant="thorough"), comparison(0.38, 0.05, variant="small")]
    assert finalists(explored, 2, {"thorough": 4, "small": 1}) == ("small", "thorough")


def test_a_smaller_change_that_does_much_less_comes_later() -> None:
    explored = [comparison(0.40, 0.02, variant="thorough"), comparison(0.10, 0.02, variant="small")]
    assert finalists(explored, 2, {"thorough": 4, "small": 1}) == ("thorough", "small")


def test_the_winner_is_the_smaller_change_when_both_are_as_good() -> None:
    confirmed = [comparison(0.40, 0.05, BETTER, variant="thorough"), comparison(0.38, 0.05, BETTER, variant="small")]
    assert winner(confirmed, {"thorough": 4, "small": 1}) == "small"
