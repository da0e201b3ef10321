# SPDX-License-Identifier: GPL-2.0-or-later
"""The formats that draw cache lines, and how maps get to the terminal or into a file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from linesmith.analyzer.base.text import visible
from linesmith.analyzer.cli import options
from linesmith.analyzer.cli.output import deliver, screen
from linesmith.analyzer.cli.settings import is_given

if TYPE_CHECKING:
    from linesmith.analyzer.model import LineMap
    from linesmith.analyzer.report.map_text import MapRow


# Maps or pairs of them in one result; more cannot be looked at.
MOST_MAPS = 40
DRAWN = ("map", "svg")
# Ground and letter of each level of heat, of the 256 colours; the ground says it on dark and light terminals alike.
_HEAT = ((0, 7), (230, 16), (222, 16), (215, 16), (203, 16), (124, 231))
_OTHER_PICTURES = frozenset((".bmp", ".gif", ".jpeg", ".jpg", ".pdf", ".png", ".webp"))

format_ = click.option(
    "--format",
    "format_",
    type=click.Choice(("text", "json", *DRAWN)),
    help="Output format. Default: text, or svg by the suffix of -o. map and svg draw cache lines.",
)


def chosen_format(requested: str | None, destination: Path | None) -> str:
    """What ``--format`` says on the command line, then the name of the file, then what is set for all commands.

    Raises ``click.UsageError`` for the name of a picture that is not drawn.
    """
    suffix = destination.suffix.lower() if destination else ""
    given = is_given("format_")
    if suffix in _OTHER_PICTURES and not given:
        raise click.UsageError(f"cannot draw {suffix}; name a file that ends in .svg with -o")
    return "svg" if suffix == ".svg" and not given else requested or "text"


def refuse_many(count: int, what: str = "records") -> None:
    """Raise ``click.UsageError`` for more maps than anybody looks at."""
    if count > MOST_MAPS:
        raise click.UsageError(f"{count:,} {what} exceed the limit of {MOST_MAPS} maps; name a TYPE")


def write_maps(groups: Sequence[Sequence[LineMap]], drawn_as: str, destination: Path | None) -> None:
    """Put the maps where ``-o`` says; a group is one map, or two of a change. Raises ``OutputError``."""
    if drawn_as == "svg":
        from linesmith.analyzer.report.map_svg import line_maps_svg

        options.write(line_maps_svg([one for group in groups for one in group]), destination)
    else:
        _write_text(groups, destination)


def painted(rows: Iterable[MapRow], colour: bool) -> str:
    """The rows as text; whatever names hold, only the colours are escape sequences."""

    def cells(text: str, level: int) -> str:
        if not level or not text:
            return text
        ground, letter = _HEAT[level]
        return f"\x1b[38;5;{letter};48;5;{ground}m{text}\x1b[0m"

    lines = ("".join(cells(visible(piece.text), piece.level if colour else 0) for piece in row) for row in rows)
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _write_text(groups: Sequence[Sequence[LineMap]], destination: Path | None) -> None:
    from linesmith.analyzer.report.map_text import BLOCKS, PLAIN, group_rows, table

    shown = screen(destination)
    texts = []
    for group in groups:
        rows = group_rows(group, shown.columns, BLOCKS if shown.blocks else PLAIN)
        members = visible(table(group[0], shown.columns))
        texts.append(painted(rows, shown.colour) + (f"\n{members}" if members else ""))
    deliver("\n".join(texts).encode("utf-8", "backslashreplace"), destination)
