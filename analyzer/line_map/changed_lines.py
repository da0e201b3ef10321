# SPDX-License-Identifier: GPL-2.0-or-later
"""The cache lines of a record that a change touches, before and after it, in a few rows; and what gets worse.

A row names the members of one line that move or are hot, each with its offset, who uses it (``R`` read, ``W`` written)
and its share of the contended accesses of the record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from linesmith.analyzer.base.text import listed
from linesmith.analyzer.model import (
    CACHE_LINE_BYTES,
    Candidate,
    Finding,
    JudgedLine,
    JudgedPair,
    Judgement,
    Layout,
    LineMember,
    Member,
)

# Lines, each with a row before and one after; the smallest shares of a member that is hot, and that is worth a figure.
MOST_LINES, LEAST_HOT, LEAST_SHARE = 4, 0.05, 0.005
# Lines, or pairs, that a sentence names as worse, and members that are named of a line.
MOST_WORSE, MOST_NAMES = 1, 3

KEY = "offset member; R read, W written; % of the record's contention; * moves; cold: no access"


@dataclass(frozen=True, slots=True)
class LetteredUse:
    """Who uses a member: ``letters`` are ``R``, ``W`` or both, ``share`` is of the record's contended accesses."""

    letters: str
    share: float


def starts(candidate: Candidate, finding: Finding, granules: tuple[int, int]) -> tuple[int, int]:
    """The byte of a cache line at which the object begins before and after: as on the line of ``finding``.

    ``granules`` are the bytes between the places at which objects can begin.
    """
    if not any(step % CACHE_LINE_BYTES for step in granules):
        first, second = candidate.firsts or (0, 0)
        return first % CACHE_LINE_BYTES, second % CACHE_LINE_BYTES
    phase = finding.objects[0].phase if finding.objects else 0
    return phase, 0 if phase % max(1, granules[1]) else phase


def changed_lines(
    layouts: tuple[Layout, Layout],
    begin: tuple[int, int],
    members: Iterable[LineMember],
    candidate: Candidate,
    width: int,
    most: int = MOST_LINES,
) -> Iterator[tuple[str, str]]:
    """Rows for the lines whose members change, the hottest lines first to be chosen: ``line 1 before`` and the members.

    ``layouts`` are those before and after the ``candidate``, ``begin`` the byte of a line at which each begins,
    ``members`` those of the record that the profile has. Each of ``most`` lines has two rows, of ``width`` characters.
    """
    moved, uses = candidate.moved, _uses(members, candidate.judgement.pairs if candidate.judgement else ())
    sides = [_by_line(layout, first) for layout, first in zip(layouts, begin, strict=True)]
    names = [{line: {one.name for one in found} for line, found in side.items()} for side in sides]
    changed = [line for line in sides[0].keys() | sides[1].keys() if names[0].get(line) != names[1].get(line)]

    def weight(line: int) -> tuple[bool, float]:
        there = names[0].get(line, set()) | names[1].get(line, set())
        return bool(there & moved), sum(uses[name].share for name in there if name in uses)

    for line in sorted(sorted(changed, key=weight, reverse=True)[:most]):
        for when, side in zip((f"line {line} before", "after"), sides, strict=True):
            yield when, _row(side.get(line, []), uses, moved, width - len(f"line {line} before: "))


def _uses(members: Iterable[LineMember], pairs: Iterable[JudgedPair]) -> dict[str, LetteredUse]:
    """By member of the record, also of an anonymous struct in it; the replay knows lines that were not examined."""
    counts: dict[str, list[int]] = {}
    for one in members:
        if not one.doubted:
            count = counts.setdefault(one.top, [0, 0, 0])
            contended = sum(function.contended for function in one.functions)
            for at, more in enumerate((contended, one.reads, one.writes or one.written)):
                count[at] += more
    for pair in pairs:
        counts.setdefault(pair.victim, [0, 0, 0])[1] += 1
        counts.setdefault(pair.writer, [0, 0, 0])[2] += 1
    total = sum(contended for contended, _, _ in counts.values()) or 1
    return {
        name: LetteredUse("R" * bool(reads) + "W" * bool(writes), contended / total)
        for name, (contended, reads, writes) in counts.items()
    }


def _by_line(layout: Layout, begin: int) -> dict[int, list[Member]]:
    """The members of each cache line, a member that straddles on both of them."""
    found: dict[int, list[Member]] = {}
    for one in layout.members:
        first = begin + one.first_bit // 8
        for line in range(first // CACHE_LINE_BYTES, max(begin + one.used_end - 1, first) // CACHE_LINE_BYTES + 1):
            found.setdefault(line, []).append(one)
    return found


def _row(there: Sequence[Member], uses: dict[str, LetteredUse], moved: frozenset[str], width: int) -> str:
    """``0 root R 37%, 16 guard* RW 39% and 5 cold``: as many members as fit, hot ones first, then those that move."""
    if not there:
        return "nothing of the object"
    shown = [one for one in there if one.name in moved or (one.name in uses and uses[one.name].letters)]
    share_of = {one.name: uses[one.name].share if one.name in uses else 0.0 for one in shown}
    shown.sort(key=lambda one: (share_of[one.name] < LEAST_HOT, one.name not in moved, -share_of[one.name]))
    text = ""
    for most in range(len(shown), -1, -1):
        words = []
        for one in sorted(shown[:most], key=lambda one: one.first_bit):
            use = uses.get(one.name)
            share = f" {use.share:.0%}" if use and use.share >= LEAST_SHARE else ""
            letters = f" {use.letters}{share}" if use and use.letters else ""
            words.append(f"{one.offset} {one.name}{'*' if one.name in moved else ''}{letters}")
        counts = (len(shown) - most, "more"), (len(there) - len(shown), "cold")
        rest = ", ".join(f"{count} {what}" for count, what in counts if count)
        text = " and ".join(filter(None, (", ".join(words), rest)))
        if len(text) <= width:
            break
    return text


def worse(found: Judgement) -> str:
    """What gets more misses with the change, as a clause; empty without a replay."""
    if not found.runs:
        return ""
    grown: list[tuple[str, JudgedLine | JudgedPair]] = [
        *((f"the line of {listed(one.members, MOST_NAMES)}", one) for one in found.lines),
        *((f"{one.victim} after stores to {one.writer}", one) for one in found.pairs),
    ]
    worst = [(what, one) for what, one in grown if round(one.after) > round(one.before)]
    texts = (f"{what}, {one.before:,.0f} -> {one.after:,.0f} misses" for what, one in worst[:MOST_WORSE])
    return "; ".join((*texts, "the saving is net of it")) if worst else "nothing that the replay saw"
