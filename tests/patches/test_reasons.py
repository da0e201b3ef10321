# SPDX-License-Identifier: GPL-2.0-or-later
"""Why a change helps, as a commit message tells it."""

from __future__ import annotations

from dataclasses import replace

from hand_made import table
from proposals_by_hand import LINE, POOL, moved

from linesmith.patches.reasons import reasons
from linesmith.tuner.steps.step_table import step_tables

STEPS = step_tables(LINE, moved(), table(POOL))
TOLD = """\
Why: CPU A writes a member, CPU B waits for another one that lies on the
same line. What each access finds, before -> after (cycles are the
profile's where it has them):

  A: pool_take writes used: invalidates B -> hit
  B: pool_full reads limit: modified on A, 456 cycles -> hit"""


def test_who_waits_now_and_no_longer_then() -> None:
    assert reasons(STEPS) == TOLD


def test_what_no_layout_changes_is_no_reason() -> None:
    (steps,) = STEPS
    assert reasons([replace(steps, after=steps.before)]) == ""


def test_rows_keep_to_the_width_of_a_message() -> None:
    (steps,) = STEPS
    long = tuple(replace(one, function="a_function_with_a_name_that_nobody_would_want_to_type") for one in steps.before)
    text = reasons([replace(steps, before=long)])
    assert "  B: a_function_with_a_name_that_nobody_would_want_to_type reads limit:\n      modified on A" in text
    assert max(map(len, text.splitlines())) <= 75
