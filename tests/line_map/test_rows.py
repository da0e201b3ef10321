# SPDX-License-Identifier: GPL-2.0-or-later
"""The map as text and as a drawing: names told, heat not by colour alone, every name only text."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from c_layouts import nested, structs
from hand_made import finding, hot, meeting, scalar, struct, table
from hypothesis import given
from hypothesis import strategies as st
from proposals_by_hand import moved
from report_html.browser import contrast

from linesmith.analyzer.layouts.collection import LayoutTable
from linesmith.analyzer.layouts.placement import lay_out
from linesmith.analyzer.line_map.fields import heat_of
from linesmith.analyzer.line_map.record_map import Fold, compared_maps, folded, line_map
from linesmith.analyzer.model import Candidate, JudgedPair, Layout, LineMap, MemberFunction
from linesmith.analyzer.report.map_svg import line_maps_svg
from linesmith.analyzer.report.map_text import PLAIN, group_rows
from linesmith.analyzer.sharing.changed_lines import RecordSide, changed_lines


def shown(width: int, *maps: LineMap, shades: str = PLAIN) -> str:
    """A map, or two of a change, as text."""
    rows = ("".join(piece.text for piece in row).rstrip() for row in group_rows(maps, width, shades))
    return "".join(f"{row}\n" for row in rows)


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


@given(nested(), st.integers(40, 200))
def test_no_row_is_wider_than_asked(layouts: LayoutTable, width: int) -> None:
    layout = list(layouts)[-1]
    rows = shown(width, line_map(layout, layouts)).splitlines()
    assert max(map(len, rows), default=0) <= width


def test_a_map_on_40_columns_names_by_number_what_it_cannot_write() -> None:
    assert shown(40, contended(queue())) == drawn("""
struct queue: 64 bytes on 1 cache line
line 0   8   16  24  32  40  48  56
   0 |1  |2  |3|4|5|-|6  |7  |8  |9  |
100% |   |50%| | | | |50%|.w.|   |   |
line 0: 1 items, 2 capacity, 3 version,
  4 open + hole, 5 lock, 6 head, 7 tail,
  8 name + hole, 9 users
heat (share of the contended accesses):
  . touched, nobody waited, # 35% and
  more; r read, w written
""")


def test_a_number_and_its_name_stay_on_one_line_and_no_map_is_narrower_than_the_narrowest() -> None:
    for width in range(30, 60):
        told = shown(width, contended(queue()))
        assert all(f"{number} {name}" in told for number, name in enumerate(("items", "capacity", "version"), 1))
    assert "   0 |1  |2  |" in shown(10, contended(queue()))


def test_lines_that_one_member_fills_are_one_row() -> None:
    layout = struct("ring", scalar("head"), scalar("buffer", 8, dimensions=(63,)), scalar("tail"))
    whole = replace(layout.members[1], size=504, offset=8)
    long = replace(layout, members=(layout.members[0], whole, replace(layout.members[2], offset=512)), size=520)
    assert shown(80, line_map(long, table(long))) == drawn("""
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


def test_two_maps_stand_below_each_other_and_only_what_moved_is_marked() -> None:
    assert shown(80, *changed()) == drawn("""
struct s: 80 bytes on 2 cache lines; before
line 0       8       16      24      32      40      48      56
   0 |a      |b      |c      |d      |e      |f      |g      |h      |
   1 |i      |>j     |
100% |#100%r#|.. w ..|

struct s: 80 bytes on 2 cache lines; after, with the samples of before
line 0       8       16      24      32      40      48      56
   0 |>j     |a      |b      |c      |d      |e      |f      |g      |
     |.. w ..|       |       |       |       |       |       |       |
   1 |h      |i      |
100% |       |#100%r#|

heat (share of the contended accesses): . touched, nobody waited, # 35% and
  more; r read, w written
> moved
""")


