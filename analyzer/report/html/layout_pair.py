# SPDX-License-Identifier: GPL-2.0-or-later
"""A record before and after a change, as a page shows it: maps side by side, the text of both, what memory it costs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from markupsafe import Markup

from linesmith.analyzer.geometry import lines
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.line_map import NO_HEAT, Heat, compared_maps
from linesmith.analyzer.model import Layout, LineMap
from linesmith.analyzer.report.excerpt import excerpt
from linesmith.analyzer.report.html.memory_table import MemoryRow
from linesmith.analyzer.report.line_map_svg import line_map_figure

Side = tuple[Layout, Layouts]


@dataclass(frozen=True, slots=True)
class Shown:
    """One side: ``drawing`` is an inline SVG, ``text`` the layout in pahole's style, its moved members marked."""

    caption: str
    size: str
    drawing: Markup
    text: str


@dataclass(frozen=True, slots=True)
class LayoutPair:
    """A record called ``title``, declared at ``place``; ``anchor`` is unlike that of any other pair of the page."""

    anchor: str
    title: str
    place: str
    before: Shown
    after: Shown
    memory: tuple[MemoryRow, ...] = ()


@dataclass(frozen=True, slots=True)
class Emphasis:
    """Members that a reader should see: ``moved`` are marked, ``shown`` are told in the text, with ``said`` beside."""

    moved: frozenset[str] = frozenset()
    shown: frozenset[str] = frozenset()
    said: Mapping[str, str] = field(default_factory=dict)


def layout_pair(
    anchor: str, before: Side, after: Side, emphasis: Emphasis, heat: Heat = NO_HEAT, memory: tuple[MemoryRow, ...] = ()
) -> LayoutPair:
    """The record of both sides; without ``emphasis`` the maps find out which members have moved."""
    maps = compared_maps(before, after, heat, emphasis.moved)
    moved = emphasis.moved or _moved(maps)
    sides = tuple(
        Shown(caption, _size(layout), figure(drawn), _text(layout, layouts, emphasis, moved))
        for caption, drawn, (layout, layouts) in zip(("Before", "After"), maps, (before, after), strict=True)
    )
    return LayoutPair(anchor, before[0].title, before[0].place, sides[0], sides[1], memory)


def figure(drawn: LineMap) -> Markup:
    """The drawing of a map: an element whose texts are escaped where it is made, with no style or script in it."""
    return Markup(line_map_figure(drawn))  # noqa: S704


def _moved(maps: Collection[LineMap]) -> frozenset[str]:
    """Outermost members of the cells that a comparison marks."""
    cells = (cell for drawn in maps for line in drawn.lines for cell in line.cells if cell.moved)
    return frozenset(cell.path.partition(".")[0] for cell in cells)


def _text(layout: Layout, layouts: Layouts, emphasis: Emphasis, moved: frozenset[str]) -> str:
    return "\n".join(row.rstrip() for row in excerpt(layout, layouts, emphasis.shown | moved, moved, emphasis.said))


def _size(layout: Layout) -> str:
    """Its size and the fewest lines it can lie on; the map below says on how many it lies where it begins."""
    count = lines(layout)
    return f"{layout.size:,} bytes, at least {count:,} line{'s' * (count != 1)}"
