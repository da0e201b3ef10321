# SPDX-License-Identifier: GPL-2.0-or-later
"""What counts as found, and how trials add up."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from fixes.judgement import Cost, as_good
from fixes.scenario import Answer, Scenario
from fixes.table import details, table
from fixes.trial import Trial, Tried
from fixes.verdict import Verdict, verdict

WINDOWS = tuple(50.0 for _ in range(20))
SCENARIO = Scenario("thing_lock", "123456789abc", "x: y", "6.1", "thing", "the lock leaves", (), ())


def cost(share: float, pages: int = 32, size: int = 128) -> Cost:
    """So much of 1,000 misses, the same in every window."""
    return Cost(round(1000 * share), tuple(share * window for window in WINDOWS), 1, size, pages)


def candidate(share: float, *, recommended: bool = False, good: bool = False) -> Tried:
    return Tried("lock behind name", cost(share), recommended, same=False, good=good)


NOW, HUMAN = cost(1.0), cost(0.6)
TRIAL = Trial(SCENARIO, None, "thing_cache", NOW, HUMAN, (), (), (), asked=False)


@pytest.mark.parametrize(
    ("other", "good"),
    [
        (cost(0.6), True),
        (cost(0.5), True),
        (cost(0.61), False),
        (cost(0.5, pages=48), False),
        (cost(0.6, size=160), True),
        (cost(0.6, pages=0, size=160), False),
        (replace(cost(0.61), windows=(*(0.55 * window for window in WINDOWS[:10]), *(33.5 for _ in range(10)))), True),
    ],
)
def test_as_good_is_no_more_misses_for_all_that_can_be_told_and_no_more_memory(other: Cost, good: bool) -> None:
    pages = 32 if other.pages else 0
    assert as_good(other, replace(HUMAN, pages=pages), replace(NOW, pages=pages)) is good


def test_what_takes_no_more_memory_than_now_is_as_good_as_what_happens_to_save_some() -> None:
    assert as_good(cost(0.6), cost(0.6, pages=30, size=120), NOW)
    assert as_good(cost(0.6, pages=0), cost(0.6, pages=0, size=120), cost(1.0, pages=0))


@pytest.mark.parametrize(
    ("trial", "said"),
    [
        (replace(TRIAL, tried=(candidate(0.6, recommended=True, good=True),)), Verdict.RECOMMENDED),
        (replace(TRIAL, tried=(candidate(0.9, recommended=True), candidate(0.6, good=True))), Verdict.IN_SET),
        (replace(TRIAL, tried=(candidate(0.9, recommended=True),)), Verdict.MISSED),
        (TRIAL, Verdict.NO_CANDIDATE),
        (replace(TRIAL, human=cost(0.99)), Verdict.UNSHOWN),
    ],
)
def test_a_layout_fix_is_found_when_it_or_one_as_good_is_among_the_candidates(trial: Trial, said: Verdict) -> None:
    assert verdict(trial) is said


@pytest.mark.parametrize(
    ("answer", "recommended", "advice", "said"),
    [
        (Answer.NONE, False, (), Verdict.LEFT_ALONE),
        (Answer.NONE, True, (), Verdict.MEDDLED),
        (Answer.STRUCTURE, False, ("shard", "shrink"), Verdict.ADVISED),
        (Answer.STRUCTURE, False, ("shrink",), Verdict.NOT_ADVISED),
    ],
)
def test_records_that_no_layout_helps_are_to_be_left_alone_or_restructured(
    answer: Answer, recommended: bool, advice: tuple[str, ...], said: Verdict
) -> None:
    scenario = replace(SCENARIO, answer=answer, advice="shard")
    found = (candidate(0.99, recommended=recommended),)
    assert verdict(replace(TRIAL, scenario=scenario, tried=found, advice=advice)) is said


def test_advice_does_not_make_up_for_a_change_that_costs() -> None:
    scenario = replace(SCENARIO, answer=Answer.STRUCTURE, advice="shard")
    worse = replace(TRIAL, scenario=scenario, advice=("shard",), tried=(candidate(1.5, recommended=True),))
    assert verdict(worse) is Verdict.MEDDLED


def test_runs_of_a_scenario_are_one_row_and_the_median_counts() -> None:
    good = replace(TRIAL, tried=(candidate(0.6, recommended=True, good=True),))
    other = replace(TRIAL, scenario=replace(SCENARIO, name="thing_none", answer=Answer.NONE))
    posted = replace(TRIAL, posted=Path("report.txt"))
    assert list(table([good, other, TRIAL, posted, good]))[2:] == [
        "| thing_lock | 6.1, thing_cache | 1,000 | -40.0 % | -40.0 % | -40.0 % | 2 of 3 | recommended |",
        "| thing_lock, posted report report.txt | 6.1, thing_cache | 1,000 | -40.0 % | - | - | 0 of 1 | no candidate |",
        "| thing_none | 6.1, thing_cache | 1,000 | -40.0 % | - | - | 1 of 1 | left alone, as it should be |",
        "",
        "1 layout fixes that their scenario shows. The human's layout, or one as good:",
        "in the set of 1 (100.0 %), the recommended one of 1 (100.0 %).",
        "1 records that no layout helps: 1 get the right answer.",
    ]


def test_details_tell_every_candidate() -> None:
    trial = replace(TRIAL, tried=(candidate(0.6, good=True),), unseen=("f: no load of key seen in its code",))
    assert list(details(trial)) == [
        "",
        "thing_lock: x: y (in the set)",
        "  as it is 1,000 misses, mean of 1 phases; 128 bytes",
        "  human    -40.0 %",
        "  tool     -40.0 %: lock behind name (as good)",
        "  unseen   f: no load of key seen in its code",
    ]
