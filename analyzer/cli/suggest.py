# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith suggest``: what to do about the records on the hot lines: smallest changes of layouts, or advice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from linesmith.analyzer.base.errors import LinesmithError
from linesmith.analyzer.cli import options, premises
from linesmith.analyzer.cli.output import remark, shown, text_columns
from linesmith.analyzer.cli.premises import CandidateChoice, number_of, scan_findings
from linesmith.analyzer.cli.settings import settle

if TYPE_CHECKING:
    from linesmith.analyzer.access.store import KeptAnswers
    from linesmith.analyzer.cli.premises import PremiseOptions, ScanOptions
    from linesmith.analyzer.model import Candidate, Sharded, StructuralAdvice
    from linesmith.analyzer.report.candidate import Proposed, Suggested
    from linesmith.analyzer.sharing.analysis import Explanation
    from linesmith.tuner.constraints.freedom import Premises
    from linesmith.tuner.propose.candidates import Suggestion
    from linesmith.tuner.replay.recommend import ProfileTotal
    from linesmith.tuner.replay.replayer import Replay


@click.command()
@options.elf
@options.profile
@options.type_
@options.evidence_given
@click.option("--candidate", metavar="NAME", type=CandidateChoice(), help="Show this candidate in full.")
@click.option("--full", is_flag=True, help="Show all records, with layouts and alternatives.")
@premises.premises_given
@premises.scanning_given
@options.trace
@click.option(
    "--shard",
    metavar="MEMBER,...",
    help="With --type and a trace: replay several copies of these members, a lock and the data it protects.",
)
@click.option(
    "--ways", metavar="N", type=click.IntRange(2, 64), default=2, show_default=True, help="Copies for --shard."
)
@click.option(
    "--by",
    type=click.Choice(["cpu", "node"]),
    default="node",
    show_default=True,
    help="Choose the copy by CPU number or by NUMA node.",
)
@options.map_format
@options.output
def command(
    elf: Path,
    profile: Path,
    type_: str | None,
    evidence: options.EvidenceOptions,
    candidate: int | str | None,
    full: bool,
    basis: PremiseOptions,
    sources: ScanOptions,
    trace: Path | None,
    shard: str | None,
    ways: int,
    by: str,
    format_: str | None,
    output: Path | None,
) -> None:
    """Say what to do about each struct on the hot lines of PROFILE, what it saves and what it costs.

    The change that saves most is explained, with the command that writes it as a patch. As map or svg,
    the cache lines are drawn before and after: of --candidate, or of what is recommended.
    """
    from linesmith.analyzer.cli.analysis import analyse, trace_to_replay
    from linesmith.analyzer.report import suggest
    from linesmith.analyzer.report.findings import ProfileSection
    from linesmith.analyzer.report.record_changes import record_answers, suggested_changes

    basis.check()
    premises.check_tree(elf, sources)
    found = analyse(elf, profile, evidence, type_, trace=trace)
    trace = trace_to_replay(found, profile, trace)
    split = sharded(found, type_, trace, shard, ways, by) if shard else None
    looked_at = found if isinstance(candidate, str) else worthwhile(found)
    known = basis.premises_of(looked_at, scan_findings(sources, looked_at), sources)
    answers = suggested(found, known, offered(looked_at, known, trace), trace, split)
    every = ("linesmith", "hot", *options.words_to_go_on(elf, profile, options.EXPLAINED), "--full")
    which = ProfileSection(found.profile, evidence.section, found.reports).which
    answers = replace(answers, given=options.words_to_go_on(elf, profile), hot=every, which=which)
    question = whole_question(click.get_current_context(), found, profile)
    if found.answers is not None and question is not None and not type_ and candidate is None:
        found.answers.keep(question, suggested_changes(record_answers(answers)))
    there = [one.candidate for one in answers.numbered()]
    number = number_of(candidate, there, lambda: free_candidates(looked_at, known, trace))
    form = options.chosen_format(format_, output)
    if form in options.DRAWN:
        from linesmith.analyzer.report.map_words import suggested_maps

        drawn = suggested_maps(answers, found.profile, number)
        if drawn:
            options.write_maps(drawn, form, output)
            return
        text, output = "No change of a layout is recommended, so there is none to draw.\n", None
    elif form == "json":
        text = suggest.render_json(answers)
    else:
        width = text_columns(output)
        render = suggest.render_full if full else suggest.render_text
        text = suggest.render_candidate(answers, number, width) if number else render(answers, width)
    options.write(text, output)


def whole_question(context: click.Context, found: Explanation, profile: Path) -> tuple[object, ...] | None:
    """What the answer about the whole profile depends on; ``None`` with a tree, where that is every file of it.

    ``context`` is one of this command.
    """
    given = options.basis_given(context)
    if "tree" in given:
        return None
    if "trace" not in given and found.given.recording and found.given.recording.trace:
        from linesmith.tuner.replay.replayer import place_of_trace

        given["trace"] = place_of_trace(profile)
    return "suggested", [(name, _stamp(one) if isinstance(one, Path) else one) for name, one in given.items()]


