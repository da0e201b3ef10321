# SPDX-License-Identifier: GPL-2.0-or-later
"""The hot lines of a profile in full: the facts that text and page share, and the text of ``hot --line``.

A guess is never shown as what is there.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from linesmith.analyzer.attribution.variables import apart_sentence, lines_apart
from linesmith.analyzer.base.text import listed
from linesmith.analyzer.model import (
    CACHE_LINE_BYTES,
    Bounds,
    CacheLine,
    ContendedLock,
    ElfIdentity,
    Finding,
    LineCost,
    LineMember,
    LineObject,
    Outcome,
    Profile,
    Protected,
    Recording,
    SharingCost,
    Side,
    VariableRow,
)
from linesmith.analyzer.report.prose import WIDTH, counted, first_of, label_rows, prose, runs, table_rows
from linesmith.analyzer.sharing.cost import by_removable
from linesmith.analyzer.sharing.findings import accounts, place_of

MOST_SHARINGS = 6
MOST_CALLERS_SHOWN = 4
MOST_FUNCTIONS = 3
MOST_CONTAINERS = 4
# Functions that may take a lock.
MOST_POSSIBLE = 6
# Elements of an array that are called by their names.
MOST_ELEMENTS = 3
# Lines at one place of objects of one type that are shown in full, and lines that are shown in full in all.
MOST_ALIKE = 3
MOST_RANKS = 12
MOST_LINES = 50
MOST_REMARKS = 8
# A sharing that can cause less than this share of the line's contended accesses is not worth a row.
LEAST_SHARE = 0.01
# What is likelier than this is not shown as 100%.
LEAST_CERTAIN = 0.999
# Of a line's contended accesses, those of a member whose callers are reported.
LEAST_CALLED = 0.05
# A recording knows more misses for a store elsewhere than those that found the line modified, which it counts as
# contended: behind the first of several readers the line is clean again.
_WAITS_IF_COUNTED = "misses after stores by other CPUs"
_SHARING_HEAD = ("waits", "for stores to", "contended", "cycles", "on")
_MEMBER_HEAD = ("offset", "member", "reads", "writes", "share", "functions")
LABEL = 10

# A label and what is known of it.
Fact = tuple[str, str]


@dataclass(frozen=True, slots=True)
class ProfileSection:
    """A report of a profile text, the ``section``-th of ``sections``; lines ``left_out`` are counted, not shown."""

    profile: Profile
    section: int
    sections: int
    left_out: tuple[CacheLine, ...] = ()

    @property
    def which(self) -> str:
        """Which of several reports this is, and how to see another; empty for the only one."""
        other = self.section % self.sections + 1
        shows = f"report {self.section} of {self.sections}, --section {other} shows report {other}"
        return shows * (self.sections > 1)

    @property
    def source(self) -> str:
        """The file, which of several reports in it this is, and its title."""
        title = f" ({self.profile.title})" if self.profile.title else ""
        which = f", report {self.section} of {self.sections}" if self.sections > 1 else ""
        return f"{self.profile.source}{which}{title}"


def line_facts(finding: Finding) -> Iterator[Fact]:
    """What the line costs, the part that a layout can remove, and what lies on it."""
    cost, whole = finding.cost, finding.whole
    if cost.contended or cost.waited:
        measured = (
            "counted with assumed latencies" if cost.exact else "as sampled" if cost.timed else "latencies assumed"
        )
        slow = f" and {cost.slow_cycles:,.0f} on other slow loads" if cost.slow_cycles >= 1 else ""
        things = _WAITS_IF_COUNTED if cost.exact else f"contended {'accesses' if finding.simulated else 'loads'}"
        yield "cost", f"{cost.cycles:,.0f} cycles on {things}{slow} ({measured})"
        removable = _removable(cost.removable, cost.removable_cycles, finding)
        yield "removable", f"{removable}: {share_range(cost.share)} of the {whole}"
        if cost.adjacent.most:
            adjacent = _removable(cost.adjacent, cost.adjacent_cycles, finding)
            yield "adjacent", f"{adjacent}, if the other half of the 128-byte pair is to blame"
    for one in _joined_objects(finding.objects):
        yield from _object_facts(one, finding)


def _removable(amount: Bounds, cycles: Bounds, finding: Finding) -> str:
    cost = finding.cost
    of_all = f"{cost.contended:,} {_WAITS_IF_COUNTED}" if cost.exact else _contended(cost.contended, finding)
    return f"{count_range(amount)} of {of_all}, {count_range(cycles)} cycles"


def _contended(count: int, finding: Finding) -> str:
    """What is counted as contended: a recording also counts stores that took the line from another CPU."""
    return counted(count, f"contended {'access' if finding.simulated else 'load'}")


def share_of_line(finding: Finding) -> str:
    """The share of the line, and its accesses; that no store was sampled does not say that there was none."""
    whole = f"the {finding.whole}" if finding.quoted else "all"
    sampled = finding.stores or finding.simulated
    stores = counted(finding.stores, "store") if sampled else "no stores sampled"
    return f"{finding.share:.1%} of {whole}, {_contended(finding.contended, finding)}, {stores}"


def _object_facts(one: LineObject, finding: Finding) -> Iterator[Fact]:
    """The object's type, where it begins and lies, how sure that is, and which records hold it."""
    if not one.type:
        yield "object", ": ".join(words for words in (one.outcome.value, one.origin, one.reason) if words)
        return
    yield "object", _place(one, finding)
    yield from [("memory", one.origin)] if one.origin else []
    yield "evidence", _certainty(one, finding)
    yield from [("but", one.reason)] if one.reason else []
    if one.containers and one.outcome is not Outcome.INNER_TYPE_ONLY:
        yield "held by", listed(one.containers, MOST_CONTAINERS)


