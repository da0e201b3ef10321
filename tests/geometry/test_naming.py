# SPDX-License-Identifier: GPL-2.0-or-later
"""Members are found by the names that C code gives them from outside."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace

import pytest
from c_layouts import nested
from c_source import compiled
from hypothesis import given

from linesmith.analyzer.layouts.collection import LayoutTable
from linesmith.analyzer.layouts.dwarf import read_layouts
from linesmith.analyzer.layouts.gaps import Span
from linesmith.analyzer.layouts.leaves import nameable, named
from linesmith.analyzer.model import Layout, Member, RecordKind

SOURCE = """
struct pair { int first, second; };
struct subject {
    char head;
    struct { long low; union { int word; struct pair parts; }; };
    struct pair table[3][4];
    unsigned one : 3, two : 9;
    struct { int inner; } own;
} subject;
"""


@pytest.fixture(scope="module")
def layouts(tmp_path_factory: pytest.TempPathFactory) -> LayoutTable:
    return LayoutTable(read_layouts(compiled(tmp_path_factory.mktemp("naming"), SOURCE)).layouts)


def span(layouts: LayoutTable, path: str) -> Span | None:
    found = named(layouts.variants("subject")[0], layouts, path)
    return found.span if found else None


PLACES = {
    "low": Span(8, 8),
    "parts.second": Span(20, 4),
    "table": Span(24, 96),
    "table[2]": Span(88, 32),
    "table[2][3].second": Span(116, 4),
    "one": Span(120, 1),
    "two": Span(120, 2),
}
NOTHING = ("", "nothing", "low.more", "table[3]", "table[0][0][0]", "head[0]", "own.", ".own", "own.inner" * 5000)


def test_members_are_found_through_anonymous_records_by_indices_and_by_the_bytes_of_their_bits(
    layouts: LayoutTable,
) -> None:
    assert {path: span(layouts, path) for path in PLACES} == PLACES
    assert [path[:20] for path in NOTHING if span(layouts, path) is not None] == []


def test_every_name_is_given_in_order_and_with_its_place(layouts: LayoutTable) -> None:
    names = [one.path for one in nameable(layouts.variants("subject")[0], layouts)]
    assert names == ["head", "low", "word", "parts", "table", "one", "two", "own"]


def test_another_order_of_the_members_has_places_of_its_own(layouts: LayoutTable) -> None:
    layout = layouts.variants("subject")[0]
    other = replace(layout, members=layout.members[::-1])
    for looked_at, first in ((layout, "head"), (other, "own"), (layout, "head")):
        assert next(nameable(looked_at, layouts)).path == first


def test_what_is_kept_goes_with_the_layouts() -> None:
    layouts = LayoutTable([Layout(0, "any", RecordKind.STRUCT, 8, (Member("word", "long", "", 0, 8, 8),))])
    assert [one.path for one in nameable(layouts.by_id(0), layouts)] == ["word"]
    there = weakref.ref(layouts)
    del layouts
    gc.collect()
    assert there() is None


@given(nested())
def test_a_name_leads_to_the_member_it_was_given_for(table: LayoutTable) -> None:
    for layout in table:
        for one in nameable(layout, table):
            assert named(layout, table, one.path) == one
