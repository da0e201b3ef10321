# SPDX-License-Identifier: GPL-2.0-or-later
"""What a commit message expects of the change, with how sure that is."""

from __future__ import annotations

from dataclasses import replace

from proposals_by_hand import LINE, moved

from linesmith.analyzer.model import Bounds, Candidate, Saving
from linesmith.patches.expectation import expectation


def saving(least: float) -> Candidate:
    """A candidate that likely takes away 88 of 100 contended loads."""
    return replace(moved(), saving=Saving(Bounds(least, 128), likely=88, noise=28, before=100))


def test_the_figures_stand_with_their_limits() -> None:
    assert expectation(saving(60), replace(LINE, stores=80), "struct pool", exact=True) == (
        "Predicted: likely 88 of the 100 contended loads of struct pool go away (60\nto 100)."
    )


def test_what_may_be_a_loss_is_told_as_such() -> None:
    told = " ".join(expectation(saving(-60), replace(LINE, stores=80), "struct pool", exact=True).split())
    assert told == (
        "Predicted: perhaps 88 of the 100 contended loads of struct pool go away (-60 to 100). By these limits it may"
        " also lose."
    )


def test_a_record_that_is_perhaps_another_is_not_promised_a_saving() -> None:
    doubted = replace(saving(60), doubt="Whether struct pool lies on the line as told is in doubt.")
    told = expectation(doubted, replace(LINE, stores=80), "struct pool", exact=True)
    assert told.startswith("Predicted: perhaps 88 of the 100 contended loads ")


def test_a_line_without_sampled_stores_says_what_that_leaves_open() -> None:
    told = " ".join(expectation(saving(-60), replace(LINE, stores=0), "struct pool", exact=True).split())
    assert told.endswith("No store was sampled on the line, so how often its members are written is not known.")


def test_a_recording_counts_accesses_and_knows_its_stores() -> None:
    told = expectation(saving(60), replace(LINE, simulated="4 CPUs", stores=0), "struct pool", exact=True)
    told = " ".join(told.split())
    assert told == "Predicted: likely 88 of the 100 contended accesses of struct pool go away (60 to 100)."


def test_a_tree_of_another_configuration_gets_no_figures_of_its_own() -> None:
    told = expectation(saving(60), replace(LINE, stores=80), "struct pool", exact=False)
    assert told.startswith("Predicted for the layout of the ELF file: likely 88 ")


def test_a_candidate_that_nobody_priced_expects_nothing() -> None:
    assert expectation(replace(moved(), saving=Saving()), LINE, "struct pool", exact=True) == ""
