# SPDX-License-Identifier: GPL-2.0-or-later
"""Line maps for a merge request or a mail in Markdown: the map in a code block, then who touches what."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from linesmith.analyzer.model import Cell, LineMap
from linesmith.analyzer.report.map_rows import group_rows, plain
from linesmith.analyzer.report.map_table import MOST_CELLS, touched_cells
from linesmith.analyzer.report.map_words import counts, extent, marks, name, percent, where
from linesmith.analyzer.report.markdown_text import code

WIDTH = 80
MOST_TOUCHERS = 3


def render_markdown(groups: Sequence[Sequence[LineMap]]) -> str:
    """One section for each map, or for two of a change; the table is that of the first."""
    return "\n".join("\n".join(_section(one)) + "\n" for one in groups)


def _section(group: Sequence[LineMap]) -> Iterator[str]:
    drawn = group[0]
    yield f"### {code(drawn.title)}: {', then '.join(dict.fromkeys(map(extent, group)))}"
    yield ""
    picture = plain(group_rows(group, WIDTH))
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", picture)), default=0))
    yield f"{fence}text\n{picture}{fence}"
    cells = touched_cells(drawn)
    if not cells:
        return
    yield ""
    yield "| member | bytes | heat | samples | who |"
    yield "|---|---|--:|---|---|"
    yield from map(_row, cells[:MOST_CELLS])
    if len(cells) > MOST_CELLS:
        yield f"\nand {len(cells) - MOST_CELLS} more members"


def _row(cell: Cell) -> str:
    heat = "" if cell.heat is None else percent(cell.heat)
    who = [f"{code(one.function)}: {counts(one)}{where(one)}" for one in cell.touchers[:MOST_TOUCHERS]]
    more = len(cell.touchers) - MOST_TOUCHERS
    listed = "<br>".join([*who, *([f"and {more} more"] if more > 0 else [])])
    what = ", ".join((code(name(cell)), *marks(cell)))
    return f"| {what} | {cell.offset}-{cell.offset + cell.bytes - 1} | {heat} | {counts(cell)} | {listed} |"
