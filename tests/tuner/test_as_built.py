# SPDX-License-Identifier: GPL-2.0-or-later
"""A change as two builds have it: what a compiler really made of the members that met."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hand_made import bits, finding, held, hot, meeting, offsets, scalar, struct, table

from linesmith.analyzer.geometry.placement import lay_out
from linesmith.analyzer.model import Candidate, ConflictPair, Finding, Layout
from linesmith.tuner.as_built import as_built
from linesmith.tuner.candidates import propose
from linesmith.tuner.subject import subject

POOL = struct("pool", scalar("name"), scalar("limit"), scalar("used"), scalar("spare", 64), scalar("id", 4))
LAYOUTS = table(POOL)
LINE = meeting(POOL, "limit", "used")


def compared(built: Layout, line: Finding = LINE) -> Candidate | None:
    """What became of the pool in a build of its own, in which its types have other numbers."""
    elsewhere = replace(built, id=built.id + 1000)
    return as_built(subject(line, LAYOUTS), POOL, LAYOUTS, elsewhere, table(elsewhere))


def told(change: Candidate | None) -> list[tuple[int, float, float]]:
    assert change is not None
    return [(one.line_bytes, one.before, one.after) for one in change.residuals]


@pytest.mark.parametrize("number", range(len(propose(LINE, LAYOUTS))))
def test_a_candidate_that_was_built_says_what_it_said_before(number: int) -> None:
    promised = propose(LINE, LAYOUTS)[number]
    found = compared(promised.after)
    assert found is not None
    assert (found.residuals, found.lines) == (promised.residuals, promised.lines)
    assert found.proofs in (promised.proofs, ())
    assert (offsets(found.after), found.after.size) == (offsets(promised.after), promised.after.size)
    assert found.predicted == promised.predicted


def test_a_build_of_the_same_layout_parts_nothing() -> None:
    assert all(before == after for _, before, after in told(compared(POOL)))


def test_a_member_that_is_aligned_now_limits_where_objects_begin() -> None:
    *others, spare, id_ = POOL.members
    found = compared(lay_out(POOL, (*others, replace(spare, alignment=64), id_)))
    assert found is not None
    assert told(found)[0] == (64, 7 / 8, 1.0)
    assert found.steps == (8, 64), "objects begin elsewhere now"
    assert next(one for one in found.after.members if one.name == "spare").alignment == 64


def test_records_that_do_not_hold_the_same_members_are_not_compared() -> None:
    assert compared(lay_out(POOL, tuple(one for one in POOL.members if one.name != "name"))) is None


def test_a_member_more_is_no_hindrance() -> None:
    found = compared(lay_out(POOL, (scalar("new"), *POOL.members)))
    assert found is not None
    assert offsets(found.after)["limit"] == offsets(POOL)["limit"] + 8


def test_members_of_an_anonymous_struct_that_lie_together_are_one() -> None:
    inner = struct("", scalar("limit"), scalar("low"))
    outer = struct("pool", held("", inner), scalar("used"), scalar("spare", 64))
    layouts = table(outer, inner)
    seen = [hot("limit", 0, 8, 100), hot("used", 16, 8, writes=100)]
    line = finding(outer, seen, [ConflictPair("limit", "used", "used", 100)])
    moved = lay_out(outer, outer.members[1:] + outer.members[:1])
    found = as_built(subject(line, layouts), outer, layouts, moved, layouts)
    assert found is not None
    assert [one.offset for one in found.after.members] == [0, 8, 72]
    assert told(found)[0] == (64, 6 / 8, 0)
    opened = struct("pool", scalar("limit"), scalar("used"), scalar("low"), scalar("spare", 64))
    assert as_built(subject(line, layouts), outer, layouts, opened, table(opened)) is None


def test_bit_fields_keep_their_bits() -> None:
    flags = struct("pool", scalar("limit"), bits("dead", 1), bits("idle", 3), scalar("used", 4), scalar("spare", 64))
    layouts = table(flags)
    moved = lay_out(flags, (*flags.members[1:3], *flags.members[3:], flags.members[0]))
    found = as_built(subject(meeting(flags, "limit", "used"), layouts), flags, layouts, moved, layouts)
    assert found is not None
    assert [(one.name, one.bit_offset) for one in found.after.members if one.is_bit_field] == [("dead", 0), ("idle", 1)]
