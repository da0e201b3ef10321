# SPDX-License-Identifier: GPL-2.0-or-later
"""A change as two builds have it, what a compiler really made of the members that met; and the names of candidates."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import click
import pytest
from hand_made import bits, finding, held, hot, meeting, offsets, scalar, struct, table
from proposals_by_hand import aligned, moved

from linesmith.analyzer.cli.candidate_choice import CandidateChoice, number_of
from linesmith.analyzer.errors import NothingToSuggest
from linesmith.analyzer.geometry.placement import lay_out
from linesmith.analyzer.model import Candidate, ConflictPair, Finding, Layout
from linesmith.analyzer.model.candidate_name import LENGTH, LETTERS, candidate_name
from linesmith.tuner.as_built import as_built
from linesmith.tuner.candidates import propose
from linesmith.tuner.subject import subject

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
        assert found.predicted == promised.predicted


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


def test_the_name_of_a_candidate_is_made_of_the_record_and_the_layout_proposed() -> None:
    said = replace(aligned(), notes=("any",), constraints=("any",), recommended="It saves most.", residuals=())
    assert candidate_name(said) == candidate_name(aligned()) != candidate_name(moved())
    assert candidate_name(replace(moved(), type="other")) != candidate_name(moved())
    one, other = (replace(moved(), after=struct("pool", scalar("a", align=align))) for align in (None, 64))
    assert candidate_name(one) != candidate_name(other), "an alignment that moves nothing counts"
    orders = permutations([scalar(name) for name in "abcde"])
    names = {candidate_name(replace(moved(), after=struct("pool", *members))) for members in orders}
    assert len(names) == 120
    assert all(len(name) == LENGTH and set(name) <= set(LETTERS) for name in names)


def test_a_candidate_is_chosen_by_number_or_name() -> None:
    both = (moved(), aligned())
    assert [number_of(one, both) for one in (None, 2, candidate_name(aligned()))] == [None, 2, 2]
    with pytest.raises(NothingToSuggest, match="there are only 2 candidates"):
        number_of(3, both)
    with pytest.raises(NothingToSuggest, match="no candidate is called other here"):
        number_of("other", both)
    with pytest.raises(NothingToSuggest, match=r"candidates 1 and 3 are both called .*; give the number"):
        number_of(candidate_name(moved()), (*both, moved()))


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "kd frt", "", "٣", "9" * 5000])
def test_what_is_neither_number_nor_name_is_refused_at_once(text: str) -> None:
    with pytest.raises(click.BadParameter, match="neither the number"):
        CandidateChoice().convert(text, None, None)
