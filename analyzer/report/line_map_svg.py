# SPDX-License-Identifier: GPL-2.0-or-later
"""Line maps as SVG: a file of its own, or a figure for a page whose style sheet holds ``LINE_MAP_STYLE``.

Names of members never overlap: what does not fit into its cell has a number there and a row below.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from textwrap import wrap

from linesmith.analyzer.line_map.folding import Fold, folded
from linesmith.analyzer.model import Cell, CellKind, LineMap, MapLine
from linesmith.analyzer.report.map_palette import LINE_MAP_STYLE, OWN_STYLE
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
from linesmith.analyzer.report.short_names import columns, short

__all__ = ["LINE_MAP_STYLE", "line_map_figure", "line_map_svg"]

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


@dataclass(frozen=True, slots=True)
class _Drawn:
    """Elements with the height they take."""

    elements: tuple[str, ...]
    height: int


def line_map_svg(drawn: LineMap, style: str = OWN_STYLE) -> str:
    """The map as an SVG file, light or dark as its reader likes; ``style`` is CSS of the classes ``lm-…``."""
    return line_maps_svg((drawn,), style)


def line_maps_svg(maps: Sequence[LineMap], style: str = OWN_STYLE) -> str:
    """Several maps in one SVG file, one below the other."""
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{_svg(maps, f"<style>{style}</style>")}\n'


def line_map_figure(drawn: LineMap) -> str:
    """The map as an ``<svg>`` element without ids, styles and scripts, for a page with ``LINE_MAP_STYLE``."""
    return _svg((drawn,), "")


def picture_height(maps: Sequence[LineMap]) -> int:
    """Pixels from the top of the first map to below the last."""
    return MARGIN + sum(_map(one).height + MARGIN for one in maps)


def _svg(maps: Sequence[LineMap], style: str) -> str:
    width = max(_width(one) for one in maps)
    elements: list[str] = []
    top = MARGIN
    for one in maps:
        part = _map(one)
        elements += [f'<g transform="translate({MARGIN} {top})">', *part.elements, "</g>"]
        top += part.height + MARGIN
    size = f'width="{width}" height="{top}" viewBox="0 0 {width} {top}"'
    title = f"<title>{_text('; '.join(heading(one) for one in maps))}</title>"
    told = f"<desc>{_text(' '.join(summary(one) for one in maps))}</desc>"
    paper = f'<rect class="lm-paper" width="{width}" height="{top}"/>'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" class="lm" role="img" {size}>'
    return "\n".join((head, title, told, *([style] if style else []), paper, *elements, "</svg>"))


def _width(drawn: LineMap) -> int:
    return 2 * MARGIN + GUTTER + BYTE * drawn.line_bytes


def _map(drawn: LineMap) -> _Drawn:
    width = GUTTER + BYTE * drawn.line_bytes
    elements = [_words(0, 12, heading(drawn), "lm-title")]
    top = 12 + TEXT
    for text in _wrapped("; ".join(remarks(drawn)), width):
        elements.append(_words(0, top, text, "lm-faint"))
        top += TEXT
    legend: list[str] = []
    for row in folded(drawn):
        if isinstance(row, Fold):
            elements.append(_words(GUTTER, top + 12, _fold(row), "lm-faint"))
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
    return _Drawn(tuple(elements), top)


def _fold(row: Fold) -> str:
    return f"lines {row.first} to {row.last}: {short(row.what)}"


def _line(line: MapLine, top: int, legend: list[str]) -> Iterator[str]:
    """A row; what has only a number in it is added to the legend."""
    yield _words(GUTTER - 10, top + 16, f"line {line.number}", "lm-end")
    if line.heat:
        yield _words(GUTTER - 10, top + 32, percent(line.heat), "lm-end lm-small")
    numbered: list[str] = []
    for cell in line.cells:
        label = _label(cell)
        if not label and cell.kind is CellKind.MEMBER:
            numbered.append(name(cell))
            label = str(len(numbered))
        yield from _cell(cell, label, top)
    if numbered:
        entries = ", ".join(f"{number} {text}" for number, text in enumerate(numbered, 1))
        legend.append(f"line {line.number}: {entries}")


def _label(cell: Cell) -> str:
    """The name, or the first of several, where it fits; otherwise nothing."""
    return next((text for text in (name(cell), short_name(cell)) if _fits(text, cell, BODY)), "")


def _fits(text: str, cell: Cell, size: int) -> bool:
    return columns(text) * size * ADVANCE + 6 <= cell.bytes * BYTE


def _cell(cell: Cell, label: str, top: int) -> Iterator[str]:
    left, width = GUTTER + cell.start * BYTE, cell.bytes * BYTE
    box = f'x="{left + 1}" y="{top + 1}" width="{width - 2}" height="{ROW - 2}"'
    middle = left + width // 2
    if cell.kind is not CellKind.MEMBER:
        yield f'<g><title>{_text(description(cell))}</title><rect class="lm-gap" {box}/>'
        yield f"{_words(middle, top + 24, label, 'lm-middle lm-faint lm-small')}</g>"
        return
    classes = ["lm-cell", f"lm-heat-{level(cell)}", *(["lm-lock"] * cell.lock), *(["lm-moved"] * cell.moved)]
    yield f'<g class="{" ".join(classes)}"><title>{_text(description(cell))}</title><rect {box}/>'
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
    told = [share, touch(cell), f"{cpus} CPUs" if cpus > 1 else "", *(word.partition(" ")[0] for word in marks(cell))]
    parts = [part for part in told if part]
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
    return f'<text class="{classes}" x="{left}" y="{base}">{_text(text)}</text>'


def _text(text: str) -> str:
    return escape(text)
