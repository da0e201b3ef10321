# SPDX-License-Identifier: GPL-2.0-or-later
"""Line maps as SVG: a file, or a figure for a page whose style sheet holds ``LINE_MAP_STYLE``.

Names of members never overlap: what does not fit into its cell has a number there and a row below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from textwrap import wrap

from linesmith.analyzer.line_map.record_map import Fold, folded
from linesmith.analyzer.model import Cell, CellKind, LineMap, MapLine
from linesmith.analyzer.report.map_words import (
    description,
    heading,
    level,
    levels,
    marks,
    name,
    percent,
    remarks,
    short_name,
    summary,
    touch,
)
from linesmith.analyzer.report.prose import columns, short

# Colours of drawn line maps, light and dark, as the CSS of their classes; every text on its ground has 4.5 to 1.

FONT = 'ui-monospace,"DejaVu Sans Mono","Liberation Mono",Menlo,Consolas,monospace'

# ``ink`` writes on paper and on cells up to heat 3, ``ink-4`` and ``ink-5`` on the hotter ones.
LIGHT: Mapping[str, str] = {
    "paper": "#ffffff",
    "ink": "#1a1a1a",
    "faint": "#595959",
    "edge": "#6b6b6b",
    "moved": "#0b57d0",
    "gap": "#8a8a8a",
    "heat-0": "#f4f4f4",
    "heat-1": "#fff3d6",
    "heat-2": "#fdd49e",
    "heat-3": "#fca35a",
    "heat-4": "#ef6a48",
    "heat-5": "#a80f0f",
    "ink-4": "#000000",
    "ink-5": "#ffffff",
}
DARK: Mapping[str, str] = {
    "paper": "#16181c",
    "ink": "#ececec",
    "faint": "#b0b0b0",
    "edge": "#8f8f8f",
    "moved": "#8ab4f8",
    "gap": "#6f6f6f",
    "heat-0": "#26292f",
    "heat-1": "#3a3323",
    "heat-2": "#59411d",
    "heat-3": "#7a4712",
    "heat-4": "#f08a4b",
    "heat-5": "#ffc9b0",
    "ink-4": "#000000",
    "ink-5": "#000000",
}


def rules(colour: Callable[[str], str]) -> str:
    """The CSS of a map's classes; ``colour`` gives the value that stands for a name."""
    heat = "".join(f".lm-heat-{number} rect{{fill:{colour(f'heat-{number}')}}}" for number in range(6))
    inks = "".join(f".lm-heat-{number} text{{fill:{colour(f'ink-{number}')}}}" for number in (4, 5))
    return (
        f".lm{{font-family:{FONT};font-size:12px}}"
        f".lm text{{fill:{colour('ink')}}}"
        f".lm .lm-faint{{fill:{colour('faint')}}}"
        ".lm .lm-title{font-size:15px;font-weight:bold}"
        ".lm .lm-small{font-size:10px}"
        ".lm-middle{text-anchor:middle}.lm-end{text-anchor:end}"
        f".lm-paper{{fill:{colour('paper')}}}"
        f".lm-cell rect{{stroke:{colour('edge')};stroke-width:1}}{heat}{inks}"
        f".lm-gap{{fill:none;stroke:{colour('gap')};stroke-width:1;stroke-dasharray:2 3}}"
        f".lm-moved rect{{stroke:{colour('moved')};stroke-width:3}}"
        f".lm-lock rect{{stroke-width:2}}"
        f".lm-split{{stroke:{colour('ink')};stroke-width:3;stroke-dasharray:3 3}}"
    )


_LIGHT, _DARK = (";".join(f"--lm-{name}:{value}" for name, value in one.items()) for one in (LIGHT, DARK))
# For a page that holds maps: it may set the custom properties itself.
LINE_MAP_STYLE = (
    f".lm{{{_LIGHT}}}@media (prefers-color-scheme:dark){{.lm{{{_DARK}}}}}@media print{{.lm{{{_LIGHT}}}}}"
    f"{rules(lambda name: f'var(--lm-{name})')}"
)
# For a file of its own: viewers other than browsers know no custom properties.
OWN_STYLE = f"{rules(LIGHT.__getitem__)}@media (prefers-color-scheme:dark){{{rules(DARK.__getitem__)}}}"

# All in pixels: of a byte, of the margins, of a line's row with the gap below it, of a row of text.
BYTE = 14
MARGIN = 16
GUTTER = 108
ROW = 40
GAP = 6
TEXT = 17
# A character of the fonts named in the palette is at most so wide, in parts of its height.
ADVANCE = 0.61
BODY, SMALL = 12, 10


def line_maps_svg(maps: Sequence[LineMap]) -> str:
    """Maps in one SVG file, one below the other, light or dark as the reader likes."""
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{_svg(maps, f"<style>{OWN_STYLE}</style>")}\n'


def line_map_figure(drawn: LineMap) -> str:
    """The map as an ``<svg>`` element without ids, styles and scripts, for a page with ``LINE_MAP_STYLE``."""
    return _svg((drawn,), "")