def test_names_that_steer_the_terminal_are_wide_or_very_long() -> None:
    layout = struct("s", scalar("a\x1b[2J\u202eb", 64))
    text = shown(140, line_map(layout, table(layout)))
    assert r"|a\u001b[2J\u202eb " in text
    assert "\x1b" not in text
    layout = struct("s", scalar("\u5bbd\u5b57"), scalar("b"))
    row = shown(80, line_map(layout, table(layout))).splitlines()[2]
    wide = sum(unicodedata.east_asian_width(character) == "W" for character in row)
    assert (row, len(row) + wide) == ("   0 |\u5bbd\u5b57   |b      |", 22)
    layout = struct("s", scalar("x" * 1000, 4), scalar("b"))
    assert "x" * 199 + "\u2026" in shown(400, line_map(layout, table(layout)))


# The drawn map: readable names that never overlap, colours that can be told apart

SVG = "{http://www.w3.org/2000/svg}"
WIDE_CHARACTER = 0.61


def svg_of(layout: Layout) -> str:
    return line_maps_svg([line_map(layout, LayoutTable([layout]))])


def extents(svg: str) -> dict[str, list[tuple[float, float]]]:
    """Extents of the texts of cells by the height they stand at, as wide as the font could be."""
    found: dict[str, list[tuple[float, float]]] = {}
    for text in ET.fromstring(svg).iter(f"{SVG}text"):  # noqa: S314 - made here
        classes = (text.get("class") or "").split()
        if "lm-middle" in classes and text.text:
            half = len(text.text) * (10 if "lm-small" in classes else 12) * WIDE_CHARACTER / 2
            middle = float(text.get("x", "0"))
            found.setdefault(text.get("y", ""), []).append((middle - half, middle + half))
    return found


@given(structs)
def test_names_never_overlap(layout: Layout) -> None:
    for row in extents(svg_of(layout)).values():
        for (_, end), (start, _) in pairwise(sorted(row)):
            assert end <= start


def test_what_has_no_room_for_its_name_has_a_number_and_a_row_below() -> None:
    svg = svg_of(struct("s", scalar("a_rather_long_name", 4), scalar("b", 4)))
    texts = {one.text for one in ET.fromstring(svg).iter(f"{SVG}text")}  # noqa: S314
    assert {"1", "b", "line 0: 1 a_rather_long_name"} <= texts


def test_a_name_is_only_ever_text() -> None:
    evil = '"><script>alert(1)</script><!--\x1b[31m\u202eevil'
    svg = svg_of(struct(evil, scalar(evil, 64), scalar("b")))
    root = ET.fromstring(svg)  # noqa: S314
    assert not list(root.iter(f"{SVG}script"))
    assert not {name for one in root.iter() for name in one.attrib} & {"style", "href", "onclick"}
    assert ("\u202e" in svg, "\x1b" in svg) == (False, False)
    assert r"\u202e" in "".join(root.itertext())


def test_a_file_has_a_rule_for_each_class_and_its_colours_in_plain_words() -> None:
    """Viewers other than browsers know no custom properties."""
    layout = struct("s", scalar("a", 4), scalar("lock", 8), scalar("c"))
    svg = line_maps_svg(
        [line_map(layout, table(layout), heat_of(layout, table(layout), [meeting(layout, "lock", "c")]))]
    )
    style = next(one.text or "" for one in ET.fromstring(svg).iter(f"{SVG}style"))  # noqa: S314
    classes = {name for text in re.findall(r'class="([^"]*)"', svg) for name in text.split()}
    assert {name for name in classes if f".{name}" not in style} == set()
    assert "prefers-color-scheme:dark" in style
    assert "var(" not in svg


def test_who_cannot_see_the_drawing_gets_the_hottest_lines() -> None:
    layout = struct("s", scalar("writes"), scalar("reads"))
    heat = heat_of(layout, table(layout), [meeting(layout, "writes", "reads")])
    root = ET.fromstring(line_maps_svg([line_map(layout, table(layout), heat)]))  # noqa: S314
    assert (root.get("role"), [one.tag for one in root[:2]]) == ("img", [f"{SVG}title", f"{SVG}desc"])
    assert root[1].text == (
        "struct s: 16 bytes on 1 cache line. Line 0 of the object has 100% of the record's contended accesses: reads"
        " (100%), writes (0%)."
    )


