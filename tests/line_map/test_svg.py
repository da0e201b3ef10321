# SPDX-License-Identifier: GPL-2.0-or-later
"""The drawn map: readable names that never overlap, nothing that a page must forbid, every name only text."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from c_layouts import structs
from hand_made import meeting, scalar, struct, table
from hypothesis import given

from linesmith.analyzer.layouts import LayoutTable
from linesmith.analyzer.line_map import heat_of, line_map
from linesmith.analyzer.model import Cell, CellKind, Layout, Toucher
from linesmith.analyzer.report.line_map_svg import LINE_MAP_STYLE, line_map_figure, line_map_svg
from linesmith.analyzer.report.map_palette import DARK, LIGHT
from linesmith.analyzer.report.map_words import MOST_TOUCHERS, description

SVG = "{http://www.w3.org/2000/svg}"
WIDE_CHARACTER = 0.61


def rows(svg: str) -> dict[str, list[tuple[float, float]]]:
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
    drawn = line_map_svg(line_map(layout, LayoutTable([layout])))
    for extents in rows(drawn).values():
        for (_, end), (start, _) in pairwise(sorted(extents)):
            assert end <= start


def test_what_has_no_room_for_its_name_has_a_number_and_a_row_below() -> None:
    layout = struct("s", scalar("a_rather_long_name", 4), scalar("b", 4))
    texts = [one.text for one in ET.fromstring(line_map_svg(line_map(layout, table(layout)))).iter(f"{SVG}text")]  # noqa: S314
    assert "1" in texts
    assert "b" in texts
    assert "line 0: 1 a_rather_long_name" in texts


def test_a_name_is_only_ever_text() -> None:
    evil = '"><script>alert(1)</script><!--\x1b[31m\u202eevil'
    layout = struct(evil, scalar(evil, 64), scalar("b"))
    for drawn in (line_map_svg(line_map(layout, table(layout))), line_map_figure(line_map(layout, table(layout)))):
        root = ET.fromstring(drawn)  # noqa: S314
        assert not list(root.iter(f"{SVG}script"))
        assert "\u202e" not in drawn
        assert "\x1b" not in drawn
        assert r"\u202e" in "".join(root.itertext())


def test_a_figure_brings_nothing_that_a_strict_page_forbids_and_a_file_its_own_colours() -> None:
    layout = struct("s", scalar("a"), scalar("b"))
    drawn = line_map(layout, table(layout))
    root = ET.fromstring(line_map_figure(drawn))  # noqa: S314
    attributes = {name for one in root.iter() for name in one.attrib}
    assert not attributes & {"style", "id", "href", "onclick"}
    assert not list(root.iter(f"{SVG}style"))
    assert (root.get("role"), root[0].tag, root[1].tag) == ("img", f"{SVG}title", f"{SVG}desc")
    assert "prefers-color-scheme:dark" in line_map_svg(drawn)
    assert "var(" not in line_map_svg(drawn)
    assert "var(--lm-heat-5)" in LINE_MAP_STYLE


def test_every_class_that_is_drawn_has_a_rule() -> None:
    layout = struct("s", scalar("a", 4), scalar("lock", 8), scalar("c"))
    drawn = line_map_figure(
        line_map(layout, table(layout), heat_of(layout, table(layout), [meeting(layout, "lock", "c")]))
    )
    classes = {name for text in re.findall(r'class="([^"]*)"', drawn) for name in text.split()}
    assert {name for name in classes if f".{name}" not in LINE_MAP_STYLE} == set()


def test_who_cannot_see_the_drawing_gets_the_hottest_lines() -> None:
    layout = struct("s", scalar("writes"), scalar("reads"))
    heat = heat_of(layout, table(layout), [meeting(layout, "writes", "reads")])
    told = ET.fromstring(line_map_figure(line_map(layout, table(layout), heat)))[1].text  # noqa: S314
    assert told == (
        "struct s: 16 bytes on 1 cache line. Line 0 of the object has 100% of the record's contended samples: reads"
        " (100%), writes (0%)."
    )


@pytest.mark.parametrize(("left", "told"), [(1, "and 1 more function"), (2, "and 2 more functions")])
def test_functions_that_have_no_room_are_counted(left: int, told: str) -> None:
    touchers = tuple(Toucher(f"reader{number}", 1, 0) for number in range(MOST_TOUCHERS + left))
    cell = Cell("word", "long", CellKind.MEMBER, 0, 8, 0, touchers=touchers)
    assert description(cell).split("; ")[-1] == told


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2, definition)."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: str, second: str) -> float:
    bright, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_every_text_can_be_read_on_its_ground(palette: dict[str, str]) -> None:
    grounds = [("ink", "paper"), ("faint", "paper"), *(("ink", f"heat-{number}") for number in range(4))]
    grounds += [("ink-4", "heat-4"), ("ink-5", "heat-5")]
    assert [pair for pair in grounds if contrast(palette[pair[0]], palette[pair[1]]) < 4.5] == []
