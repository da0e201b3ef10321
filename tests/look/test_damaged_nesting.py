# SPDX-License-Identifier: GPL-2.0-or-later
"""Damaged debug information may nest records without end; everything that follows nesting ends all the same."""

from __future__ import annotations

import pytest

from linesmith.analyzer.layouts.alignment import asked_alignments
from linesmith.analyzer.layouts.collection import LayoutTable
from linesmith.analyzer.layouts.diff import changes, paired
from linesmith.analyzer.layouts.leaves import flatten, leaves_at
from linesmith.analyzer.model import Layout, Member, MemberCategory, RecordKind
from linesmith.analyzer.report import pahole

LONG = Member("x", "long", "x", 0, 8)
WORDS = (Member("x", "int", "x", 0, 4), Member("y", "int", "y", 4, 4))


def record(number: int, size: int, *members: Member) -> Layout:
    return Layout(number, "", RecordKind.STRUCT, size, members)


def held(number: int) -> Member:
    return Member("", "struct", "", 0, 8, category=MemberCategory.RECORD, record=number)


NESTINGS = {
    "two records that hold each other": [record(number, 8, held(1 - number)) for number in (0, 1)],
    "sixty records, each of which holds the one below twice": [
        record(0, 8, *WORDS),
        *(record(number, 8, held(number - 1), held(number - 1)) for number in range(1, 60)),
    ],
    "the same over a record without members": [
        record(0, 0),
        *(record(number, 0, held(number - 1), held(number - 1)) for number in range(1, 60)),
    ],
    "two thousand records, one in the other": [
        record(0, 8, LONG),
        *(record(number, 8, held(number - 1)) for number in range(1, 2000)),
    ],
}
SLOW = "the same over a record without members"


@pytest.mark.parametrize(
    "nesting", [pytest.param(name, marks=[pytest.mark.study] if name == SLOW else []) for name in NESTINGS]
)
def test_nesting_comes_to_an_end(nesting: str) -> None:
    table = LayoutTable(NESTINGS[nesting])
    outermost = NESTINGS[nesting][-1]
    assert pahole.render_text((outermost,), table, expand=True).count("}") < 1 << 17
    assert len(flatten(outermost, table)) <= 1 << 16
    assert len(leaves_at(outermost, table, 0)) <= 1 << 16
    assert changes(table, table, paired((outermost,), (outermost,))) == ()
    assert len(list(asked_alignments(outermost, table))) <= 1 << 17
