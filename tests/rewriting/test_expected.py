# SPDX-License-Identifier: GPL-2.0-or-later
"""That the judge of rewritten records sees what is wrong, and agrees with the compiler where nothing is."""

from __future__ import annotations

from pathlib import Path

from c_source import compiled
from rewriting.expected import Expected, differences
from rewriting.legal_orders import Order

from linesmith.analyzer.dwarf import read_unindexed
from linesmith.analyzer.layouts import LayoutTable

PRESENT = "struct s { char a; long b; char c; int d : 3; };"
HOLDER = "struct holder { struct s one[2]; char last; };"


def unit(folder: Path, source: str, name: str) -> LayoutTable:
    (folder / name).mkdir()
    return read_unindexed(compiled(folder / name, source, "-fno-eliminate-unused-debug-types"))


def judged(folder: Path, after: str, *positions: int) -> list[tuple[str, bool]]:
    """What is not as expected when members at these positions of the present struct should come in that order."""
    before = unit(folder, f"{PRESENT}\n{HOLDER}", "before")
    (layout,) = before.variants("s")
    expected = Expected(before, [Order(layout.id, positions, (), ())])
    found = differences(expected, before, unit(folder, f"{after}\n{HOLDER}", "after"))
    return [(one.record, one.edited) for one in found]


def test_nothing_is_wrong_where_the_order_is_the_wanted_one(tmp_path: Path) -> None:
    assert judged(tmp_path, "struct s { long b; char a; char c; int d : 3; };", 1, 0, 2, 3) == []


def test_an_order_that_was_not_wanted_is_seen(tmp_path: Path) -> None:
    assert ("struct s", True) in judged(tmp_path, "struct s { long b; char c; char a; int d : 3; };", 1, 0, 2, 3)


def test_an_edit_that_was_not_made_is_seen_in_the_record_and_around_it(tmp_path: Path) -> None:
    assert judged(tmp_path, PRESENT, 1, 0, 2, 3) == [("struct s", True), ("struct holder", False)]


def test_a_type_that_changed_is_seen_though_all_offsets_agree(tmp_path: Path) -> None:
    assert judged(tmp_path, "struct s { unsigned long b; char a; char c; int d : 3; };", 1, 0, 2, 3) == [
        ("struct s", True)
    ]


def test_an_attribute_that_is_lost_or_new_is_seen(tmp_path: Path) -> None:
    aligned = "struct s { long b __attribute__((aligned(8))); char a; char c; int d : 3; };"
    assert ("struct s", True) in judged(tmp_path, aligned, 1, 0, 2, 3)


def test_a_packed_record_is_in_order_and_in_other_places(tmp_path: Path) -> None:
    packed = "struct s { char a; char c; long b; int d : 3; } __attribute__((packed));"
    assert ("struct s", False) in judged(tmp_path, packed, 0, 2, 1, 3)


def test_a_record_that_is_gone_is_seen(tmp_path: Path) -> None:
    before = unit(tmp_path, PRESENT, "before")
    after = unit(tmp_path, "struct other { int a; };", "after")
    assert [one.said for one in differences(Expected(before, []), before, after)] == ["it is gone"]
