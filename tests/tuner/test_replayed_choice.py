# SPDX-License-Identifier: GPL-2.0-or-later
"""Which candidate is recommended once a trace says what each costs."""

from __future__ import annotations

from dataclasses import replace

from proposals_by_hand import LINE, aligned, moved

from linesmith.analyzer.model import Candidate, Interval, Misses, SimulatedLines, Simulation
from linesmith.tuner.replayed_choice import replayed_choice
from linesmith.tuner.suggestions import Suggestion

ANOTHER = "by the samples alone it would be candidate cjrcg"
SMALL, LARGE = moved(), aligned()


def replayed(after: int, low: float = -0.9, high: float = -0.01) -> Simulation:
    """100 misses before, ``after`` then."""
    return Simulation((SimulatedLines(64, Misses(100), Misses(after), 5000, Interval(low, high)),), 1, 900)


def chosen(*simulations: Simulation, candidates: tuple[Candidate, ...] = (SMALL, LARGE)) -> Suggestion:
    (answer,) = replayed_choice([Suggestion(LINE, candidates)], dict(enumerate(simulations, start=1)))
    return answer


def reasons(answer: Suggestion) -> list[str]:
    return [one.recommended for one in answer.candidates]


def test_the_one_with_fewest_misses_is_recommended_for_them() -> None:
    """It adds a line of 64 bytes to 128: that has to take away more than half again."""
    assert reasons(chosen(replayed(90), replayed(2))) == [
        "",
        f"Replayed on the trace it takes away 98 of 100 misses (-98.0%): 1 member moves; {ANOTHER}.",
    ]


def test_the_estimate_may_be_right() -> None:
    assert reasons(chosen(replayed(10), replayed(10))) == [
        "Replayed on the trace it takes away 90 of 100 misses (-90.0%): 1 member moves.",
        "",
    ]


def test_where_the_misses_only_go_elsewhere_nothing_is_recommended() -> None:
    answer = chosen(replayed(100), replayed(130))
    assert reasons(answer) == ["", ""]
    assert answer.declined == (
        "Nothing is recommended: replayed on the trace, no candidate has fewer misses than the layout as it is."
    )


def test_what_a_part_of_the_trace_denies_is_not_recommended() -> None:
    assert chosen(replayed(95, -0.12, 0.03), replayed(120)).declined == (
        "Nothing is recommended: replayed on the trace, the best candidate takes away 5 of 100 misses (-5.0%), "
        "resampled -12.0% to +3.0%."
    )


def test_too_few_misses_less_for_what_it_takes() -> None:
    assert chosen(replayed(97), replayed(96)).declined.endswith("(-4.0%), too little for what it takes.")


def test_what_could_not_be_replayed_keeps_what_the_estimate_says() -> None:
    kept = chosen(Simulation(refusal="The trace has no access to it."), Simulation(refusal="Nor to that."))
    assert reasons(kept) == [SMALL.recommended, ""]


def test_numbers_go_through_all_answers() -> None:
    first, second = Suggestion(LINE, (SMALL,)), Suggestion(LINE, (replace(LARGE), SMALL))
    answers = replayed_choice([first, second], {1: replayed(100), 2: replayed(100), 3: replayed(10)})
    assert [bool(one.recommended) for answer in answers for one in answer.candidates] == [False, False, True]
