# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith suggest``: the smallest changes of a struct that part the members meeting on a hot line."""

from __future__ import annotations

from pathlib import Path

import click

from linesmith.analyzer.cli import map_output, options, premises, scanning, sharding
from linesmith.analyzer.cli.candidate_choice import CandidateChoice, number_of


@click.command()
@options.elf
@options.profile
@options.type_
@options.section
@click.option("--limit", metavar="N", type=click.IntRange(min=1), help="Show the first N candidates only.")
@click.option("--candidate", metavar="NAME", type=CandidateChoice(), help="Show this candidate in full.")
@premises.given
@scanning.given
@options.snapshot
@options.other_build
@options.trace
@sharding.MEMBERS
@sharding.WAYS
@sharding.BY
@map_output.format_
@options.output
def command(
    elf: Path,
    profile: Path,
    type_: str | None,
    section: int,
    limit: int | None,
    candidate: int | str | None,
    given: premises.Given,
    sources: scanning.Sources,
    snapshot: Path | None,
    trust: str | None,
    trace: Path | None,
    shard: str | None,
    ways: int,
    by: str,
    format_: str | None,
    output: Path | None,
) -> None:
    """Propose the smallest changes of the structs on the hot lines of PROFILE, with what each gains and costs.

    Of each line the recommended change is shown in full, the others in a table; `patch` takes their names.
    As map, svg, png or markdown, the cache lines are drawn before and after: of --candidate, or of what is recommended.
    """
    from linesmith.analyzer.cli.analysis import analyse, with_offsets
    from linesmith.analyzer.cli.blocks import with_blocks
    from linesmith.analyzer.cli.colour import text_columns
    from linesmith.analyzer.cli.proposing import free_candidates, suggested
    from linesmith.analyzer.report import suggest, suggest_json
    from linesmith.analyzer.report.line_maps import suggested_maps

    found = with_offsets(analyse(elf, profile, section, type_, snapshot=snapshot, trust=trust))
    split = sharding.sharded(found, type_, trace, shard, ways, by) if shard else None
    scans = scanning.scan_findings(sources, found)
    given = given.on_machine_of(found.profile)
    known = with_blocks(given.premises(elf, found.reading, scans), found, sources.tree, sources.deadline)
    answers = suggested(found, known, limit, trace, split)
    there = [one.candidate for one in answers.numbered()]
    number = number_of(candidate, there, lambda: free_candidates(found, known, trace))
    wanted = map_output.chosen_format(format_, output)
    if wanted in map_output.DRAWN:
        map_output.write_maps(suggested_maps(answers, found.profile, number), wanted, output)
        return
    if wanted == "json":
        text = suggest_json.render_json(answers)
    else:
        width = text_columns(output)
        text = suggest.render_candidate(answers, number, width) if number else suggest.render_text(answers, width)
    options.write(text, output)
