# SPDX-License-Identifier: GPL-2.0-or-later
"""The hot lines of a profile in full, as text: the members of each, who waits for whom, where samples ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from linesmith.analyzer.attribution.variables import apart_sentence
from linesmith.analyzer.base.text import listed
from linesmith.analyzer.model import (
    ElfIdentity,
    Finding,
    LineMember,
    LineObject,
    MemberFunction,
    Outcome,
    Profile,
    Remark,
)
from linesmith.analyzer.report import findings
from linesmith.analyzer.report.findings import (
    ProfileSection,
    contended_accesses,
    cost_rows,
    joined_objects,
    left_out_rows,
    lock_rows,
    recording_rows,
    sharing_rows,
    stores_of,
)
from linesmith.analyzer.report.prose import LEAST_LAST, WIDTH, counted, prose, row
from linesmith.analyzer.sharing.accounts import accounts, place_of
from linesmith.analyzer.sharing.cost import by_removable

# Lines at one place of objects of one type that are shown in full.
MOST_ALIKE = 3
MOST_RANKS = 12
# Lines that are shown in full in all.
MOST_LINES = 50
MOST_FUNCTIONS = 3
# Of a line's contended accesses, those of a member whose callers are told.
LEAST_CALLED = 0.05
MOST_CONTAINERS = 4
MOST_PLACES = 3
MEMBER_COLUMN = 32
MOST_REMARKS = 8
_BEHIND_LABEL = " " * 11
_MEMBER_ROW, _MEMBER_HEAD = "  {:>6}  {:<{}} {:>9} {:>8} {:>7}  ", "functions"


def render_lines(
    found: Sequence[Finding], elf: ElfIdentity, shown: ProfileSection, columns: int = WIDTH, most: int = MOST_LINES
) -> str:
    """The findings in their order, then where all samples ended and what the reader of the profile had to remark."""
    profile = shown.profile
    blocks = [_head(elf, shown, columns)]
    findings_shown, untold = examples(found, most)
    for finding, alike in findings_shown:
        more = prose(alike_row(finding, alike), then="  ", columns=columns)
        blocks += [_finding(finding, _accesses(profile), columns), more]
    blocks += [f"… and {untold:,} more lines; --format json has each"] if untold else []
    ending = [_rows(found), _agreements(found), *left_out_rows(shown.left_out, profile), _samples(found, shown)]
    last = "\n".join(prose(one, then="  ", columns=columns) for one in ending if one)
    blocks += [last, *_remarks(profile.remarks, columns)]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _head(elf: ElfIdentity, shown: ProfileSection, columns: int) -> str:
    build = f" build-id {elf.build_id}" if elf.build_id else ""
    rows = [f"{shown.source}{'; --section chooses' if shown.sections > 1 else ''}", f"{elf.path}{build}"]
    rows += recording_rows(shown.profile.recording) if shown.profile.recording else []
    return "\n".join(prose(one, then="  ", columns=columns) for one in rows)


def _accesses(profile: Profile) -> str:
    """What is counted as contended: a recording also counts stores that took the line from another CPU."""
    return "accesses" if profile.recording else "loads"


def examples(found: Iterable[Finding], most: int = MOST_LINES) -> tuple[list[tuple[Finding, tuple[int, ...]]], int]:
    """The findings to show in full, the last of each place with the ranks of the lines like it; and how many are left.

    Lines of which no object is known are like no other.
    """
    places: dict[object, list[Finding]] = {}
    for finding in found:
        places.setdefault(place_of(finding) or finding.rank, []).append(finding)
    ordered = by_removable(one for group in places.values() for one in group[:MOST_ALIKE])
    alike = {id(group[MOST_ALIKE - 1]): group[MOST_ALIKE:] for group in places.values() if len(group) > MOST_ALIKE}
    shown = [(one, tuple(sorted(more.rank for more in alike.get(id(one), ())))) for one in ordered[:most]]
    return shown, len(ordered) - len(shown)


def alike_row(finding: Finding, ranks: Sequence[int]) -> str:
    """What is said of lines that are like this one; ``""`` without any."""
    if not ranks:
        return ""
    place = place_of(finding)
    where = f"{place[0]}, from byte {place[1]} on" if place else ""
    numbers = ", ".join(map(str, ranks[:MOST_RANKS])) + (" ..." if len(ranks) > MOST_RANKS else "")
    return f"… and {counted(len(ranks), 'more line')} like these ({where}): {numbers}; --format json has each"


def _finding(finding: Finding, accesses: str, columns: int) -> str:
    costs = cost_rows(finding.cost, accesses, finding.whole)
    address = f" at {finding.address:#x}" if finding.address is not None else ""
    whole = f"the {finding.whole}" if finding.quoted else "all"
    contended = contended_accesses(finding.contended, accesses)
    title = f"line {finding.rank}{address}: {finding.share:.1%} of {whole}, {contended}, {stores_of(finding)}"
    rows = [prose(title, then="  ", columns=columns)]
    rows += [prose(one, then=_BEHIND_LABEL, columns=columns) for one in costs]
    rows += [_object(one, finding, columns) for one in joined_objects(finding.objects)]
    if finding.members:
        rows += ["", *_member_rows(finding, columns), ""]
    if sharings := sharing_rows(finding.cost, columns):
        rows += [*sharings, ""]
    rows.append(prose(finding.triage.sentence, "  ", "      ", columns))
    apart = (apart_sentence(finding.apart),) if finding.apart else ()
    reasons = (*apart, *lock_rows(finding.lock), *finding.triage.reasons, *finding.cost.notes)
    return "\n".join([*rows, *(prose(reason, "    - ", "      ", columns) for reason in reasons)])


def _object(one: LineObject, finding: Finding, columns: int) -> str:
    if not one.type:
        words = ": ".join(words for words in (one.outcome.value, one.origin, one.reason) if words)
        return prose(words, "  object   ", _BEHIND_LABEL, columns)
    rows = [f"  object   {findings.place(one, finding)}"]
    rows += [f"  memory   {one.origin}"] if one.origin else []
    rows.append(f"  {findings.certainty(one, finding)}")
    rows += [f"{_BEHIND_LABEL}{one.reason}"] if one.reason else []
    if one.containers and one.outcome is not Outcome.INNER_TYPE_ONLY:
        rows.append(f"  held by  {listed(one.containers, MOST_CONTAINERS)}")
    return "\n".join(prose(one, then=_BEHIND_LABEL, columns=columns) for one in rows)


def _member_rows(finding: Finding, columns: int) -> list[str]:
    longest = max(len(one.called) for one in finding.members)
    width = max(MEMBER_COLUMN, longest)
    if len(_MEMBER_ROW.format("", "", width, "", "", "")) + LEAST_LAST > columns:
        width = longest
    rows = [_MEMBER_ROW.format("offset", "member", width, "reads", "writes", "share") + _MEMBER_HEAD]
    for member in finding.members:
        contended = sum(function.contended for function in member.functions)
        share = f"{contended / finding.contended:.1%}" if finding.contended else "-"
        counts = f"{member.reads:,}", writes_of(member), share
        cells = _MEMBER_ROW.format(f"{member.offset:#x}", member.called, width, *counts)
        rows.append(row(cells, listed(map(_function, member.functions), MOST_FUNCTIONS), columns))
        functions = {function.name for function in member.functions}
        others = [one for one in member.callers if one.functions[0] not in functions]
        if others and contended >= LEAST_CALLED * finding.contended:
            rows.append(prose(f"for {findings.callers(member, contended)}", " " * 10, " " * 12, columns))
        if member.instructions:
            places = ", ".join(member.instructions[:MOST_PLACES])
            rows.append(prose(f"by instruction: {places}", " " * 10, " " * 12, columns))
    return rows


def _function(one: MemberFunction) -> str:
    """``down_write (rwsem.c:1573)``."""
    return f"{one.name} ({one.source.rpartition('/')[2]})" if one.source else one.name


def writes_of(member: LineMember) -> str:
    """How many stores were sampled, or that the member must have been written without one."""
    if member.writes:
        return f"{member.writes:,}"
    return "inferred" if member.write_inferred else "-"


def _samples(found: Sequence[Finding], shown: ProfileSection) -> str:
    """Samples in equal samples out."""
    things = "accesses" if shown.profile.recording else "samples"
    ended = accounts(shown.profile, found, shown.left_out)
    parts = ", ".join(f"{count:,} {outcome}" for outcome, count in ended.outcomes)
    out = sum(count for _, count in ended.outcomes)
    return f"{ended.samples:,} {things} in = {out:,} out: {parts}" if parts else ""


def _rows(found: Sequence[Finding]) -> str:
    """Rows in equal rows out: how the accesses of all lines ended."""
    rows, parts = _tally(finding.outcomes for finding in found)
    return f"{counted(rows, 'row')} on {counted(len(found), 'line')}: {parts}" if parts else ""


def _agreements(found: Sequence[Finding]) -> str:
    """The same rows by what says what they met, where the profile is of this build."""
    _, parts = _tally(finding.agreements for finding in found)
    return f"by address and by instruction: {parts}" if parts else ""


def _tally(groups: Iterable[Iterable[tuple[str, int]]]) -> tuple[int, str]:
    """How many there are in all, and of each kind."""
    counts: Counter[str] = Counter()
    for group in groups:
        counts.update(dict(group))
    return counts.total(), ", ".join(f"{count:,} {kind}" for kind, count in sorted(counts.items()))


def remark_rows(remarks: Sequence[Remark]) -> list[str]:
    """What the reader of the profile had to remark, with the lines of the text."""
    return [f"line {one.text_line} of the text: {one.text}" if one.text_line else one.text for one in remarks]


def _remarks(remarks: Sequence[Remark], columns: int) -> list[str]:
    if not remarks:
        return []
    rows = remark_rows(remarks)
    more = [f"… and {len(rows) - MOST_REMARKS} more remarks"] if len(rows) > MOST_REMARKS else []
    return ["\n".join(["remarks:", *(prose(one, "  ", "    ", columns) for one in rows[:MOST_REMARKS] + more)])]
