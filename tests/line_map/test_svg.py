# SPDX-License-Identifier: GPL-2.0-or-later
"""The drawn map: readable names that never overlap, every name only text, colours that can be told apart."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from c_layouts import structs
from hand_made import finding, hot, meeting, scalar, struct, table
from hypothesis import given

from linesmith.analyzer.layouts.collection import LayoutTable
from linesmith.analyzer.line_map.fields import heat_of
from linesmith.analyzer.line_map.record_map import line_map
from linesmith.analyzer.model import Layout, MemberFunction
from linesmith.analyzer.report.map_svg import line_maps_svg

SVG = "{http://www.w3.org/2000/svg}"
WIDE_CHARACTER = 0.61


def drawn(layout: Layout) -> str:
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
    for row in extents(drawn(layout)).values():
        for (_, end), (start, _) in pairwise(sorted(row)):
            assert end <= start


def test_what_has_no_room_for_its_name_has_a_number_and_a_row_below() -> None:
    svg = drawn(struct("s", scalar("a_rather_long_name", 4), scalar("b", 4)))
    texts = {one.text for one in ET.fromstring(svg).iter(f"{SVG}text")}  # noqa: S314
    assert {"1", "b", "line 0: 1 a_rather_long_name"} <= texts


def test_a_name_is_only_ever_text() -> None:
    evil = '"><script>alert(1)</script><!--\x1b[31m\u202eevil'
    svg = drawn(struct(evil, scalar(evil, 64), scalar("b")))
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
        "struct s: 16 bytes on 1 cache line. Line 0 of the object has 100% of the record's contended samples: reads"
        " (100%), writes (0%)."
    )


@pytest.mark.parametrize(("left", "told"), [(1, "and 1 more function"), (2, "and 2 more functions")])
def test_functions_that_have_no_room_are_counted(left: int, told: str) -> None:
    layout = struct("s", scalar("word"))
    readers = tuple(MemberFunction(f"reader{number}", 1, 0) for number in range(3 + left))
    seen = finding(layout, [replace(hot("word", 0, 8, 1), functions=readers)])
    svg = line_maps_svg([line_map(layout, table(layout), heat_of(layout, table(layout), [seen]))])
    assert f"; {told}</title>" in svg


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2, definition)."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: str, second: str) -> float:
    bright, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_every_text_can_be_read_on_its_ground(scheme: int) -> None:
    style = drawn(struct("s", scalar("a"))).partition("<style>")[2].split("@media")[scheme]
    colours: dict[str, str] = dict(re.findall(r"\.(lm[-\w]*(?: rect| text| \.lm-faint)?)\{fill:(#\w{6})", style))
    inks = {number: colours.get(f"lm-heat-{number} text", colours["lm text"]) for number in range(6)}
    pairs = [("lm text", "lm-paper"), ("lm .lm-faint", "lm-paper")]
    assert [pair for pair in pairs if contrast(colours[pair[0]], colours[pair[1]]) < 4.5] == []
    assert [heat for heat, ink in inks.items() if contrast(ink, colours[f"lm-heat-{heat} rect"]) < 4.5] == []