def _stamp(file: Path) -> tuple[str, int, int] | None:
    """Tells one state of a file from another."""
    try:
        facts = file.stat()
    except OSError:
        return None
    return str(file.resolve()), facts.st_size, facts.st_mtime_ns


def usual_question(found: Explanation, profile: Path) -> tuple[object, ...] | None:
    """The question that this command answers without options, with what is set now; ``None`` where that is refused."""
    settle(command, "suggest")
    words, root = ["--", found.reading.identity.path, str(profile)], click.get_current_context().find_root()
    try:
        return whole_question(command.make_context("suggest", words, root), found, profile)
    except (click.UsageError, LinesmithError, OSError):  # what `hot` itself does not need
        return None


# From findings to what is shown.


def worthwhile(found: Explanation) -> Explanation:
    """The same without findings of records that are too small a part of the profile for any change.

    These are among the ``others``. Of a type that was named everything stays.
    """
    from linesmith.analyzer.sharing.records import WORTH_CHANGING, quiet, shares_by_line

    if found.narrowed_to:
        return found
    shares, nothing = shares_by_line(found.records, found.findings), quiet(found.records, found.profile)
    small = {one.rank for one in found.findings if nothing or shares.get(one.rank, one.share) < WORTH_CHANGING}
    left = tuple(one for one in found.findings if one.rank not in small)
    little = tuple(one for one in found.findings if one.rank in small)
    return replace(found, findings=left, others=(*found.others, *little))


def offered(found: Explanation, premises: Premises, trace: Path | None) -> tuple[Suggestion, ...]:
    """What ``suggest`` shows and ``patch`` takes, numbered alike; raises what the replay raises."""
    from linesmith.analyzer.model import Candidate, Finding
    from linesmith.tuner.propose.candidates import Suggestion

    question, answers = _question("candidates", found, premises, trace), _answers(found, premises)
    kept = tuple[tuple[Finding, tuple[Candidate, ...], str, str, str], ...]
    if answers is not None and (before := answers.load(question, kept)) is not None:
        return tuple(Suggestion(*one) for one in before)
    made = _offered(found, premises, trace)
    if answers is not None:
        rows = [(one.finding, one.candidates, one.refusal, one.declined, one.withheld) for one in made]
        answers.keep(question, rows)
    return made


def _answers(found: Explanation, premises: Premises) -> KeptAnswers | None:
    """Where answers are kept; of other configurations a question has no more than the names, so theirs are not."""
    return None if premises.configurations else found.answers


def _question(what: str, found: Explanation, premises: Premises, trace: Path | None) -> tuple[object, ...]:
    """All that an answer depends on, besides profile and build."""
    lines = [one.rank for one in (*found.findings, *found.others)]
    stamp = trace and (str(trace), trace.stat().st_size, trace.stat().st_mtime_ns)
    return what, found.narrowed_to, len(found.findings), lines, replace(premises, accesses=None), stamp


def _offered(found: Explanation, premises: Premises, trace: Path | None) -> tuple[Suggestion, ...]:
    """What ``offered`` answers, found anew."""
    from linesmith.analyzer.sharing.analysis import quiet_lines
    from linesmith.analyzer.sharing.records import shares_by_line
    from linesmith.tuner.propose.candidates import MOST_JUDGED, answers
    from linesmith.tuner.replay.recommend import judged, members_met, sampled, traced
    from linesmith.tuner.replay.runs import RecordRuns

    layouts, given_premises = found.reading.layouts, premises
    shares = shares_by_line(found.records, found.findings)
    premises = replace(premises, beside=quiet_lines(found), accesses=found.accesses, shares=shares)
    with shown("searching changes for the hot lines") as progress:
        given = answers(found.findings, layouts, premises, found.others, MOST_JUDGED, progress)
    records = [(answer, candidate.before) for answer in given for candidate in answer.candidates]
    if trace is None:
        with shown("reconstructing runs from the samples") as progress:
            runs = sampled(given, found.findings, found.profile, layouts, premises, progress)
    else:
        from linesmith.tuner.structure.advise import advise, replayed

        # A nested record has the share of the record around it.
        inner = {record.id: shares.get(answer.finding.rank, 0.0) for answer, record in records}
        total = replace(whole := _total(found), shares={**whole.shares, **inner})
        # Advice about the same lines is kept for ``suggested``, so that the trace is read once.
        kept = _answers(found, premises) is not None
        more = replayed(advise(found.findings, layouts, given_premises, found.accesses)) if kept else ()
        runs = traced((record for _, record in records), found.profile, layouts, trace, members_met(given), total, more)
        read = next((one.replay for one in runs.values() if isinstance(one, RecordRuns)), None)
        if read is not None and kept:
            _advice(found, given_premises, trace, read)
    with shown("replaying the changes of each record") as progress:
        return judged(given, runs, progress)


