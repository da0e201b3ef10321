# SPDX-License-Identifier: GPL-2.0-or-later
"""What an index says of its records beside them: outlines of their members, and digests of their layouts."""

from __future__ import annotations

from pathlib import Path

import pytest
from c_source import compiled

from linesmith.analyzer.layouts.collection import LayoutTable
from linesmith.analyzer.layouts.containment import Containment
from linesmith.analyzer.layouts.dwarf import read_layouts
from linesmith.analyzer.layouts.store import IndexedLayouts

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


RECORD = "struct leaf { int low; }; struct s { int a; long b : 3; struct { char c; }; struct leaf leaf; } s;"


def digest(folder: Path, source: str) -> bytes:
    """Of ``struct s`` in the source."""
    layouts = read_layouts(compiled(folder, source)).layouts
    return layouts.digest(layouts.variants("s")[0].id)


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return digest(tmp_path_factory.mktemp("digest"), RECORD)


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        # On another line and behind another record; with other members in a record that has a name.
        ("struct leaf { int", "\n\nstruct first { int x; } first; struct leaf { int", True),
        ("struct leaf { int low; }", "struct leaf { unsigned high; }", True),
        ("int a", "int A", False),
        ("int a", "unsigned a", False),
        ("int a", "int a[1]", False),
        ("long b : 3", "long b : 4", False),
        ("char c", "char C", False),
        ("int a; long b : 3;", "long b : 3; int a;", False),
        ("{ int low; }", "{ int low, high; }", False),
    ],
)
def test_a_digest_changes_with_the_members_of_its_record_alone(
    usual: bytes, tmp_path: Path, old: str, new: str, same: bool
) -> None:
    assert old in RECORD
    assert (digest(tmp_path, RECORD.replace(old, new)) == usual) is same