def _svg(maps: Sequence[LineMap], style: str) -> str:
    width = 2 * MARGIN + GUTTER + BYTE * max(one.line_bytes for one in maps)
    elements: list[str] = []
    top = MARGIN
    for one in maps:
        drawn, height = _map(one)
        elements += [f'<g transform="translate({MARGIN} {top})">', *drawn, "</g>"]
        top += height + MARGIN
    size = f'width="{width}" height="{top}" viewBox="0 0 {width} {top}"'
    title = f"<title>{escape('; '.join(heading(one) for one in maps))}</title>"
    summaries = f"<desc>{escape(' '.join(summary(one) for one in maps))}</desc>"
    paper = f'<rect class="lm-paper" width="{width}" height="{top}"/>'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" class="lm" role="img" {size}>'
    return "\n".join((head, title, summaries, *([style] if style else []), paper, *elements, "</svg>"))


def _map(drawn: LineMap) -> tuple[list[str], int]:
    """Elements with the height they take."""
    width = GUTTER + BYTE * drawn.line_bytes
    elements = [_words(0, 12, heading(drawn), "lm-title")]
    top = 12 + TEXT
    for text in _wrapped("; ".join(remarks(drawn)), width):
        elements.append(_words(0, top, text, "lm-faint"))
        top += TEXT
    legend: list[str] = []
    for row in folded(drawn):
        if isinstance(row, Fold):
            elements.append(_words(GUTTER, top + 12, f"lines {row.first} to {row.last}: {short(row.what)}", "lm-faint"))
            top += TEXT + GAP
        else:
            elements += _line(row, top, legend)
            top += ROW + GAP
    for text in (line for entry in legend for line in _wrapped(entry, width)):
        top += TEXT
        elements.append(_words(0, top, text, "lm-small"))
    if drawn.lines and drawn.lines[0].heat is not None:
        top += TEXT
        elements += _scale(top)
        top += TEXT
    if any(cell.moved for line in drawn.lines for cell in line.cells):
        elements.append(_words(GUTTER, top, "thick edge: moved", "lm-small"))
        top += TEXT
    return elements, top


def _line(line: MapLine, top: int, legend: list[str]) -> Iterator[str]:
    """A row; what has only a number in it is added to the legend."""
    yield _words(GUTTER - 10, top + 16, f"line {line.number}", "lm-end")
    if line.heat:
        yield _words(GUTTER - 10, top + 32, percent(line.heat), "lm-end lm-small")
    numbered: list[str] = []
    for cell in line.cells:
        # The name, or the first of several, where it fits.
        label = next((text for text in (name(cell), short_name(cell)) if _fits(text, cell, BODY)), "")
        if not label and cell.kind is CellKind.MEMBER:
            numbered.append(name(cell))
            label = str(len(numbered))
        yield from _cell(cell, label, top)
    if numbered:
        entries = ", ".join(f"{number} {text}" for number, text in enumerate(numbered, 1))
        legend.append(f"line {line.number}: {entries}")


def _fits(text: str, cell: Cell, size: int) -> bool:
    return columns(text) * size * ADVANCE + 6 <= cell.bytes * BYTE


def _cell(cell: Cell, label: str, top: int) -> Iterator[str]:
    left, width = GUTTER + cell.start * BYTE, cell.bytes * BYTE
    box = f'x="{left + 1}" y="{top + 1}" width="{width - 2}" height="{ROW - 2}"'
    middle = left + width // 2
    if cell.kind is not CellKind.MEMBER:
        yield f'<g><title>{escape(description(cell))}</title><rect class="lm-gap" {box}/>'
        yield f"{_words(middle, top + 24, label, 'lm-middle lm-faint lm-small')}</g>"
        return
    classes = ["lm-cell", f"lm-heat-{level(cell)}", *(["lm-lock"] * cell.lock), *(["lm-moved"] * cell.moved)]
    yield f'<g class="{" ".join(classes)}"><title>{escape(description(cell))}</title><rect {box}/>'
    if cell.straddles:
        edge = left + 2 if cell.start == 0 else left + width - 2
        yield f'<path class="lm-split" d="M{edge} {top + 1}v{ROW - 2}"/>'
    size = "lm-middle lm-small" if label.isdecimal() else "lm-middle"
    below = next((text for text in _figures(cell) if _fits(text, cell, SMALL)), "")
    yield _words(middle, top + (17 if below else 24), label, size)
    if below:
        yield _words(middle, top + 32, below, "lm-middle lm-small")
    yield "</g>"


def _figures(cell: Cell) -> Iterator[str]:
    """What can stand below a name, the most telling first."""
    share = percent(cell.heat) if cell.heat else ""
    cpus = max((one.cpus or 0 for one in cell.touchers), default=0)
    words = [share, touch(cell), f"{cpus} CPUs" if cpus > 1 else "", *(word.partition(" ")[0] for word in marks(cell))]
    parts = [part for part in words if part]
    for count in range(len(parts), 0, -1):
        yield " ".join(parts[:count])


def _scale(top: int) -> Iterator[str]:
    """What the colours mean."""
    left = GUTTER
    yield _words(left - 10, top, "contended", "lm-end lm-small")
    for number, text in enumerate(levels()):
        yield f'<g class="lm-cell lm-heat-{number}"><rect x="{left}" y="{top - 10}" width="12" height="12"/></g>'
        yield _words(left + 17, top, text, "lm-small")
        left += 17 + int(columns(text) * SMALL * ADVANCE) + 14
    yield _words(left, top, "r read, w written", "lm-small")


def _wrapped(text: str, width: int) -> list[str]:
    return wrap(text, int(width / (SMALL * ADVANCE)), subsequent_indent="    ")


def _words(left: int, base: int, text: str, classes: str) -> str:
    return f'<text class="{classes}" x="{left}" y="{base}">{escape(text)}</text>'
