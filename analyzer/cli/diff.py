# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith diff``: what a change did to the layouts."""

from __future__ import annotations

from pathlib import Path

import click

from linesmith.analyzer.cli import options


@click.command()
@options.old
@options.new
@options.types
@options.format_
@options.output
def command(old: Path, new: Path, types: tuple[str, ...], format_: str, output: Path | None) -> int:
    """Show what moved, grew, shrank or crossed a cache line between two builds.

    TYPE is a name or a pattern (tcp_*); without any, all records are compared. Exit status 1 tells of differences.
    """
    from linesmith.analyzer.cli.loading import load
    from linesmith.analyzer.diff import changes, paired
    from linesmith.analyzer.report import diff_json, diff_text
    from linesmith.analyzer.selection import select_both

    before, after = load(old), load(new)
    found = changes(before.layouts, after.layouts, paired(*select_both(before.layouts, after.layouts, types)))
    if format_ == "json":
        text = diff_json.render_json(found, before.identity, after.identity)
    else:
        text = diff_text.render_text(found)
    options.write(text, output)
    return 1 if found else 0
