# SPDX-License-Identifier: GPL-2.0-or-later
"""What all pages share: the page itself, which stands alone, and a change of a layout on it.

A page has its style inside, a policy that forbids all else, and every value escaped. The policy is that of Content
Security Policy Level 3 (W3C); a style counts by the SHA-256 of its text.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.resources import files

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from linesmith.analyzer.base.text import visible, with_cxx_names
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.gaps import lines
from linesmith.analyzer.line_map.fields import NO_HEAT, MapHeat
from linesmith.analyzer.line_map.record_map import compared_maps
from linesmith.analyzer.model import Cell, CellKind, Finding, Layout, LineMap, MemoryUse, StepTable, Toucher
from linesmith.analyzer.report.candidate import of_contended
from linesmith.analyzer.report.findings import count_range, places, share_range, writes_of
from linesmith.analyzer.report.map_svg import LINE_MAP_STYLE, line_map_figure
from linesmith.analyzer.report.map_words import level, percent, where
from linesmith.analyzer.report.pahole import excerpt
from linesmith.analyzer.report.prose import counted, first_of, short
from linesmith.analyzer.report.record_changes import slabs_differ
from linesmith.analyzer.report.run import duration, interval, mean_and_spread, number, runs, signed

_PACKAGE = "linesmith.analyzer.report.html"
_FILTERS: tuple[Callable[..., str], ...] = (
    *(short, count_range, duration, percent, places, share_range, writes_of),
    *(signed, interval, mean_and_spread, runs, number),
)
# A function less on a member that many call says nothing that the others do not.
MOST_TOUCHERS = 12


def render_page(template: str, content: Mapping[str, object]) -> str:
    """The page that ``template`` makes of ``content``.

    Nothing is loaded, run or sent by the page: it has no script, and its policy would stop one.
    """
    environment = Environment(
        loader=FunctionLoader(_resource),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Text from files is made visible before it is escaped; what is markup already is ours.
        finalize=lambda one: (
            one if isinstance(one, Markup) or not isinstance(one, str) else visible(with_cxx_names(one))
        ),
    )
    # Names can be as long as whoever wrote the file likes; texts that people wrote are never cut.
    environment.filters |= {one.__name__: one for one in _FILTERS}
    style = _resource("style.css") + LINE_MAP_STYLE
    page = environment.get_template(template).render(style=Markup(style), policy=policy(style), **content)  # noqa: S704
    return page + "\n"


def policy(style: str) -> str:
    """What a browser may do with a page that has this style: show it and its inline images, and nothing else."""
    digest = b64encode(sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"


def _resource(name: str) -> str:
    return (files(_PACKAGE) / "templates" / name).read_text("utf-8")


def figure(drawn: LineMap) -> Markup:
    """The drawing of a map: an element whose texts are escaped where it is made, with no style or script in it."""
    return Markup(line_map_figure(drawn))  # noqa: S704


# A change of a layout. A layout stands with those it is read with; a slab cache before and after with whether objects
# need other slabs.

Side = tuple[Layout, Layouts]
MemoryRow = tuple[MemoryUse, MemoryUse, bool]


def memory_rows(before: Sequence[MemoryUse], after: Sequence[MemoryUse]) -> tuple[MemoryRow, ...]:
    """A row for each cache that both know, those where something changes first."""
    rows = ((old, new, slabs_differ(old, new)) for old, new in zip(before, after, strict=False))
    return tuple(sorted(rows, key=lambda row: not row[2]))


@dataclass(frozen=True, slots=True)
class LayoutSide:
    """One side: ``drawing`` is an inline SVG, ``text`` the layout in pahole's style, its moved members marked."""

    size: str
    drawing: Markup
    text: str


@dataclass(frozen=True, slots=True)
class LayoutPair:
    """A record called ``title``, declared at ``place``; ``anchor`` is unlike that of any other pair of the page."""

    anchor: str
    title: str
    place: str
    before: LayoutSide
    after: LayoutSide
    memory: tuple[MemoryRow, ...] = ()


@dataclass(frozen=True, slots=True)
class Emphasis:
    """Members that a reader should see: ``moved`` are marked, ``shown`` are in the text, with their ``heat``."""

    moved: frozenset[str] = frozenset()
    shown: frozenset[str] = frozenset()
    heat: Mapping[str, str] = field(default_factory=dict)


def layout_pair(
    anchor: str,
    before: Side,
    after: Side,
    emphasis: Emphasis,
    heat: MapHeat = NO_HEAT,
    memory: tuple[MemoryRow, ...] = (),
) -> LayoutPair:
    """The record of both sides; without ``emphasis`` the maps find out which members have moved."""
    maps = compared_maps(before, after, heat, emphasis.moved)
    cells = (cell for drawn in maps for line in drawn.lines for cell in line.cells if cell.moved)
    moved = emphasis.moved or frozenset(cell.path.partition(".")[0] for cell in cells)
    sides = []
    for drawn, (layout, layouts) in zip(maps, (before, after), strict=True):
        # The fewest lines it can lie on; the map tells on how many it lies where it begins.
        size = f"{layout.size:,} bytes, at least {counted(lines(layout), 'line')}"
        rows = excerpt(layout, layouts, emphasis.shown | moved, moved, emphasis.heat)
        sides.append(LayoutSide(size, figure(drawn), "\n".join(row.rstrip() for row in rows)))
    return LayoutPair(anchor, before[0].title, before[0].place, sides[0], sides[1], memory)


@dataclass(frozen=True, slots=True)
class Why:
    """The sharings of a line with their titles, heaviest first; ``then`` heads the column of the compared layout."""

    then: str
    tables: tuple[tuple[str, StepTable], ...]
    notes: tuple[str, ...]


def why(tables: Sequence[StepTable], finding: Finding, then: str) -> Why:
    """The steps of a line, each with who waits for whom, its part of what is contended, and whether a layout helps."""
    titled = []
    for one in tables:
        other = "itself" if one.writer == one.victim else one.writer
        stays = "" if any(step.needless for step in one.before) else ", which no layout changes"
        part = f"{count_range(one.contended)} {of_contended(finding)}"
        titled.append((f"{one.victim} waits for stores to {other}: {part}{stays}", one))
    notes = dict.fromkeys(note for table in tables for note in table.notes)
    return Why(then, tuple(titled), tuple(notes))


@dataclass(frozen=True, slots=True)
class TouchedCell:
    """A member on a ``line`` of its object; ``readers`` and ``writers`` are functions with samples, CPUs and nodes."""

    line: int
    cell: Cell
    readers: Sequence[str]
    writers: Sequence[str]


def touched_cells(drawn: LineMap) -> tuple[TouchedCell, ...]:
    """The cells that somebody was seen to touch, in the order of their bytes."""
    return tuple(
        TouchedCell(line.number, cell, _callers(cell.touchers, "read"), _callers(cell.touchers, "write"))
        for line in drawn.lines
        for cell in line.cells
        if cell.kind is CellKind.MEMBER and level(cell)
    )


def _callers(touchers: Sequence[Toucher], verb: str) -> list[str]:
    """``down_write on 12 CPUs of nodes 0-1: 300 writes``, who does it most first; the CPUs are those of all it did."""
    counts = sorted(((one.reads if verb == "read" else one.writes, one) for one in touchers), key=lambda pair: -pair[0])
    rows = [f"{short(one.function)}{where(one)}: {counted(count, verb)}" for count, one in counts if count]
    return first_of(rows, MOST_TOUCHERS)
