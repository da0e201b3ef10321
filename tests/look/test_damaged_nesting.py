# SPDX-License-Identifier: GPL-2.0-or-later
"""Damaged debug information may nest records without end; everything that follows nesting ends all the same."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from linesmith.analyzer.diff import changes, paired
from linesmith.analyzer.geometry import asked_alignments, flatten, leaves_at
from linesmith.analyzer.layouts import LayoutTable
from linesmith.analyzer.model import Layout, Member, MemberCategory, RecordKind
from linesmith.analyzer.report.pahole import render_text


def holding(record: int, *names: str) -> tuple[Member, ...]:
    return tuple(Member(name, "struct", name, 0, 8, category=MemberCategory.RECORD, record=record) for name in names)


def ring() -> LayoutTable:
    """Two anonymous records that hold each other."""
    return LayoutTable(Layout(number, "", RecordKind.STRUCT, 8, holding(1 - number, "")) for number in (0, 1))


def doubling() -> LayoutTable:
    """Sixty floors, each of which holds the one below twice."""
    scalars = (Member("x", "int", "x", 0, 4), Member("y", "int", "y", 4, 4))
    floors = [Layout(0, "", RecordKind.STRUCT, 8, scalars)]
    floors += [Layout(number, "", RecordKind.STRUCT, 8, holding(number - 1, "", "")) for number in range(1, 60)]
    return LayoutTable(floors)


def doubling_nothing() -> LayoutTable:
    """The same sixty floors over a record without members."""
    floors = [Layout(0, "", RecordKind.STRUCT, 0, ())]
    floors += [Layout(number, "", RecordKind.STRUCT, 0, holding(number - 1, "", "")) for number in range(1, 60)]
    return LayoutTable(floors)


def deep() -> LayoutTable:
    """Two thousand records, one in the other."""
    bottom = Layout(0, "", RecordKind.STRUCT, 8, (Member("x", "long", "x", 0, 8),))
    return LayoutTable(
        [bottom, *(Layout(number, "", RecordKind.STRUCT, 8, holding(number - 1, "")) for number in range(1, 2000))]
    )


@pytest.mark.parametrize("nesting", [ring, doubling, doubling_nothing, deep])
def test_nesting_comes_to_an_end(nesting: Callable[[], LayoutTable]) -> None:
    table = nesting()
    outermost = list(table)[-1]
    assert render_text((outermost,), table, expand=True).count("}") < 1 << 17
    assert len(flatten(outermost, table)) <= 1 << 16
    assert len(leaves_at(outermost, table, 0)) <= 1 << 16
    assert changes(table, table, paired((outermost,), (outermost,))) == ()
    assert len(list(asked_alignments(outermost, table))) <= 1 << 17