def _place(one: LineObject, finding: Finding) -> str:
    """The object's type and where it begins: ``inode, begins 48 bytes before the line (phase 16 of 64)``.

    Of one that is laid out otherwise in the build of the report, which members its offsets in the line are.
    """
    if one.laid_out_otherwise:
        sure = [member for member in finding.members if member.begin == one.start and not member.doubted]
        tops = {member.top: f"{member.offset:#x} {member.top}" for member in reversed(sure)}
        words = f" in another layout: {', '.join(reversed(tops.values()))}" if tops else ", which members is not known"
        return f"{one.type}{words}"
    where = f"{abs(one.start)} bytes {'before' if one.start < 0 else 'into'} the line" if one.start else "with the line"
    guess = "not known; most like " if one.outcome is Outcome.CANNOT_TELL else ""
    return f"{guess}{one.type}, begins {where} (phase {one.phase} of {finding.bytes})"


def _certainty(one: LineObject, finding: Finding) -> str:
    """How the attribution ended, and how far ahead of the runner-up the object is."""
    things = "accesses" if finding.simulated else "samples"
    rival = f"{one.runner_up.type} (phase {one.runner_up.phase})" if one.runner_up else ""
    if one.outcome is Outcome.CANNOT_TELL:
        against = f"; {one.margin:.1%} likely against {rival}" if rival else ""
        return f"{one.outcome.value}: it explains {one.score:.0%} of the {things}{against}"
    likely = "over 99.9%" if one.margin > LEAST_CERTAIN else f"{one.margin:.1%}"
    against = f", {likely} likely against the next best, {rival}" if rival else ""
    return f"{one.outcome.value}: {one.score:.0%} of the {things} explained{against}"


def _joined_objects(objects: Sequence[LineObject]) -> Iterator[LineObject]:
    """The objects in their order; where the first element of such an array is met, all of it in one."""
    seen: set[VariableRow] = set()
    for one in objects:
        array = one.row if one.variable else None
        if array is None or array.count == 1:
            yield one
        elif array not in seen:
            seen.add(array)
            first, *others = sorted((other for other in objects if other.row == array), key=lambda other: other.start)
            yield replace(first, origin=listed([first.origin, *(other.variable for other in others)], MOST_ELEMENTS))


def share_of_member(member: LineMember, finding: Finding) -> str:
    """The member's part of what is contended on the line; ``-`` where nothing is."""
    contended = sum(function.contended for function in member.functions)
    return f"{contended / finding.contended:.1%}" if finding.contended else "-"


def writes_of(member: LineMember) -> str:
    """How many stores were sampled, or that the member must have been written without one."""
    if member.writes:
        return f"{member.writes:,}"
    return "inferred" if member.write_inferred else "-"


def heavy_sharings(cost: LineCost) -> list[SharingCost]:
    """The sharings that are worth a row, heaviest first."""
    return [one for one in cost.sharings if one.contended.most >= max(1, LEAST_SHARE * cost.contended)]


def places(victim: Side, writer: Side) -> str:
    """CPUs and nodes of both in a few words: ``4 CPUs after 2, nodes 0-1``.

    No CPU waits for itself: where each row of a member that waits for itself has one CPU, they are two.
    """
    if victim.member == writer.member and victim.cpu_count == writer.cpu_count == 1 and victim.nodes == writer.nodes:
        return f"1 CPU after another{f', {_nodes(victim)}' if victim.nodes else ''}"
    if victim.nodes == writer.nodes:
        nodes = f", {_nodes(victim)}" if victim.nodes else ""
        return f"{_cpus(victim)} after {_cpus(writer)}{nodes}"
    parts = (" of ".join(part for part in (_cpus(side), _nodes(side)) if part) for side in (victim, writer))
    return " after ".join(parts)


