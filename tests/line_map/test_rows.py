# SPDX-License-Identifier: GPL-2.0-or-later
"""The map as text: to scale from 40 columns on, all names told, heat not by colour alone."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from c_layouts import nested, structs
from hand_made import meeting, scalar, struct, table
from hypothesis import given
from hypothesis import strategies as st

from linesmith.analyzer.cli.colour import painted, wants_colour
from linesmith.analyzer.layouts import LayoutTable
from linesmith.analyzer.line_map import compared_maps, heat_of, line_map
from linesmith.analyzer.line_map.folding import Fold, folded
from linesmith.analyzer.model import Layout, LineMap
from linesmith.analyzer.report.map_rows import BLOCKS, compared_rows, map_rows, plain
from linesmith.analyzer.report.map_slots import slots
from linesmith.analyzer.report.short_names import columns, short

SCALES = st.sampled_from((32, 64, 128))


def drawn(text: str) -> str:
    """A map as it stands in a test: without the first empty line."""
    return text.removeprefix("\n")


def queue() -> Layout:
    members = (scalar("items"), scalar("capacity"), scalar("version", 4), scalar("open", 1), scalar("lock", 4))
    return struct(
        "queue", *members, scalar("head"), scalar("tail"), scalar("name", 1, dimensions=(1,)), scalar("users")
    )


def contended(layout: Layout) -> LineMap:
    layouts = table(layout)
    return line_map(layout, layouts, heat_of(layout, layouts, [meeting(layout, "tail", "head", "capacity")]))


@given(structs, st.integers(0, 63), SCALES)
def test_every_cell_has_its_columns_whatever_the_layout(layout: Layout, phase: int, scale: int) -> None:
    for line in line_map(layout, LayoutTable([layout]), phase=phase).lines:
        placed = slots(line, 64, scale)
        assert [cell for slot in placed for cell in slot.cells] == list(line.cells)
        assert [slot.end for slot in placed[:-1]] == [slot.start for slot in placed[1:]]
        assert placed[-1].end <= scale
        assert all(slot.room >= len(str(slot.number or "")) for slot in placed if len(placed) > 1)
        numbers = [slot.number for slot in placed if slot.number]
        assert numbers == list(range(1, len(numbers) + 1))


@given(nested(), st.integers(40, 200))
def test_no_row_is_wider_than_asked(layouts: LayoutTable, width: int) -> None:
    layout = list(layouts)[-1]
    rows = plain(map_rows(line_map(layout, layouts), width)).splitlines()
    assert max((columns(row) for row in rows), default=0) <= width


def test_a_map_on_80_columns() -> None:
    assert plain(map_rows(contended(queue()), 80)) == drawn("""
struct queue: 64 bytes on 1 cache line
line 0       8       16      24      32      40      48      56
   0 |items  |1      |2  |3|-|4  |---|head   |tail   |5|-hole|users  |
100% |       |##50%r#|   | | |   |   |##50%r#|.. w ..| |     |       |
line 0: 1 capacity, 2 version, 3 open, 4 lock, 5 name
heat (share of the contended samples): . touched, nobody waited, # 35% and more;
  r read, w written
""")


def test_a_map_on_40_columns_names_by_number_what_it_cannot_write() -> None:
    assert plain(map_rows(contended(queue()), 40)) == drawn("""
struct queue: 64 bytes on 1 cache line
line 0   8   16  24  32  40  48  56
   0 |1  |2  |3|4|5|-|6  |7  |8  |9  |
100% |   |50%| | | | |50%|.w.|   |   |
line 0: 1 items, 2 capacity, 3 version,
  4 open + hole, 5 lock, 6 head, 7 tail,
  8 name + hole, 9 users
heat (share of the contended samples): .
  touched, nobody waited, # 35% and
  more; r read, w written
""")


def test_a_number_and_its_name_stay_on_one_line_and_no_map_is_narrower_than_the_narrowest() -> None:
    for width in range(30, 60):
        told = plain(map_rows(contended(queue()), width))
        assert all(f"{number} {name}" in told for number, name in enumerate(("items", "capacity", "version"), 1))
    assert "   0 |1  |2  |" in plain(map_rows(contended(queue()), 10))


def test_a_terminal_with_block_characters_shades_with_them() -> None:
    assert "|██50%r█|·· w ··|" in plain(map_rows(contended(queue()), 80, BLOCKS))


def test_an_object_that_starts_inside_a_line_is_drawn_there() -> None:
    layout = struct("s", *(scalar(name) for name in "abcd"))
    assert plain(map_rows(line_map(layout, table(layout), phase=48), 80)) == drawn("""
struct s: 32 bytes on 2 cache lines, from byte 48 of the first
line 0       8       16      24      32      40      48      56
   0                                                 |a      |b      |
   1 |c      |d      |
""")


def test_lines_that_one_member_fills_are_one_row() -> None:
    layout = struct("ring", scalar("head"), scalar("buffer", 8, dimensions=(63,)), scalar("tail"))
    whole = replace(layout.members[1], size=504, offset=8)
    long = replace(layout, members=(layout.members[0], whole, replace(layout.members[2], offset=512)), size=520)
    assert plain(map_rows(line_map(long, table(long)), 80)) == drawn("""
