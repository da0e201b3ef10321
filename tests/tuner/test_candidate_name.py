# SPDX-License-Identifier: GPL-2.0-or-later
"""A candidate's name is made of the record and the layout proposed, so that it holds in every list."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import click
import pytest
from hand_made import scalar, struct
from proposals_by_hand import aligned, moved

from linesmith.analyzer.cli.candidate_choice import CandidateChoice, number_of
from linesmith.analyzer.errors import NothingToSuggest
from linesmith.analyzer.model.candidate_name import LENGTH, LETTERS, candidate_name


def test_the_name_says_nothing_of_what_a_profile_or_the_source_tells() -> None:
    told = replace(aligned(), notes=("any",), constraints=("any",), recommended="It saves most.", residuals=())
    assert candidate_name(told) == candidate_name(aligned()) != candidate_name(moved())


def test_each_order_of_the_members_has_a_name_of_its_own() -> None:
    orders = permutations([scalar(name) for name in "abcde"])
    names = {candidate_name(replace(moved(), after=struct("pool", *members))) for members in orders}
    assert len(names) == 120
    assert all(len(name) == LENGTH and set(name) <= set(LETTERS) for name in names)


def test_an_alignment_that_moves_nothing_counts() -> None:
    one, other = (replace(moved(), after=struct("pool", scalar("a", align=align))) for align in (None, 64))
    assert candidate_name(one) != candidate_name(other)


def test_the_same_change_of_another_record_is_another_one() -> None:
    assert candidate_name(replace(moved(), type="other")) != candidate_name(moved())


def test_a_candidate_is_chosen_by_number_or_name() -> None:
    both = (moved(), aligned())
    assert [number_of(one, both) for one in (None, 2, candidate_name(aligned()))] == [None, 2, 2]


@pytest.mark.parametrize(
    ("chosen", "said"), [(3, "there are only 2 candidates"), ("other", "no candidate is called other here")]
)
def test_what_is_not_there_is_refused(chosen: int | str, said: str) -> None:
    with pytest.raises(NothingToSuggest, match=said):
        number_of(chosen, (moved(), aligned()))


def test_a_name_that_two_have_asks_for_the_number() -> None:
    with pytest.raises(NothingToSuggest, match=r"candidates 1 and 3 are both called .*; give the number"):
        number_of(candidate_name(moved()), (moved(), aligned(), moved()))


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "kd frt", "", "٣", "9" * 5000])
def test_what_is_neither_is_refused_at_once(text: str) -> None:
    with pytest.raises(click.BadParameter, match="neither the number"):
        CandidateChoice().convert(text, None, None)