def _cpus(side: Side) -> str:
    return counted(side.cpu_count, "CPU") if side.cpu_count else "unknown CPUs"


def _nodes(side: Side) -> str:
    return f"node{'' if len(side.nodes) == 1 else 's'} {runs(side.nodes)}" if side.nodes else ""


def count_range(bounds: Bounds) -> str:
    """``817``, or ``0 to 817`` where only limits are known."""
    least, most = f"{bounds.least:,.0f}", f"{bounds.most:,.0f}"
    return most if least == most else f"{least} to {most}"


def share_range(bounds: Bounds) -> str:
    """The same in per cent."""
    least, most = f"{bounds.least:.1%}", f"{bounds.most:.1%}"
    return most if least == most else f"{least} to {most}"


def reasons(finding: Finding) -> Iterator[str]:
    """What stands below the diagnosis: emulation, the lock and what can help, why it is that kind of sharing."""
    yield from [apart_sentence(finding.apart)] if finding.apart else []
    yield from _lock_rows(finding.lock) if finding.lock else ()
    yield from (*finding.triage.reasons, *finding.cost.notes)


def _lock_rows(lock: ContendedLock) -> Iterator[str]:
    record = f" ({lock.record})" if lock.record and lock.record != lock.name else ""
    protects = "what it protects the code does not tell"
    if lock.members:
        who = f"; held in {', '.join(lock.holders)}" if lock.holders else ""
        how = f" by {', '.join(lock.taken_by)}" if lock.taken_by else ""
        protects = f"it probably protects {', '.join(map(_protected, lock.members))}{who}{how}"
    yield f"the lock is {lock.type}.{lock.name}{record}; {protects}"
    if lock.possible:
        yield f"functions that lock it in this binary, possible takers: {listed(lock.possible, MOST_POSSIBLE)}"
    yield from (f"what can help: {remedy}" for remedy in lock.remedies)


def _protected(one: Protected) -> str:
    why = ["named alike"] if one.named_alike else []
    if one.held:
        why.append(f"{one.held} of {one.writers} functions that write it take the lock")
    elif one.writers:
        why.append("functions that write it do not take the lock themselves")
    return f"{one.member} ({'; '.join(why)})"


# The profile around the lines.


def recording_rows(recording: Recording) -> list[str]:
    """What was recorded, on which simulated machine, and what had no room."""
    caches = f"{recording.cache_bytes:,}-byte caches" if recording.cache_bytes else "unbounded caches"
    nodes = counted(len(set(recording.nodes)) or 1, "node")
    machine = f"{counted(len(recording.nodes), 'CPU')} on {nodes}, {caches}"
    lines = f"{recording.line_bytes}-byte lines, {recording.ring} accesses"
    dropped = [
        f"{count:,} {name.removeprefix('dropped_')}"
        for name, count in recording.counts
        if name.startswith("dropped_") and count
    ]
    return [
        f"recorded on {recording.on}: {shlex.join(recording.command)}",
        f"simulated: {machine}, {lines}; counts are exact, not sampled",
        *([f"dropped for want of room: {', '.join(dropped)}"] if dropped else []),
    ]


def left_out_rows(left_out: Sequence[CacheLine], profile: Profile) -> list[str]:
    """What is not shown, with its share: lines excluded by owner, and lines that were not looked at."""
    total = sum(line.contended for line in profile.lines) or 1
    owners = lines_apart(profile)
    lines: dict[str, list[int]] = {}
    for line in left_out:
        owner = "" if line.address is None else owners.get(line.address, "")
        lines.setdefault(owner, []).append(line.contended)
    rows = []
    for owner in sorted(lines, reverse=True):
        share = sum(lines[owner]) / total
        what = f"{counted(len(lines[owner]), 'line')} with {share:.1%} of all contended accesses"
        rows.append(f"set apart, of {owner}: {what}" if owner else f"not looked at: {what}")
    return rows


def remark_rows(profile: Profile, most: int = MOST_REMARKS) -> list[str]:
    """What the reader of the profile had to remark, with the lines of the text."""
    rows = [f"line {one.text_line} of the text: {one.text}" if one.text_line else one.text for one in profile.remarks]
    return first_of(rows, most)


def examples(found: Iterable[Finding]) -> tuple[list[tuple[Finding, tuple[int, ...]]], int]:
    """The findings to show in full, the last of each place with the ranks of the lines like it; and how many are left.

    Lines of which no object is known are like no other.
    """
    groups: dict[object, list[Finding]] = {}
    for finding in found:
        groups.setdefault(place_of(finding) or finding.rank, []).append(finding)
    ordered = by_removable(one for group in groups.values() for one in group[:MOST_ALIKE])
    alike = {group[MOST_ALIKE - 1].rank: group[MOST_ALIKE:] for group in groups.values() if len(group) > MOST_ALIKE}
    shown = [(one, tuple(sorted(more.rank for more in alike.get(one.rank, ())))) for one in ordered[:MOST_LINES]]
    return shown, len(ordered) - len(shown)


