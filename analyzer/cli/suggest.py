# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith suggest``: the smallest changes of a struct that part the members meeting on a hot line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from linesmith.analyzer.base.errors import NothingToSuggest
from linesmith.analyzer.cli import maps, options, premises
from linesmith.analyzer.cli.analysis import beside
from linesmith.analyzer.cli.output import remark
from linesmith.analyzer.cli.premises import CandidateChoice, Sources, number_of, scan_findings, scanning_given
from linesmith.analyzer.model import Sharded
from linesmith.analyzer.model.candidate import candidate_name

if TYPE_CHECKING:
    from linesmith.analyzer.cli.analysis import Analysis
    from linesmith.analyzer.layouts.collection import Layouts
    from linesmith.analyzer.model import Candidate, ReplayedSaving, Simulation, StructuralAdvice
    from linesmith.analyzer.report.candidate import Proposed, Suggested
    from linesmith.tuner.constraints.facts import Premises
    from linesmith.tuner.propose.candidates import Suggestion


# The way from findings to what ``suggest`` shows.


@dataclass(frozen=True, slots=True)
class Offered:
    """The answers for each line, and their candidates' simulations by number, where a trace was replayed."""

    answers: tuple[Suggestion, ...]
    simulations: Mapping[int, Simulation]


def offered(found: Analysis, premises: Premises, trace: Path | None) -> Offered:
    """What ``suggest`` shows and ``patch`` takes, numbered alike; raises what the replay raises."""
    from linesmith.tuner.propose.candidates import answers

    layouts = found.reading.layouts
    given = answers(found.findings, layouts, premises=replace(premises, beside=beside(found), accesses=found.accesses))
    if trace is None:
        return Offered(given, {})
    # The replayer is loaded by those who ask for it only.
    from linesmith.tuner.replay.simulated import replayed_choice, simulate

    simulations = simulate(given, found.profile.areas, layouts, trace)
    return Offered(replayed_choice(given, simulations), simulations)


def free_candidates(found: Analysis, premises: Premises, trace: Path | None) -> tuple[Candidate, ...]:
    """All candidates that there would be if nothing were known of the source."""
    from linesmith.analyzer.model import NO_FACTS

    made = offered(found, replace(premises, facts=NO_FACTS), trace)
    return tuple(candidate for answer in made.answers for candidate in answer.candidates)


def suggested(
    found: Analysis, premises: Premises, limit: int | None, trace: Path | None, sharded: Sharded | None
) -> Suggested:
    """What can be done about each line, and what beside moving members.

    Raises ``NothingToSuggest`` where neither is known of any line, and what a replay raises.
    """
    from linesmith.tuner.propose.candidates import reasons

    made = offered(found, premises, trace)
    told = _told(found, premises, made, trace, sharded, limit)
    if not any(line.candidates or line.advice for line in told.lines):
        raise NothingToSuggest(reasons(made.answers))
    return told


def whatever_is_suggested(found: Analysis, premises: Premises, trace: Path | None) -> Suggested:
    """The same, also where that is nothing; raises what a replay raises."""
    return _told(found, premises, offered(found, premises, trace), trace)


def _told(
    found: Analysis,
    premises: Premises,
    made: Offered,
    trace: Path | None,
    sharded: Sharded | None = None,
    limit: int | None = None,
) -> Suggested:
    from linesmith.analyzer.report.candidate import Suggested
    from linesmith.tuner.propose.candidates import first_candidates

    given = first_candidates(made.answers, limit) if limit else made.answers
    return Suggested(
        found.reading.identity,
        found.profile.source,
        found.reading.layouts,
        tuple(_lines(given, _advice(found, premises, trace), found)),
        found.findings,
        premises.kernel.machine if premises.kernel else None,
        made.simulations,
        dict(_replayed(made)),
        sharded,
    )


def _replayed(made: Offered) -> Iterator[tuple[int, ReplayedSaving]]:
    """How far each prediction is from its replay, by the candidate's number."""
    from linesmith.tuner.cost.saving import replayed_saving

    candidates = (candidate for answer in made.answers for candidate in answer.candidates)
    for number, candidate in enumerate(candidates, start=1):
        simulation = made.simulations.get(number)
        apart = replayed_saving(candidate.saving, simulation) if simulation else None
        if apart is not None:
            yield number, apart


def _advice(found: Analysis, premises: Premises, trace: Path | None) -> dict[int, tuple[StructuralAdvice, ...]]:
    """Structural advice by the rank of the line, each piece once, at the hottest line it holds for."""
    from linesmith.tuner.structure.advise import advise

    layouts = found.reading.layouts
    advised = advise(found.findings, layouts, premises, found.accesses)
    if trace is not None:
        from linesmith.tuner.structure.replayed import with_gains

        advised = with_gains(advised, found.profile.areas, layouts, trace, found.accesses)
    return {one.finding.rank: one.advice for one in advised}