def _total(found: Explanation) -> ProfileTotal:
    """What the profile counts, as ``hot`` and the table of ``suggest`` show it."""
    from linesmith.tuner.replay.recommend import ProfileTotal

    layouts, shares = found.reading.layouts, dict[int, float]()
    for one in found.records:
        for layout in layouts.variants(one.name) if one.name and not one.apart else ():
            shares[layout.id] = shares.get(layout.id, 0.0) + one.share
    return ProfileTotal(sum(one.contended for one in found.records), shares)


def free_candidates(found: Explanation, premises: Premises, trace: Path | None) -> tuple[Candidate, ...]:
    """All candidates that there would be if nothing were known of the source."""
    from linesmith.analyzer.model import NO_FACTS

    made = offered(found, replace(premises, facts=NO_FACTS), trace)
    return tuple(candidate for answer in made for candidate in answer.candidates)


def suggested(
    found: Explanation,
    premises: Premises,
    made: Sequence[Suggestion],
    trace: Path | None,
    sharded: Sharded | None = None,
) -> Suggested:
    """What can be done about each line, by moving members and otherwise; raises what a replay raises."""
    from linesmith.analyzer.attribution.placement import is_of_another_build
    from linesmith.analyzer.report.candidate import Suggested
    from linesmith.analyzer.sharing.findings import doubt_of_build, recorded_from
    from linesmith.analyzer.sharing.records import quiet

    another = is_of_another_build(found.profile)
    return Suggested(
        found.reading.identity,
        found.profile.source,
        found.reading.layouts,
        tuple(_lines(made, _advice(worthwhile(found), premises, trace), found)),
        (*found.findings, *found.colder),
        premises.kernel.machine if premises.kernel else None,
        sharded,
        str(trace) if trace else "",
        found.records,
        narrowed_to=found.narrowed_to,
        quiet=quiet(found.records, found.profile),
        workload=recorded_from(found.profile, another_build=another)[0],
        build=doubt_of_build(found.profile, found.findings, another=another, same=found.same_build),
    )


def _advice(
    found: Explanation, premises: Premises, trace: Path | None, read: Replay | None = None
) -> dict[int, tuple[StructuralAdvice, ...]]:
    """Structural advice by line, each piece at the hottest; ``read`` is the trace, if it was read for it already."""
    from linesmith.tuner.structure.advise import AdvisedFinding, advise, with_gains

    question, answers = _question("advice", found, premises, trace), _answers(found, premises)
    if answers is not None and (kept := answers.load(question, tuple[AdvisedFinding, ...])) is not None:
        return {one.finding.rank: one.advice for one in kept}
    layouts = found.reading.layouts
    advised = advise(found.findings, layouts, premises, found.accesses)
    if trace is not None:
        advised = with_gains(advised, found.profile, layouts, read or trace, found.accesses, _total(found))
    if answers is not None:
        answers.keep(question, advised)
    return {one.finding.rank: one.advice for one in advised}


def _lines(
    given: Sequence[Suggestion], advice: Mapping[int, tuple[StructuralAdvice, ...]], found: Explanation
) -> Iterator[Proposed]:
    """The lines in the order of the findings: those with an answer, and others with advice."""
    from linesmith.analyzer.report.candidate import Proposed
    from linesmith.tuner.propose.steps import step_tables

    answered = {one.finding.rank: one for one in given}
    for finding in found.findings:
        of_line = advice.get(finding.rank, ())
        if (answer := answered.get(finding.rank)) is not None:
            layouts = found.reading.layouts
            steps = tuple(step_tables(answer.finding, candidate, layouts) for candidate in answer.candidates)
            yield Proposed(answer.finding, answer.candidates, steps, answer.refusal, answer.declined, of_line)
        elif of_line:
            yield Proposed(finding, advice=of_line)


def tell_choice(candidate: Candidate) -> None:
    """Say which candidate is taken."""
    from linesmith.analyzer.model.candidate import candidate_name
    from linesmith.analyzer.report.candidate import change

    remark(f"takes candidate {candidate_name(candidate)} of `linesmith suggest --tree`: {change(candidate)}")


def sharded(found: Explanation, type_: str | None, trace: Path | None, shard: str, ways: int, by: str) -> Sharded:
    """The replayed sharding; raises ``click.UsageError`` without a type or a trace, and what the replay raises."""
    from linesmith.analyzer.layouts.collection import bare_name
    from linesmith.analyzer.model import Sharded
    from linesmith.tuner.replay.plan import ShardBy, Sharding
    from linesmith.tuner.structure.advise import judged_shards

    if type_ is None or trace is None:
        raise click.UsageError("--shard needs --type and a trace")
    members = tuple(name.strip() for name in shard.split(",") if name.strip())
    if not members:
        raise click.UsageError("--shard names no member; give the lock and the members that it protects")
    record = bare_name(type_)
    sharding = Sharding(members, ways, ShardBy(by))
    judgement = judged_shards(record, sharding, found.profile, found.reading.layouts, trace, _total(found))
    return Sharded(record, members, ways, by, judgement)
