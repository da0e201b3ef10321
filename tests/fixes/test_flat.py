# SPDX-License-Identifier: GPL-2.0-or-later
"""Records without their anonymous structs, and what people do with their members."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fixes.flat import Replaced, flattened
from fixes.human import human_layout
from fixes.scenario import Step
from hand_made import held, offsets, scalar, struct, table, union

from linesmith.analyzer.geometry.inference import with_inferred_alignment
from linesmith.analyzer.geometry.placement import lay_out, place
from linesmith.analyzer.model import Layout

SECOND = struct("", scalar("lock", 4), scalar("list", 16), align=64)
CHOICE = union("", scalar("next"), scalar("wait"))
FIRST = struct("", scalar("refs"), held("", CHOICE), scalar("flags", 4))
RECORD = struct("thing", held("", FIRST), held("", SECOND), scalar("users", 4))
LAYOUTS = table(RECORD, FIRST, SECOND, CHOICE)
FLAT = [("refs", 0), ("", 8), ("flags", 16), ("", 64), ("lock", 64), ("list", 72), ("", 128), ("users", 128)]


def test_members_of_anonymous_structs_stay_where_they_are_and_unions_stay_whole() -> None:
    assert [(member.name, member.offset) for member in flattened(RECORD, LAYOUTS).members] == FLAT


def test_c_would_put_them_there_again() -> None:
    flat = with_inferred_alignment(flattened(RECORD, LAYOUTS))
    assert [start // 8 for start in place(flat.members, flat.alignment).starts] == [start for _, start in FLAT]
    assert lay_out(flat, flat.members).size == RECORD.size == 192


@pytest.mark.parametrize(
    ("step", "moved"),
    [
        (Step(("lock",), after="flags"), {"lock": 20}),
        (Step(("list",), before="lock"), {"list": 64, "lock": 80, "users": 128}),
        (Step(("users",), after="flags"), {"users": 20}),
    ],
)
def test_members_move_into_and_out_of_them(step: Step, moved: dict[str, int]) -> None:
    places = offsets(human_layout(RECORD, [step], LAYOUTS))
    assert {name: places[name] for name in moved} == moved


def test_the_record_is_replaced_wherever_it_is_asked_for() -> None:
    flat: Layout = replace(RECORD, members=())
    layouts = Replaced(LAYOUTS, flat)
    assert (layouts.by_id(RECORD.id), layouts.variants("thing")) == (flat, (flat,))
    assert [layout.name for layout in layouts] == [layout.name for layout in LAYOUTS]
