# SPDX-License-Identifier: GPL-2.0-or-later
"""Findings as text for a terminal or a mail: one paragraph per line, widths fixed, no colour needed."""

from __future__ import annotations

from collections.abc import Sequence

from linesmith.analyzer.model import (
    ElfIdentity,
    Finding,
    LineMember,
    LineObject,
    Outcome,
    Profile,
    Remark,
)
from linesmith.analyzer.report.by_type import alike_row, examples, type_rows
from linesmith.analyzer.report.chosen import Chosen
from linesmith.analyzer.report.cost import cost_rows, sharing_rows
from linesmith.analyzer.report.counting import amount
from linesmith.analyzer.report.lock import lock_rows
from linesmith.analyzer.report.prose import prose
from linesmith.analyzer.report.recording import left_out_rows, object_rows, recording_rows, stores_of
from linesmith.analyzer.sharing.accounts import accounts

MOST_FUNCTIONS = 3
MOST_CONTAINERS = 4
MOST_PLACES = 3
MEMBER_COLUMN = 32
MOST_REMARKS = 8


def render_text(found: Sequence[Finding], elf: ElfIdentity, chosen: Chosen) -> str:
    """The findings in their order, then where all samples ended and what the reader of the profile had to remark."""
    profile = chosen.profile
    blocks = [_head(elf, chosen), "\n".join(type_rows(found))]
    told, untold = examples(found)
    for finding, alike in told:
        blocks += [_finding(finding, _accesses(profile)), alike_row(finding, alike)]
    blocks += [f"… and {untold:,} more lines; --format json tells each"] if untold else []
    ending = [_rows(found), _agreements(found), *left_out_rows(chosen.left_out, profile), _samples(found, chosen)]
    blocks += ["\n".join(object_rows(profile)), "\n".join(row for row in ending if row), *_remarks(profile.remarks)]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _head(elf: ElfIdentity, chosen: Chosen) -> str:
    profile, several = chosen.profile, chosen.sections > 1
    title = f" ({profile.title})" if profile.title else ""
    which = f", report {chosen.section} of {chosen.sections}{title}; --section chooses" if several else title
    build = f" build-id {elf.build_id}" if elf.build_id else ""
    rows = [f"{profile.source}{which}", f"{elf.path}{build}"]
    rows += recording_rows(profile.recording) if profile.recording else []
    return "\n".join([*rows, _order(profile)])


def _order(profile: Profile) -> str:
    first = min((one.rank for one in profile.lines), default=0)
    rank = f"its rank by contended {_accesses(profile)}{f', counted from {first}' if first in (0, 1) else ''}"
    return prose(
        f"lines by the cost that a change of the layout can remove (its upper limit); the number of a line is {rank}",
        then="  ",
    )


def _accesses(profile: Profile) -> str:
    """What is counted as contended: a recording also counts stores that took the line from another CPU."""
    return "accesses" if profile.recording else "loads"


def _finding(finding: Finding, accesses: str) -> str:
    rows = [_title(finding, accesses), *cost_rows(finding.cost, accesses, finding.whole)]
    rows += [_object(one, finding) for one in finding.objects]
    if finding.members:
        width = max(MEMBER_COLUMN, *(len(one.called) for one in finding.members))
        rows += ["", _members_head(width), *_member_rows(finding, width), ""]
    if sharings := sharing_rows(finding.cost):
        rows += [*sharings, ""]
    rows.append(prose(finding.triage.sentence, "  ", "      "))
    reasons = (*lock_rows(finding.lock), *finding.triage.reasons, *finding.cost.notes)
    return "\n".join([*rows, *(prose(reason, "    - ", "      ") for reason in reasons)])


def _title(finding: Finding, accesses: str) -> str:
    address = f" at {finding.address:#x}" if finding.address is not None else ""
    contended = amount(finding.contended, f"contended {accesses}")
    return f"line {finding.rank}{address}: {finding.share:.1%} of {_whole(finding)}, {contended}, {stores_of(finding)}"


def _whole(finding: Finding) -> str:
    return f"the {finding.whole}" if finding.quoted else "all"


