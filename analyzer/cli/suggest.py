# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith suggest``: the smallest changes of a struct that part the members meeting on a hot line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from linesmith.analyzer.cli import options, sharding

if TYPE_CHECKING:
    from linesmith.analyzer.cli.analysis import Analysis
    from linesmith.analyzer.model import Simulation
    from linesmith.tuner.suggestions import Suggestion


@click.command()
@options.elf
@options.profile
@options.type_
@options.section
@click.option("--limit", metavar="N", type=click.IntRange(min=1), help="Show the first N candidates only.")
@options.snapshot
@options.other_build
@options.trace
@sharding.MEMBERS
@sharding.WAYS
@sharding.BY
@options.format_
@options.output
def command(
    elf: Path,
    profile: Path,
    type_: str | None,
    section: int,
    limit: int | None,
    snapshot: Path | None,
    trust: str | None,
    trace: Path | None,
    shard: str | None,
    ways: int,
    by: str,
    format_: str,
    output: Path | None,
) -> None:
    """Propose a few changes of the structs on the hot lines of PROFILE, smallest first.

    Each comes with its layout, size, the samples it should save, and how often the members still meet.
    """
    from linesmith.analyzer.cli.analysis import analyse, with_offsets
    from linesmith.analyzer.report import suggest, suggest_json
    from linesmith.tuner.suggestions import first_candidates, suggestions

    found = with_offsets(analyse(elf, profile, section, type_, snapshot=snapshot, trust=trust))
    reading, source = found.reading, found.profile.source
    answers = suggestions(found.findings, reading.layouts)
    answers = first_candidates(answers, limit) if limit else answers
    simulations = _simulations(answers, found, trace) if trace else {}
    split = sharding.sharded(found, type_, trace, shard, ways, by) if shard else None
    proposed = [(one.finding, one.candidates) for one in answers if one.candidates]
    refused = [(one.finding, one.refusal) for one in answers if not one.candidates]
    if format_ == "json":
        text = suggest_json.render_json(proposed, refused, reading.identity, source, simulations, split)
    else:
        text = suggest.render_text(proposed, refused, reading.identity, source, reading.layouts, simulations, split)
    options.write(text, output)


def _simulations(answers: Sequence[Suggestion], found: Analysis, trace: Path) -> dict[int, Simulation]:
    """Each candidate replayed on ``trace``; the replayer is loaded by those who ask for it only."""
    from linesmith.tuner.simulated import simulate

    return simulate(answers, found.profile.areas, found.reading.layouts, trace)
