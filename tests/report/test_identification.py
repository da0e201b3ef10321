# SPDX-License-Identifier: GPL-2.0-or-later
"""What lies on a line, in words: a guess is not told as what is there."""

from __future__ import annotations

from dataclasses import replace

from hand_made import finding, hot, scalar, struct

from linesmith.analyzer.model import LineObject, Outcome
from linesmith.analyzer.report.identification import certainty, place

LINE = finding(struct("pool", scalar("a")), [hot("a", 0, 8, 9)])
RIVAL = LineObject("ucounts", 2, 40, 40, 0.4, Outcome.CANNOT_TELL)
KNOWN = LineObject("pool", 1, -48, 16, 0.97, Outcome.RESOLVED, 0.936, RIVAL)


def test_what_is_known_is_told_with_its_confidence() -> None:
    assert place(KNOWN, LINE) == "pool, begins 48 bytes before the line (phase 16 of 64)"
    assert certainty(KNOWN, LINE) == (
        "resolved: 97% of the samples explained; runner-up ucounts (phase 40), confidence 93.6%"
    )


def test_a_guess_is_told_as_one_and_has_no_confidence() -> None:
    guess = replace(KNOWN, outcome=Outcome.CANNOT_TELL)
    assert place(guess, LINE) == "not known; most like pool, begins 48 bytes before the line (phase 16 of 64)"
    assert certainty(guess, LINE) == (
        "cannot tell: it explains 97% of the samples, and is ahead of ucounts (phase 40) by 93.6%"
    )
