# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines by type: many cool lines of one type are one problem, told once."""

from __future__ import annotations

from dataclasses import replace

from hand_made import finding, hot, scalar, struct

from linesmith.analyzer.model import Bounds, Finding, LineCost, Outcome, SharingCost, Side
from linesmith.analyzer.report.by_type import alike_row, examples, type_rows
from linesmith.analyzer.sharing.type_totals import type_totals

TREE = struct("mapping", scalar("tree"), scalar("lock"))
OTHER = struct("page", scalar("flags"))


def line(rank: int, most: float, layout_is_tree: bool = True) -> Finding:
    """A line of which ``most`` hundredths of the profile can be removed."""
    layout, members = (TREE, [hot("tree", 0, 8, 100)]) if layout_is_tree else (OTHER, [hot("flags", 0, 8, 100)])
    sharing = SharingCost(Side("tree", 100, 0), Side("lock", 0, 9), Bounds(0, 100), Bounds(0, 1000))
    cost = LineCost(100, 1000.0, 0.0, (sharing,), Bounds(0, 100), Bounds(0, 1000), share=Bounds(0, most / 100))
    return replace(finding(layout, members, rank=rank), cost=cost)


def test_lines_of_one_type_add_up() -> None:
    pages, trees = type_totals(
        [line(0, 5), line(1, 4, layout_is_tree=False), line(2, 3), line(3, 5, layout_is_tree=False)]
    )
    assert (pages.type, pages.lines, pages.share) == ("page", 2, Bounds(0, 0.09))
    assert (trees.type, trees.lines, trees.contended, trees.removable) == ("mapping", 2, 200, Bounds(0, 200))
    assert trees.pairs == (("lock", "tree"),)


def test_lines_without_an_object_are_one_row_without_members() -> None:
    unknown = line(0, 5)
    unknown = replace(unknown, objects=(replace(unknown.objects[0], outcome=Outcome.CANNOT_TELL),))
    (total,) = type_totals([unknown])
    assert (total.type, total.pairs) == ("", ())


def test_the_table_stands_above_several_lines_only() -> None:
    assert type_rows([line(0, 5)]) == []
    assert type_rows([line(0, 5), line(1, 4)]) == [
        "2 lines by type:",
        "  removable         lines  contended  type: members that meet",
        "  0.0% to 9.0%          2        200  mapping: lock with tree",
    ]


def test_three_lines_of_a_place_are_told_and_the_others_counted() -> None:
    told, untold = examples([line(rank, 9 - rank) for rank in range(6)])
    assert ([one.rank for one, _ in told], untold) == ([0, 1, 2], 0)
    assert (
        alike_row(*told[-1])
        == "… and 3 more lines like these (mapping, from byte 0 on): 3, 4, 5; --format json tells each"
    )
    assert alike_row(*told[0]) == ""
