# SPDX-License-Identifier: GPL-2.0-or-later
"""The human's layout, from the steps of a scenario."""

from __future__ import annotations

import pytest
from fixes.human import human_layout
from fixes.scenario import ScenarioError, Step
from hand_made import held, offsets, scalar, struct, table, union

INNER = union("", scalar("next"), scalar("wait"))
RECORD = struct("thing", scalar("key"), scalar("flags", 4), held("", INNER), scalar("lock"), scalar("name"))
LAYOUTS = table(RECORD, INNER)


@pytest.mark.parametrize(
    ("step", "after"),
    [
        (Step(("lock",), after="key"), ["key", "lock", "flags", "", "name"]),
        (Step(("lock",), before="key"), ["lock", "key", "flags", "", "name"]),
        (Step(("key",), last=True), ["flags", "", "lock", "name", "key"]),
        (Step(("name", "lock"), first=True), ["name", "lock", "key", "flags", ""]),
        (Step(("wait",), after="lock"), ["key", "flags", "lock", "", "name"]),
        (Step(("lock",), before="next"), ["key", "flags", "lock", "", "name"]),
    ],
)
def test_members_go_where_the_step_says(step: Step, after: list[str]) -> None:
    assert [member.name for member in human_layout(RECORD, [step], LAYOUTS).members] == after


def test_steps_follow_each_other_and_the_record_is_laid_out_anew() -> None:
    changed = human_layout(RECORD, [Step(("lock",), last=True), Step(("lock",), align=64)], LAYOUTS)
    assert offsets(changed) == {"key": 0, "flags": 8, "": 16, "name": 24, "lock": 64}
    assert changed.size == 128


def test_a_member_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(ScenarioError, match="there is no member guard; there are key, flags, lock, name"):
        human_layout(RECORD, [Step(("guard",), first=True)], LAYOUTS)
