# SPDX-License-Identifier: GPL-2.0-or-later
"""What a report says of a line and of its profile, in rows: costs, who waits for whom, objects, locks, the recording.

A guess is never shown as what is there.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from linesmith.analyzer.attribution.variables import lines_apart
from linesmith.analyzer.base.text import listed
from linesmith.analyzer.model import (
    CACHE_LINE_BYTES,
    Bounds,
    CacheLine,
    ContendedLock,
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
from linesmith.analyzer.report.prose import WIDTH, counted, in_columns, row, runs, widest

MOST_SHARINGS = 6
MOST_CALLERS_SHOWN = 4
# Functions that may take a lock.
MOST_POSSIBLE = 6
# Elements of an array that are called by their names.
MOST_ELEMENTS = 3
# A sharing that can cause less than this share of the line's contended accesses is not worth a row.
LEAST_SHARE = 0.01
# A recording knows more misses for a store elsewhere than those that found the line modified, which it counts as
# contended: behind the first of several readers the line is clean again.
_WAITS_IF_COUNTED = "misses after stores by other CPUs"
_SHARING_HEAD = ("waits", "for stores to", "contended", "cycles", "on")
# Columns that the cells but the last have where there is room.
_SHARING_WIDTHS = (24, 24, 14, 20)


@dataclass(frozen=True, slots=True)
class ProfileSection:
    """A report of a profile text, the ``section``-th of ``sections``; lines ``left_out`` are counted, not shown."""

    profile: Profile
    section: int
    sections: int
    left_out: tuple[CacheLine, ...] = ()

    @property
    def source(self) -> str:
        """The file, which of several reports in it this is, and its title."""
        title = f" ({self.profile.title})" if self.profile.title else ""
        which = f", report {self.section} of {self.sections}" if self.sections > 1 else ""
        return f"{self.profile.source}{which}{title}"


def cost_rows(cost: LineCost, accesses: str, whole: str = "profile") -> list[str]:
    """The cost of the line and the part that a layout can remove, indented by two; none where nothing waited.

    ``whole`` is what shares are of.
    """
    if not cost.contended and not cost.waited:
        return []
    measured = "counted with assumed latencies" if cost.exact else "as sampled" if cost.timed else "latencies assumed"
    slow = f" and {cost.slow_cycles:,.0f} on other slow loads" if cost.slow_cycles >= 1 else ""
    things = _WAITS_IF_COUNTED if cost.exact else f"contended {accesses}"
    rows = [f"  cost     {cost.cycles:,.0f} cycles on {things}{slow} ({measured})"]
    removable = _removable(cost.removable, cost.removable_cycles, cost, accesses)
    rows.append(f"  removable {removable}: {share_range(cost.share)} of the {whole}")
    if cost.adjacent.most:
        adjacent = _removable(cost.adjacent, cost.adjacent_cycles, cost, accesses)
        rows.append(f"  adjacent {adjacent}, if the other half of the 128-byte pair is to blame")
    return rows


def _removable(amount: Bounds, cycles: Bounds, cost: LineCost, accesses: str) -> str:
    of_all = f"{cost.contended:,} {_WAITS_IF_COUNTED}" if cost.exact else contended_accesses(cost.contended, accesses)
    return f"{count_range(amount)} of {of_all}, {count_range(cycles)} cycles"


def contended_accesses(count: int, accesses: str) -> str:
    """``1 contended load``, ``2,000 contended accesses``; ``accesses`` is what the profile counts."""
    return counted(count, f"contended {'access' if accesses == 'accesses' else 'load'}")


def sharing_rows(cost: LineCost, columns: int = WIDTH) -> list[str]:
    """A table of who waits for stores to what, heaviest first, indented by two."""
    heavy = heavy_sharings(cost)
    if not heavy:
        return []
    table = [_SHARING_HEAD, *map(_sharing, heavy[:MOST_SHARINGS])]
    *least, last = widest(table)
    roomy = [*map(max, least, _SHARING_WIDTHS)]
    widths = roomy if sum(roomy) + len(roomy) + 3 + last <= columns else least
    rows = [row(f"  {in_columns(cells[:-1], widths, '<<>>', ' ')}  ", cells[-1], columns) for cells in table]
    more = len(heavy) - MOST_SHARINGS
    return [*rows, f"  … and {more} more"] if more > 0 else rows


def heavy_sharings(cost: LineCost) -> list[SharingCost]:
    """The sharings that are worth a row, heaviest first."""
    return [one for one in cost.sharings if one.contended.most >= max(1, LEAST_SHARE * cost.contended)]


def _sharing(one: SharingCost) -> tuple[str, ...]:
    writer = "itself" if one.writer.member == one.victim.member else one.writer.member
    span = "" if one.span == CACHE_LINE_BYTES else f", {one.span}-byte pair"
    counts = count_range(one.contended), count_range(one.cycles)
    return one.victim.member, writer, *counts, f"{places(one.victim, one.writer)}{span}"


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
    return f"{side.cpu_count} CPU{'' if side.cpu_count == 1 else 's'}" if side.cpu_count else "unknown CPUs"


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


def place(one: LineObject, finding: Finding) -> str:
    """The object's type and where it begins: ``inode, begins 48 bytes before the line (phase 16 of 64)``.

    Of one that is laid out otherwise in the build of the report, which members its offsets in the line are.
    """
    if one.ways and one.outcome is Outcome.RESOLVED:
        sure = [member for member in finding.members if member.begin == one.start and not member.doubted]
        tops = {member.top: f"{member.offset:#x} {member.top}" for member in reversed(sure)}
        words = f" in another layout: {', '.join(reversed(tops.values()))}" if tops else ", which members is not known"
        return f"{one.type}{words}"
    where = f"{abs(one.start)} bytes {'before' if one.start < 0 else 'into'} the line" if one.start else "with the line"
    guess = "not known; most like " if one.outcome is Outcome.CANNOT_TELL else ""
    return f"{guess}{one.type}, begins {where} (phase {one.phase} of {finding.bytes})"


def certainty(one: LineObject, finding: Finding) -> str:
    """How the attribution ended, and how far ahead of the runner-up the object is."""
    things = "accesses" if finding.simulated else "samples"
    rival = f"{one.runner_up.type} (phase {one.runner_up.phase})" if one.runner_up else ""
    if one.outcome is Outcome.CANNOT_TELL:
        ahead = f", and is ahead of {rival} by {one.margin:.1%}" if rival else ""
        return f"{one.outcome.value}: it explains {one.score:.0%} of the {things}{ahead}"
    against = f"; runner-up {rival}, confidence {one.margin:.1%}" if rival else ""
    return f"{one.outcome.value}: {one.score:.0%} of the {things} explained{against}"


def joined_objects(objects: Sequence[LineObject]) -> Iterator[LineObject]:
    """The objects in their order; where the first element of such an array is met, all of it in one."""
    seen: set[VariableRow] = set()
    for one in objects:
        row = one.row if one.variable else None
        if row is None or row.count == 1:
            yield one
        elif row not in seen:
            seen.add(row)
            first, *others = sorted((other for other in objects if other.row == row), key=lambda other: other.start)
            yield replace(first, origin=listed([first.origin, *(other.variable for other in others)], MOST_ELEMENTS))


def callers(member: LineMember, contended: int) -> str:
    """Who came to a member and how often, with who called that; shares are of its ``contended`` accesses."""
    told = [f"{' from '.join(one.functions)} {one.count / contended:.0%}" for one in member.callers]
    return listed(told, MOST_CALLERS_SHOWN)


def lock_rows(lock: ContendedLock | None) -> list[str]:
    """What stands below the diagnosis; none where no lock is contended or its type is not known."""
    if lock is None:
        return []
    record = f" ({lock.record})" if lock.record and lock.record != lock.name else ""
    rows = [f"the lock is {lock.type}.{lock.name}{record}; {_protects(lock)}"]
    if lock.possible:
        rows.append(f"functions that lock it in this binary, possible takers: {listed(lock.possible, MOST_POSSIBLE)}")
    return [*rows, *(f"what can help: {remedy}" for remedy in lock.remedies)]


def _protects(lock: ContendedLock) -> str:
    if not lock.members:
        return "what it protects the code does not tell"
    who = f"; held in {', '.join(lock.holders)}" if lock.holders else ""
    how = f" by {', '.join(lock.taken_by)}" if lock.taken_by else ""
    return f"it probably protects {', '.join(map(_member, lock.members))}{who}{how}"


def _member(one: Protected) -> str:
    reasons = ["named alike"] if one.named_alike else []
    if one.held:
        reasons.append(f"{one.held} of {one.writers} functions that write it take the lock")
    elif one.writers:
        reasons.append("functions that write it do not take the lock themselves")
    return f"{one.member} ({'; '.join(reasons)})"


def recording_rows(recording: Recording) -> list[str]:
    """The rows that stand below the title of a report about a recorded profile."""
    nodes = len(set(recording.nodes)) or 1
    caches = f"{recording.cache_bytes:,}-byte caches" if recording.cache_bytes else "unbounded caches"
    machine = f"{len(recording.nodes)} CPUs on {nodes} node{'s' if nodes > 1 else ''}, {caches}"
    lines = f"{recording.line_bytes}-byte lines, {recording.ring} accesses"
    rows = [
        f"recorded on {recording.on}: {shlex.join(recording.command)}",
        f"simulated: {machine}, {lines}; counts are exact, not sampled",
    ]
    dropped = [
        f"{count:,} {name.removeprefix('dropped_')}"
        for name, count in recording.counts
        if name.startswith("dropped_") and count
    ]
    return rows + ([f"dropped for want of room: {', '.join(dropped)}"] if dropped else [])


def stores_of(finding: Finding) -> str:
    """How many stores the line has; that none was sampled does not say that there was none, but of a recording."""
    if finding.stores or finding.simulated:
        return counted(finding.stores, "store")
    return "no stores sampled"


def left_out_rows(left_out: Sequence[CacheLine], profile: Profile) -> list[str]:
    """What is not shown, with its share: lines set apart by owner, and lines that were not looked at."""
    total = sum(line.contended for line in profile.lines) or 1
    owners = lines_apart(profile)
    lines: Counter[str] = Counter()
    contended: Counter[str] = Counter()
    for line in left_out:
        owner = "" if line.address is None else owners.get(line.address, "")
        lines[owner] += 1
        contended[owner] += line.contended
    rows = []
    for owner in sorted(lines, reverse=True):
        what = f"{counted(lines[owner], 'line')} with {contended[owner] / total:.1%} of all contended accesses"
        rows.append(f"set apart, of {owner}: {what}" if owner else f"not looked at: {what}")
    return rows