struct ring: 520 bytes on 9 cache lines
line 0       8       16      24      32      40      48      56
   0 |head   |buffer                                                 |
 ... lines 1 to 7: buffer
   8 |tail   |
""")


def test_of_a_long_record_only_lines_that_somebody_touched_are_drawn() -> None:
    layout = struct("task", *(scalar(f"m{number}") for number in range(160)))
    layouts = table(layout)
    seen = line_map(layout, layouts, heat_of(layout, layouts, [meeting(layout, "m81", "m80")]))
    shown = folded(seen)
    assert [(one.first, one.last) if isinstance(one, Fold) else one.number for one in shown] == [(0, 9), 10, (11, 19)]
    assert [one.number for one in folded(line_map(layout, layouts)) if not isinstance(one, Fold)] == list(range(20))


def changed() -> tuple[LineMap, LineMap]:
    """A struct of ten words before and after its last one goes to the front."""
    before = struct("s", *(scalar(name) for name in "abcdefghij"))
    after = struct("s", *(scalar(name) for name in "jabcdefghi"))
    heat = heat_of(before, table(before), [meeting(before, "j", "i")])
    return compared_maps((before, table(before)), (after, table(after)), heat)


def test_an_object_that_is_aligned_now_starts_with_a_line() -> None:
    before = struct("pool", scalar("used"), scalar("spare", 64))
    after = struct("pool", scalar("used", align=64), scalar("spare", 64))
    heat = heat_of(before, table(before), [meeting(before, "used", "spare", phase=48)])
    maps = compared_maps((before, table(before)), (after, table(after)), heat)
    assert [one.phase for one in maps] == [48, 0]
    assert not any(cell.straddles for line in maps[1].lines for cell in line.cells if cell.path == "used")


def test_of_two_maps_only_what_moved_is_marked_and_heat_goes_along() -> None:
    before, after = changed()
    assert [cell.path for line in before.lines for cell in line.cells if cell.moved] == ["j"]
    assert [cell.path for line in after.lines for cell in line.cells if cell.moved] == ["j"]
    assert [(cell.path, cell.heat) for line in after.lines for cell in line.cells if cell.heat] == [("i", 1.0)]
    assert [line.heat for line in after.lines] == [0.0, 1.0]


def test_two_maps_stand_side_by_side_where_there_is_room() -> None:
    assert plain(compared_rows(*changed(), 150)) == drawn("""
struct s: 80 bytes on 2 cache lines; before                                 struct s: 80 bytes on 2 cache lines; after, with the samples of before
line 0       8       16      24      32      40      48      56             line 0       8       16      24      32      40      48      56
   0 |a      |b      |c      |d      |e      |f      |g      |h      |         0 |>j     |a      |b      |c      |d      |e      |f      |g      |
                                                                                 |.. w ..|       |       |       |       |       |       |       |
   1 |i      |>j     |                                                         1 |h      |i      |
100% |#100%r#|.. w ..|                                                      100% |       |#100%r#|
heat (share of the contended samples): . touched, nobody waited, # 35% and more; r read, w written
> moved
""")  # noqa: E501


def test_two_maps_stand_one_below_the_other_where_there_is_less() -> None:
    rows = plain(compared_rows(*changed(), 80)).splitlines()
    assert [row for row in rows if row.startswith("struct")] == [
        "struct s: 80 bytes on 2 cache lines; before",
        "struct s: 80 bytes on 2 cache lines; after, with the samples of before",
    ]
    assert max(map(len, rows)) <= 80


def test_names_that_steer_the_terminal_are_wide_or_very_long() -> None:
    layout = struct("s", scalar("a\x1b[2J\u202eb", 64))
    text = painted(map_rows(line_map(layout, table(layout)), 140), True)
    assert r"|a\u001b[2J\u202eb " in text
    assert "\x1b" not in text
    layout = struct("s", scalar("\u5bbd\u5b57"), scalar("b"))
    row = plain(map_rows(line_map(layout, table(layout)), 80)).splitlines()[2]
    assert (row, columns(row)) == ("   0 |\u5bbd\u5b57   |b      |", 22)
    assert short("x" * 1000) == "x" * 199 + "…"


def test_colours_add_nothing_but_colour() -> None:
    rows = map_rows(contended(queue()), 80)
    coloured = painted(rows, True)
    assert "\x1b[38;5;231;48;5;124m##50%r#\x1b[0m" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == painted(rows, False) == plain(rows)


@pytest.mark.parametrize(
    ("environment", "terminal", "wanted"),
    [
        ({"TERM": "xterm"}, True, True),
        ({"TERM": "xterm"}, False, False),
        ({"TERM": "dumb"}, True, False),
        ({}, True, False),
        ({"TERM": "xterm", "NO_COLOR": "1"}, True, False),
        ({"TERM": "xterm", "NO_COLOR": ""}, True, True),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"FORCE_COLOR": "0"}, False, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, True, False),
    ],
)
def test_colour_is_for_terminals_unless_somebody_says_otherwise(
    environment: dict[str, str], terminal: bool, wanted: bool
) -> None:
    assert wants_colour(environment, terminal) is wanted