# The lines as text.


def render_lines(found: Sequence[Finding], elf: ElfIdentity, shown: ProfileSection, columns: int = WIDTH) -> str:
    """The findings in their order, then where all samples ended and what the reader of the profile had to remark."""
    profile = shown.profile
    head = [f"{shown.source}{'; --section N shows report N' if shown.sections > 1 else ''}"]
    head += [f"{elf.path}{f' build-id {elf.build_id}' if elf.build_id else ''}"]
    head += recording_rows(profile.recording) if profile.recording else []
    blocks = [_wrapped(head, columns)]
    in_full, untold = examples(found)
    for finding, alike in in_full:
        blocks.append("\n".join(_finding(finding, columns)))
        if alike:
            place = place_of(finding)
            where = f" ({place[0]}, from byte {place[1]} on)" if place else ""
            numbers = ", ".join(map(str, alike[:MOST_RANKS])) + (" ..." if len(alike) > MOST_RANKS else "")
            more = f"… and {counted(len(alike), 'more line')} like these{where}: {numbers}; --format json has each"
            blocks.append(_wrapped([more], columns))
    blocks += [f"… and {untold:,} more lines; --format json has each"] if untold else []
    ended = accounts(profile, found, shown.left_out)
    parts = ", ".join(f"{count:,} {outcome}" for outcome, count in ended.outcomes)
    things, out = "accesses" if profile.recording else "samples", sum(count for _, count in ended.outcomes)
    sums = [f"{ended.samples:,} {things} in = {out:,} out: {parts}"] if parts else []
    blocks.append(_wrapped([*left_out_rows(shown.left_out, profile), *sums], columns))
    remarks = [prose(one, "  ", "    ", columns) for one in remark_rows(profile)]
    blocks += ["\n".join(["remarks:", *remarks])] if remarks else []
    return "\n\n".join(filter(None, blocks)) + "\n"


def _wrapped(rows: Iterable[str], columns: int) -> str:
    return "\n".join(prose(one, then="  ", columns=columns) for one in rows)


def _finding(finding: Finding, columns: int) -> Iterator[str]:
    address = f" at {finding.address:#x}" if finding.address is not None else ""
    yield prose(f"line {finding.rank}{address}: {share_of_line(finding)}", then="  ", columns=columns)
    yield from label_rows(line_facts(finding), LABEL, columns)
    if finding.members:
        members = [_MEMBER_HEAD, *(_member_cells(one, finding) for one in finding.members)]
        yield from ("", *table_rows(members, "><>>>", columns), "")
    if heavy := heavy_sharings(finding.cost):
        yield from table_rows([_SHARING_HEAD, *map(_sharing_cells, heavy[:MOST_SHARINGS])], "<<>>", columns)
        yield from ([f"  … and {len(heavy) - MOST_SHARINGS} more"] if len(heavy) > MOST_SHARINGS else [])
        yield ""
    yield prose(finding.triage.sentence, "  ", "      ", columns)
    yield from (prose(reason, "    - ", "      ", columns) for reason in reasons(finding))


def _member_cells(member: LineMember, finding: Finding) -> tuple[str, ...]:
    """Offset, name, counts, share, and the functions with their lines, and who called those that are helpers."""
    named = ((one.name, one.source.rpartition("/")[2]) for one in member.functions)
    functions = listed((f"{name} ({line})" if line else name for name, line in named), MOST_FUNCTIONS)
    contended = sum(function.contended for function in member.functions)
    direct = {function.name for function in member.functions}
    if contended >= LEAST_CALLED * finding.contended and any(one.functions[0] not in direct for one in member.callers):
        came = (f"{' from '.join(one.functions)} {one.count / contended:.0%}" for one in member.callers)
        functions = f"{functions}; for {listed(came, MOST_CALLERS_SHOWN)}"
    counts = f"{member.reads:,}", writes_of(member), share_of_member(member, finding)
    return f"{member.offset:#x}", member.called, *counts, functions


def _sharing_cells(one: SharingCost) -> tuple[str, ...]:
    writer = "itself" if one.writer.member == one.victim.member else one.writer.member
    span = "" if one.span == CACHE_LINE_BYTES else f", {one.span}-byte pair"
    counts = count_range(one.contended), count_range(one.cycles)
    return one.victim.member, writer, *counts, f"{places(one.victim, one.writer)}{span}"
