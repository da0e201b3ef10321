# SPDX-License-Identifier: GPL-2.0-or-later
"""Shows a chapter of the demo: plain text anywhere, with colour where the terminal and the user want it."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from linesmith.analyzer.demo.walkthrough import Chapter

_DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def show(chapter: Chapter) -> None:
    """Print to standard output; rich drops styles where it is no terminal or NO_COLOR is set."""
    console = Console(soft_wrap=True, highlight=False)
    if chapter.title:
        console.print(Text(chapter.title, style="bold"))
        console.print(Text("=" * len(chapter.title), style="bold"))
    for line in _lines(chapter):
        console.print(line)
    console.print()


def _lines(chapter: Chapter) -> Iterator[Text]:
    for line in chapter.text.rstrip("\n").split("\n"):
        style = _DIFF_STYLES.get(line[:1], "") if chapter.is_diff else ""
        yield Text(line, style=style)