@pytest.mark.parametrize(("left", "told"), [(1, "and 1 more function"), (2, "and 2 more functions")])
def test_functions_that_have_no_room_are_counted(left: int, told: str) -> None:
    layout = struct("s", scalar("word"))
    readers = tuple(MemberFunction(f"reader{number}", 1, 0) for number in range(3 + left))
    seen = finding(layout, [replace(hot("word", 0, 8, 1), functions=readers)])
    svg = line_maps_svg([line_map(layout, table(layout), heat_of(layout, table(layout), [seen]))])
    assert f"; {told}</title>" in svg


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_every_text_can_be_read_on_its_ground(scheme: int) -> None:
    style = svg_of(struct("s", scalar("a"))).partition("<style>")[2].split("@media")[scheme]
    colours: dict[str, str] = dict(re.findall(r"\.(lm[-\w]*(?: rect| text| \.lm-faint)?)\{fill:(#\w{6})", style))
    inks = {number: colours.get(f"lm-heat-{number} text", colours["lm text"]) for number in range(6)}
    pairs = [("lm text", "lm-paper"), ("lm .lm-faint", "lm-paper")]
    assert [pair for pair in pairs if contrast(colours[pair[0]], colours[pair[1]]) < 4.5] == []
    assert [heat for heat, ink in inks.items() if contrast(ink, colours[f"lm-heat-{heat} rect"]) < 4.5] == []


# The cache lines that a change touches: ``guard`` goes from 16 to 72, away from ``root`` and ``leftmost``


ROOT, LEFTMOST, GUARD = scalar("root"), scalar("leftmost"), scalar("guard")
REST = scalar("rest", 56, dimensions=(7,))
POOL = struct("pool", ROOT, LEFTMOST, GUARD, REST)
APART = lay_out(POOL, (ROOT, LEFTMOST, REST, GUARD))
GOES = replace(
    moved(), before=POOL, after=APART, moves=(replace(moved().moves[0], member="guard", partner="", members=()),)
)
HOT = hot("root", 0, 8, 90), hot("leftmost", 8, 8, 60), hot("guard", 16, 8, 0, 50)


def rows(
    change: Candidate, inside: int = 0, steps: tuple[int, int] = (64, 64), phase: int = 0, width: int = 100
) -> str:
    """All of it as text."""
    where = finding(POOL, [*HOT])
    where = replace(where, objects=(replace(where.objects[0], start=phase),))
    before, after = (
        RecordSide(layout, inside, step) for layout, step in zip((change.before, change.after), steps, strict=True)
    )
    begins, found = changed_lines(change, (before, after), where, HOT, width)
    return "\n".join((begins, *(f"{when}: {what}" for when, what in found)))


def test_lines_and_offsets_count_from_the_object_around_the_record() -> None:
    assert (
        rows(GOES, inside=128)
        == """
line 2 before: 128 root R 60%, 136 leftmost R 40%, 144 guard* W and 1 unseen
after: 128 root R, 136 leftmost R and 1 unseen
line 3 before: 1 unseen
after: 200 guard* W and 1 unseen"""
    )


def test_an_object_that_the_change_aligns_begins_elsewhere_afterwards() -> None:
    begins, *_ = rows(GOES, steps=(8, 64), phase=16).splitlines()
    where = "of an object that begins at byte 16 of a line, as on the hottest line"
    assert begins == f"{where}, and at byte 0 after the change"
    assert rows(GOES, steps=(8, 8), phase=16).splitlines()[0] == where


def test_a_member_on_two_lines_is_counted_on_the_first() -> None:
    assert rows(GOES, steps=(4, 4), phase=60).splitlines()[1:] == [
        "line 1 before: rest of root, 8 leftmost R 40%, 16 guard* W and 1 unseen",
        "after: rest of root, 8 leftmost R and 1 unseen",
        "line 2 before: 1 unseen",
        "after: 72 guard* W and 1 unseen",
    ]


def test_where_there_is_little_room_the_hot_members_stay() -> None:
    assert rows(GOES, width=20).splitlines()[1] == "line 0 before: 0 root R 60%, 8 leftmost R 40% and 1 more, 1 unseen"


def test_a_store_that_misses_is_no_read() -> None:
    waits = JudgedPair("guard", "guard", True, 9.0, 3.0)
    change = replace(GOES, judgement=replace(GOES.judgement, pairs=(waits, replace(waits, victim="rest"))))
    assert "16 guard* W, 24 rest R" in rows(change)
