# SPDX-License-Identifier: GPL-2.0-or-later
"""A change as two builds have it, what a compiler really made of the members that met; and the names of candidates."""

from __future__ import annotations

from dataclasses import replace

from hand_made import bits, finding, held, hot, meeting, offsets, scalar, struct, table

from linesmith.analyzer.layouts.placement import lay_out
from linesmith.analyzer.model import Candidate, ConflictPair, Finding, Layout
from linesmith.tuner.propose.candidates import propose
from linesmith.tuner.propose.subject import subject
from linesmith.tuner.propose.tradeoff import as_built

POOL = struct("pool", scalar("name"), scalar("limit"), scalar("used"), scalar("spare", 64), scalar("id", 4))
LINE = meeting(POOL, "limit", "used")


def compared(built: Layout, before: Layout = POOL, line: Finding = LINE, *inner: Layout) -> Candidate:
    """What became of the record in a build of its own, in which its types have other numbers."""
    elsewhere, layouts = replace(built, id=built.id + 1000), table(before, *inner)
    found = as_built(subject(line, layouts), before, layouts, elsewhere, table(elsewhere, *inner))
    assert found is not None
    return found


def residuals(change: Candidate) -> list[tuple[int, float, float]]:
    return [(one.line_bytes, one.before, one.after) for one in change.residuals]


def test_candidates_that_were_built_say_what_they_said_before() -> None:
    promises = propose(LINE, table(POOL))
    assert len(promises) > 1
    for promised in promises:
        found = compared(promised.after)
        assert (found.residuals, found.lines) == (promised.residuals, promised.lines)
        assert found.proofs in (promised.proofs, ())
        assert (offsets(found.after), found.after.size) == (offsets(promised.after), promised.after.size)


def test_what_a_build_changes_of_the_record() -> None:
    assert all(before == after for _, before, after in residuals(compared(POOL))), "nothing: nothing is parted"
    more = compared(lay_out(POOL, (scalar("new"), *POOL.members)))
    assert offsets(more.after)["limit"] == offsets(POOL)["limit"] + 8, "a member more is no hindrance"
    *others, spare, id_ = POOL.members
    found = compared(lay_out(POOL, (*others, replace(spare, alignment=64), id_)))
    assert (residuals(found)[0], found.steps) == ((64, 7 / 8, 1.0), (8, 64)), "objects begin elsewhere now"
    assert next(one for one in found.after.members if one.name == "spare").alignment == 64


def test_records_that_do_not_hold_the_same_members_are_not_compared() -> None:
    less = lay_out(POOL, tuple(one for one in POOL.members if one.name != "name"))
    assert as_built(subject(LINE, table(POOL)), POOL, table(POOL), less, table(less)) is None


def test_members_of_an_anonymous_struct_that_lie_together_are_one() -> None:
    inner = struct("", scalar("limit"), scalar("low"))
    outer = struct("pool", held("", inner), scalar("used"), scalar("spare", 64))
    seen = [hot("limit", 0, 8, 100), hot("used", 16, 8, writes=100)]
    line = finding(outer, seen, [ConflictPair("limit", "used", "used", 100)])
    found = compared(lay_out(outer, outer.members[1:] + outer.members[:1]), outer, line, inner)
    assert [one.offset for one in found.after.members] == [0, 8, 72]
    assert residuals(found)[0] == (64, 6 / 8, 0)
    opened = struct("pool", scalar("limit"), scalar("used"), scalar("low"), scalar("spare", 64))
    layouts = table(outer, inner)
    assert as_built(subject(line, layouts), outer, layouts, opened, table(opened)) is None


def test_bit_fields_keep_their_bits() -> None:
    flags = struct("pool", scalar("limit"), bits("dead", 1), bits("idle", 3), scalar("used", 4), scalar("spare", 64))
    limit, *rest = flags.members
    found = compared(lay_out(flags, (*rest, limit)), flags, meeting(flags, "limit", "used"))
    assert [(one.name, one.bit_offset) for one in found.after.members if one.is_bit_field] == [("dead", 0), ("idle", 1)]
