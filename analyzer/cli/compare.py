# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith compare``: what vanished from the hot lines between two profiles, what stayed, what is new."""

from __future__ import annotations

from pathlib import Path

import click

from linesmith.analyzer.cli import options


@click.command()
@options.elf
@options.before
@options.after
@options.after_elf
@options.type_
@options.section
@options.after_section
@options.top
@options.other_build
@options.format_
@options.output
def command(
    elf: Path,
    before: Path,
    after: Path,
    after_elf: Path | None,
    type_: str | None,
    section: int,
    after_section: int | None,
    top: int,
    trust: str | None,
    format_: str,
    output: Path | None,
) -> None:
    """Compare two profiles: which members still meet on hot lines, which do not any more.

    Lines are matched by type and member, so that addresses and offsets may differ. One text may hold both reports:
    name it twice.
    """
    from linesmith.analyzer.cli.colour import text_columns
    from linesmith.analyzer.cli.comparing import both, chosen, explained
    from linesmith.analyzer.comparison.compare import compare
    from linesmith.analyzer.report import compare as text
    from linesmith.analyzer.report import compare_json

    old, new = both((elf, after_elf or elf), (before, after), (section, after_section), type_, top, trust)
    found = compare(explained(old), explained(new))
    sides = chosen(old), chosen(new)
    if format_ == "json":
        shown = compare_json.render_json(found, *zip((old.reading.identity, new.reading.identity), sides, strict=True))
    else:
        shown = text.render_text(found, *sides, text_columns(output))
    options.write(shown, output)