def _lines(
    given: Sequence[Suggestion], advice: Mapping[int, tuple[StructuralAdvice, ...]], found: Analysis
) -> Iterator[Proposed]:
    """The lines in the order of the findings: those with an answer, and others with advice."""
    from linesmith.analyzer.report.candidate import Proposed

    answered = {one.finding.rank: one for one in given}
    for finding in found.findings:
        told = advice.get(finding.rank, ())
        if (answer := answered.get(finding.rank)) is not None:
            yield _proposed(answer, told, found.reading.layouts)
        elif told:
            yield Proposed(finding, advice=told)


def _proposed(one: Suggestion, advice: tuple[StructuralAdvice, ...], layouts: Layouts) -> Proposed:
    from linesmith.analyzer.report.candidate import Proposed
    from linesmith.tuner.propose.steps import step_tables

    steps = tuple(step_tables(one.finding, candidate, layouts) for candidate in one.candidates)
    return Proposed(one.finding, one.candidates, steps, one.refusal, one.declined, advice)


def tell_choice(candidate: Candidate) -> None:
    """Say which candidate is taken."""
    from linesmith.analyzer.report.candidate import change

    remark(f"takes candidate {candidate_name(candidate)} of `linesmith suggest`: {change(candidate)}")


# The options of ``linesmith suggest`` that ask what several copies of a lock would save.

MEMBERS = click.option(
    "--shard",
    metavar="MEMBER,...",
    help="With --type and --trace: replay copies of these members, a lock and what it protects.",
)
WAYS = click.option(
    "--ways", metavar="N", type=click.IntRange(2, 64), default=2, show_default=True, help="Copies for --shard."
)
BY = click.option(
    "--by",
    type=click.Choice(["cpu", "node"]),
    default="node",
    show_default=True,
    help="What chooses the copy that a CPU uses: its number, or its node's.",
)


def sharded(found: Analysis, type_: str | None, trace: Path | None, shard: str, ways: int, by: str) -> Sharded:
    """The replayed sharding; raises ``click.UsageError`` without a type or a trace, and what the replay raises."""
    from linesmith.analyzer.layouts.collection import bare_name
    from linesmith.tuner.replay.plan import ShardBy, Sharding
    from linesmith.tuner.structure.replayed import simulate_shards

    if type_ is None or trace is None:
        raise click.UsageError("--shard needs --type, the record of the members, and --trace, the accesses to replay")
    members = tuple(name.strip() for name in shard.split(",") if name.strip())
    if not members:
        raise click.UsageError("--shard names no member; give those of a lock and what it protects")
    wanted = bare_name(type_)
    sharding = Sharding(members, ways, ShardBy(by))
    simulation = simulate_shards(wanted, sharding, found.profile.areas, found.reading.layouts, trace)
    return Sharded(wanted, members, ways, by, simulation)


@click.command()
@options.elf
@options.profile
@options.type_
@options.section
@click.option("--limit", metavar="N", type=click.IntRange(min=1), help="Show the first N candidates only.")
@click.option("--candidate", metavar="NAME", type=CandidateChoice(), help="Show this candidate in full.")
@premises.premises_given
@scanning_given
@options.snapshot
@options.other_build
@options.trace
@MEMBERS
@WAYS
@BY
@maps.format_
@options.output
def command(
    elf: Path,
    profile: Path,
    type_: str | None,
    section: int,
    limit: int | None,
    candidate: int | str | None,
    given: premises.Given,
    sources: Sources,
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
    from linesmith.analyzer.cli.colour import text_columns
    from linesmith.analyzer.cli.premises import with_blocks
    from linesmith.analyzer.report import suggest
    from linesmith.analyzer.report.map_words import suggested_maps

    found = with_offsets(analyse(elf, profile, section, type_, snapshot=snapshot, trust=trust))
    split = sharded(found, type_, trace, shard, ways, by) if shard else None
    scans = scan_findings(sources, found)
    given = given.on_machine_of(found.profile)
    known = with_blocks(given.premises(elf, found.reading, scans), found, sources.tree, sources.deadline)
    answers = suggested(found, known, limit, trace, split)
    there = [one.candidate for one in answers.numbered()]
    number = number_of(candidate, there, lambda: free_candidates(found, known, trace))
    wanted = maps.chosen_format(format_, output)
    if wanted in maps.DRAWN:
        maps.write_maps(suggested_maps(answers, found.profile, number), wanted, output)
        return
    if wanted == "json":
        text = suggest.render_json(answers)
    else:
        width = text_columns(output)
        text = suggest.render_candidate(answers, number, width) if number else suggest.render_text(answers, width)
    options.write(text, output)
