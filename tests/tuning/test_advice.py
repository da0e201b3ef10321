# SPDX-License-Identifier: GPL-2.0-or-later
"""What would decide where measuring could not: how many more blocks, or less noise."""

from __future__ import annotations

from dataclasses import replace

import pytest
from measured import comparison

from linesmith.analyzer.model import SIMULATED, Comparison, Rules, VerdictKind
from linesmith.tuner.judge.prospect import blocks_needed, reach_at_the_end
from linesmith.tuner.tuning.advice import advice

RULES = Rules()


def noisy(reach: float) -> Comparison:
    return comparison(0.02, reach, VerdictKind.TOO_NOISY, blocks=4)


def said(*comparisons: Comparison, block: float = 30.0) -> list[str]:
    return list(advice(comparisons, RULES, block, spent=300.0))


def test_a_little_noise_is_overcome_by_some_more_blocks() -> None:
    assert said(noisy(0.11)) == [
        "moved: to see changes of 10% at this noise takes about 6 more blocks (3 min): go on with --resume --minutes 9"
    ]


def test_more_noise_than_blocks_can_overcome_is_to_be_made_less() -> None:
    (one,) = said(noisy(0.4))
    assert one.startswith("moved: to see changes of 10% at this noise takes about ")
    assert "and `most_blocks` in [judge] is 16: let each run of the benchmark take longer, on a quieter machine" in one


def test_noise_that_no_number_of_blocks_overcomes_is_called_so() -> None:
    (one,) = said(noisy(30.0))
    assert one.startswith("moved: to see changes of 10% at this noise takes more than 1,000 blocks: let each run")


def test_what_is_recorded_can_do_more() -> None:
    assert "let the recorded command do more" in said(replace(noisy(0.4), benchmark=SIMULATED))[0]


def test_a_verdict_that_the_time_cut_off_takes_the_blocks_that_are_missing() -> None:
    assert said(comparison(0.5, 0.1, VerdictKind.UNDECIDED, blocks=3)) == [
        "moved: the first verdict takes about 1 more block (30 s): go on with --resume --minutes 7"
    ]


def test_where_nothing_was_counted_no_block_helps() -> None:
    assert said(replace(noisy(0.1), error=0.0)) == []


@pytest.mark.parametrize("verdict", [VerdictKind.BETTER, VerdictKind.WORSE, VerdictKind.NO_DIFFERENCE])
def test_a_verdict_needs_no_advice(verdict: VerdictKind) -> None:
    assert said(comparison(0.5, 0.1, verdict)) == []


def test_what_is_only_shown_or_guards_needs_none() -> None:
    assert said(replace(noisy(0.4), only_shown=True), replace(noisy(0.4), guard=True)) == []


def test_so_many_blocks_bring_the_interval_to_its_width() -> None:
    one = noisy(0.15)
    needed = blocks_needed(one, RULES, 0.1)
    assert needed is not None
    assert needed > 4
    at_the_end = replace(RULES, most_blocks=needed)
    assert reach_at_the_end(one, at_the_end) == pytest.approx(0.1, rel=0.15)
