# SPDX-License-Identifier: GPL-2.0-or-later
"""Outlines tell of an index's records what the records themselves tell."""

from __future__ import annotations

import pytest
from c_source import compiled

from linesmith.analyzer.containment import Containment
from linesmith.analyzer.dwarf import read_layouts
from linesmith.analyzer.layouts import LayoutTable
from linesmith.analyzer.store import IndexedLayouts

SOURCE = """
struct leaf { long low, high; };
struct middle { char first; struct leaf table[2][3]; struct { struct leaf inner; int flags : 3; }; };
struct outer { struct middle one; union { struct leaf leaf; struct middle other; }; char tail[]; };
struct outer outer;
"""


@pytest.fixture(scope="module")
def layouts(tmp_path_factory: pytest.TempPathFactory) -> IndexedLayouts:
    return read_layouts(compiled(tmp_path_factory.mktemp("outlines"), SOURCE)).layouts


def test_an_outline_has_the_places_of_all_members(layouts: IndexedLayouts) -> None:
    for outline, layout in zip(layouts.outlines(), layouts, strict=True):
        assert (outline.id, outline.size) == (layout.id, layout.size)
        for part, member in zip(outline.members, layout.members, strict=True):
            assert part.offset == member.offset
            assert (part.dimensions, part.record) == (member.dimensions, member.record)


@pytest.mark.parametrize("name", ["leaf", "middle", "outer"])
def test_records_are_found_in_the_same_places_with_them_and_without(layouts: IndexedLayouts, name: str) -> None:
    record = layouts.variants(name)[0].id
    assert Containment(layouts).places(record) == Containment(LayoutTable(layouts)).places(record)
