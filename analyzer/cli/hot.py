# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith hot``: which members meet on the hot lines of a profile, and what kind of sharing that is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from linesmith.analyzer.cli import options
from linesmith.analyzer.cli.output import text_columns


@click.command()
@options.elf
@options.profile
@click.option("--type", "type_", metavar="TYPE", help="Show the lines of this record or variable in full.")
@click.option("--line", metavar="N", type=click.IntRange(min=0), help="Show the Nth line of the profile in full.")
@click.option("--full", is_flag=True, help="Show every record, and the lines in full.")
@options.evidence_given
@options.format_
@options.output
@click.option(
    "--save",
    metavar="FILE",
    type=options.NEW_FILE,
    help="Also write PROFILE, as parsed, to FILE (replaced if it exists); as JSON if the name ends in .json.",
)
def command(
    elf: Path,
    profile: Path,
    type_: str | None,
    line: int | None,
    full: bool,
    evidence: options.EvidenceOptions,
    format_: str,
    output: Path | None,
    save: Path | None,
) -> None:
    """Name the records whose members meet on the hot cache lines of PROFILE, by the layouts in ELF.

    PROFILE is what `linesmith record` wrote, the perf.data of `perf c2c record` or `perf mem record`, or the text of
    `perf c2c report --stdio` or of `perf script`, whole or in part, also as pasted into a mail. The first screen has a
    row for each record, by its share of the contention, and what to do about it; --type, --line and --full show lines.
    """
    from linesmith.analyzer.cli.analysis import analyse, check_save, narrowed_to, save_profile
    from linesmith.analyzer.cli.suggest import usual_question
    from linesmith.analyzer.report.findings import ProfileSection, render_lines
    from linesmith.analyzer.report.hot import render_table
    from linesmith.analyzer.sharing.cost import by_removable
    from linesmith.analyzer.sharing.records import SuggestedChange

    check_save(save, output)
    found = analyse(elf, profile, evidence)
    question = found.answers and usual_question(found, profile)
    known = found.answers.load(question, dict[str, SuggestedChange]) if found.answers and question else None
    records = tuple(
        replace(one, suggested=known.get(one.name)) if known and one.name and not one.apart else one
        for one in found.records
    )
    part = narrowed_to(found, type_, line)
    shown = ProfileSection(found.profile, evidence.section, found.reports, part.left_out)
    lines, identity = by_removable((*part.findings, *part.colder)), found.reading.identity
    columns = text_columns(output)
    if format_ == "json":
        from linesmith.analyzer.report.hot_json import render_json

        text = render_json(records, lines, identity, shown)
    elif type_ or line is not None:
        text = render_lines(lines, identity, shown, columns)
    else:
        words = ("linesmith", "suggest", *options.words_to_go_on(elf, profile))
        text = render_table(records, identity, shown, words, columns, full=full)
        text += f"\n{render_lines(lines, identity, shown, columns)}" if full else ""
    options.write(text, output)
    save_profile(found.given, save)