def _object(one: LineObject, finding: Finding) -> str:
    if not one.type:
        words = ": ".join(words for words in (one.outcome.value, one.origin, one.reason) if words)
        return prose(words, "  object   ", " " * 11)
    where = f"{-one.start} bytes before the line" if one.start < 0 else f"{one.start} bytes into the line"
    if not one.start:
        where = "with the line"
    rows = [f"  object   {one.type}, begins {where} (phase {one.phase} of {finding.bytes})"]
    rows += [f"  memory   {one.origin}"] if one.origin else []
    rows += _confidence(one, "accesses" if finding.simulated else "samples")
    if one.containers and one.outcome is not Outcome.INNER_TYPE_ONLY:
        more = len(one.containers) - MOST_CONTAINERS
        tail = f" and {more} more" if more > 0 else ""
        rows.append(f"  held by  {', '.join(one.containers[:MOST_CONTAINERS])}{tail}")
    return "\n".join(rows)


def _confidence(one: LineObject, counted: str) -> list[str]:
    rival = one.runner_up
    against = f"; runner-up {rival.type} (phase {rival.phase}), confidence {one.margin:.1%}" if rival else ""
    rows = [f"  {one.outcome.value}: {one.score:.0%} of the {counted} explained{against}"]
    return [*rows, prose(one.reason, " " * 11, " " * 11)] if one.reason else rows


def _members_head(width: int) -> str:
    return f"  {'offset':>6}  {'member':<{width}} {'reads':>9} {'writes':>8} {'share':>7}  functions"


def _member_rows(finding: Finding, width: int) -> list[str]:
    rows = []
    for member in finding.members:
        rows.append(_member(member, finding, width))
        if member.instructions:
            rows.append(f"  {'':>6}  by instruction: {', '.join(member.instructions[:MOST_PLACES])}")
    return rows


def _member(member: LineMember, finding: Finding, width: int) -> str:
    contended = sum(function.contended for function in member.functions)
    share = f"{contended / finding.contended:.1%}" if finding.contended else "-"
    names = [function.name for function in member.functions]
    more = f" and {len(names) - MOST_FUNCTIONS} more" if len(names) > MOST_FUNCTIONS else ""
    return (
        f"  {member.offset:>#6x}  {member.called:<{width}} {member.reads:>9,} {_writes(member):>8} {share:>7}  "
        f"{', '.join(names[:MOST_FUNCTIONS])}{more}"
    )


def _writes(member: LineMember) -> str:
    if member.writes:
        return f"{member.writes:,}"
    return "inferred" if member.write_inferred else "-"


def _samples(found: Sequence[Finding], chosen: Chosen) -> str:
    """Samples in equal samples out."""
    counted = "accesses" if chosen.profile.recording else "samples"
    ended = accounts(chosen.profile, found, chosen.left_out)
    parts = ", ".join(f"{count:,} {outcome}" for outcome, count in ended.outcomes)
    return (
        f"{ended.samples:,} {counted} in = {sum(count for _, count in ended.outcomes):,} out: {parts}" if parts else ""
    )


def _rows(found: Sequence[Finding]) -> str:
    """Rows in equal rows out: how the accesses of all lines ended."""
    counts: dict[str, int] = {}
    for finding in found:
        for outcome, count in finding.outcomes:
            counts[outcome.value] = counts.get(outcome.value, 0) + count
    parts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()))
    return f"{_counted(sum(counts.values()), 'row')} on {_counted(len(found), 'line')}: {parts}" if parts else ""


def _agreements(found: Sequence[Finding]) -> str:
    """The same rows by who told what they met, where the profile is of this build."""
    counts: dict[str, int] = {}
    for finding in found:
        for agreement, count in finding.agreements:
            counts[agreement.value] = counts.get(agreement.value, 0) + count
    parts = ", ".join(f"{count} {agreement}" for agreement, count in sorted(counts.items()))
    return f"by address and by instruction: {parts}" if parts else ""


def _remarks(remarks: Sequence[Remark]) -> list[str]:
    if not remarks:
        return []
    rows = [f"line {one.text_line} of the text: {one.text}" if one.text_line else one.text for one in remarks]
    more = [f"… and {len(rows) - MOST_REMARKS} more remarks"] if len(rows) > MOST_REMARKS else []
    return ["\n".join(["remarks:", *(prose(row, "  ", "    ") for row in rows[:MOST_REMARKS] + more)])]


def _counted(count: int, thing: str) -> str:
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"
