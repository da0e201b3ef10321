# SPDX-License-Identifier: GPL-2.0-or-later
"""What the terminal can show: how wide it is, whether colours are wanted, whether it has shades."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from linesmith.analyzer.base.text import visible

if TYPE_CHECKING:
    from linesmith.analyzer.report.map_text import MapRow


NARROWEST, USUAL = 40, 80
_RESET = "\x1b[0m"
# Ground and letter of each level of heat, of the 256 colours; the ground says it on dark and light terminals alike.
_HEAT = ((0, 7), (230, 16), (222, 16), (215, 16), (203, 16), (124, 231))


@dataclass(frozen=True, slots=True)
class Screen:
    """Where text is shown: ``columns`` wide, with ``colour`` and block characters (``blocks``) or without."""

    columns: int = USUAL
    colour: bool = False
    blocks: bool = False


def screen(destination: Path | None) -> Screen:
    """The terminal that standard output is, if it is one; a file gets 80 columns of plain text."""
    if destination is not None:
        return Screen()
    terminal = sys.stdout.isatty()
    # Whether the locale says that the terminal shows UTF-8.
    names = (os.environ.get(name, "") for name in ("LC_ALL", "LC_CTYPE", "LANG"))
    locale = next((name for name in names if name), "").lower()
    blocks = terminal and "utf" in locale and os.environ.get("TERM", "dumb") != "dumb"
    return Screen(_columns(USUAL), wants_colour(os.environ, terminal), blocks)


def text_columns(destination: Path | None) -> int:
    """How wide sentences and tables may be: as the terminal is, or for a file or a pipe as is good to read."""
    from linesmith.analyzer.report.prose import WIDTH

    return _columns(WIDTH) if destination is None else WIDTH


def _columns(usual: int) -> int:
    """Those of the terminal that standard output is, or that the user wants (``COLUMNS``); else ``usual``."""
    known = sys.stdout.isatty() or "COLUMNS" in os.environ
    return max(NARROWEST, shutil.get_terminal_size((usual, 24)).columns) if known else usual


def wants_colour(environment: Mapping[str, str], terminal: bool) -> bool:
    """``NO_COLOR`` comes before ``FORCE_COLOR``, both before what the terminal is. Source: no-color.org."""
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return terminal and environment.get("TERM", "dumb") != "dumb"


def painted(rows: Iterable[MapRow], colour: bool) -> str:
    """The rows as text; whatever names hold, only the colours are escape sequences."""

    def cells(text: str, level: int) -> str:
        if not level or not text:
            return text
        ground, letter = _HEAT[level]
        return f"\x1b[38;5;{letter};48;5;{ground}m{text}{_RESET}"

    lines = ("".join(cells(visible(piece.text), piece.level if colour else 0) for piece in row) for row in rows)
    return "".join(f"{line.rstrip()}\n" for line in lines)
