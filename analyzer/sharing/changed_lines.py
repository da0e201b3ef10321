# SPDX-License-Identifier: GPL-2.0-or-later
"""The cache lines of a record that a change touches, before and after it, in a few rows; and what gets worse.

A row names the members of one line that move or are hot, each with its offset, who uses it (``R`` read, ``W`` written)
and, before the change, its share of the contended accesses of the record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from linesmith.analyzer.base.text import listed
from linesmith.analyzer.model import (
    CACHE_LINE_BYTES,
    Candidate,
    Finding,
    JudgedPair,
    Judgement,
    Layout,
    LineMember,
    Member,
)

# Lines, each with a row before and one after; the smallest shares of a member that is hot, and that is worth a figure.
MOST_LINES, LEAST_HOT, LEAST_SHARE = 4, 0.05, 0.005
# Members of a line that gets worse, and pairs of members, that are named.
MOST_NAMES, MOST_WORSE = 3, 2

NOTHING_WORSE = "nothing that the replay saw"
# With the unit of the profile.
KEY = "offset, name (* moves), R read, W write, % of {} on the record's hot lines; unseen: not profiled"


@dataclass(frozen=True, slots=True)
class RecordSide:
    """The record of a change on one side of it, before or after.

    It begins ``inside`` bytes into its object, and objects at multiples of ``step`` bytes.
    """

    layout: Layout
    inside: int
    step: int


@dataclass(frozen=True, slots=True)
class LetteredUse:
    """Who uses a member: ``letters`` are ``R``, ``W`` or both, ``share`` is of the record's contended accesses."""

    letters: str
    share: float


def changed_lines(
    candidate: Candidate,
    sides: tuple[RecordSide, RecordSide],
    finding: Finding,
    members: Iterable[LineMember],
    width: int,
    most: int = MOST_LINES,
) -> tuple[str, list[tuple[str, str]]]:
    """Where the objects are taken to begin, as a phrase, and rows for the lines whose members the change alters.

    A row has ``line 1 before`` or ``after``, and the members in at most ``width`` characters with that; of the hottest
    lines ``most``. ``members`` are those of the record that the profile has.
    """
    known, moved, pairs = tuple(members), candidate.moved, candidate.judgement.pairs
    uses, begin = _uses(known, pairs), _starts(candidate, sides, finding)
    apart = [{one.victim, one.writer} for one in pairs if one.before > one.after and one.victim != one.writer]
    vital = frozenset(one.after for one in candidate.moves if one.after).union(*apart)
    vital |= {name for name, use in uses.items() if use.share >= LEAST_HOT}
    # What the profile has of each anonymous struct or union.
    held = [one for one in sides[0].layout.members if not one.name]
    places = [(one.top, one.object_offset - sides[0].inside) for one in known[::-1] if one.object_offset is not None]
    called = {one.record: name for one in held for name, at in places if one.offset <= at < one.end}
    lines = [_by_line(side.layout, at + side.inside, called) for side, at in zip(sides, begin, strict=True)]
    names = [{line: {one.name for one in there} for line, there in side.items()} for side in lines]
    changed = [line for line in lines[0].keys() | lines[1].keys() if names[0].get(line) != names[1].get(line)]

    def weight(line: int) -> tuple[int, bool, float]:
        before, after = names[0].get(line, set()), names[1].get(line, set())
        parted = sum(pair <= before and not pair <= after for pair in apart)
        share = sum(uses[name].share for name in before | after if name in uses)
        return parted, not moved.isdisjoint(before | after), share

    rows = []
    for line in sorted(sorted(changed, key=weight, reverse=True)[:most]):
        room = width - len(f"line {line} before: ")
        for when, side, there in zip((f"line {line} before", "after"), sides, lines, strict=True):
            # What goes on from the line before was named there.
            begun = frozenset(one.name for one in there.get(line, []) if one in there.get(line - 1, []))
            # Shares are those of the profile, which has nothing of what will be.
            shares = side is sides[0]
            text = _row(there.get(line, []), side.inside, begun, uses, (moved, vital), room, shares=shares)
            rows.append((when, text))
    if all(side.step % CACHE_LINE_BYTES == 0 for side in sides):
        return "", rows
    then = f", and at byte {begin[1]} after the change" if begin[1] != begin[0] else ""
    return f"of an object that begins at byte {begin[0]} of a line, as on the hottest line{then}", rows


def _starts(candidate: Candidate, sides: tuple[RecordSide, RecordSide], finding: Finding) -> tuple[int, int]:
    """The byte of a cache line at which the object begins before and after: as on the line of ``finding``."""
    if all(side.step % CACHE_LINE_BYTES == 0 for side in sides):
        first, second = candidate.firsts or (0, 0)
        return first % CACHE_LINE_BYTES, second % CACHE_LINE_BYTES
    phase = finding.objects[0].phase if finding.objects else 0
    return phase, 0 if phase % max(1, sides[1].step) else phase


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
        victim = counts.setdefault(pair.victim, [0, 0, 0])
        victim[1] += not any(victim[1:])  # a store that misses is one too
        counts.setdefault(pair.writer, [0, 0, 0])[2] += 1
    total = sum(contended for contended, _, _ in counts.values()) or 1
    return {
        name: LetteredUse("R" * bool(reads) + "W" * bool(writes), contended / total)
        for name, (contended, reads, writes) in counts.items()
    }


def _by_line(layout: Layout, begin: int, called: Mapping[int | None, str]) -> dict[int, list[Member]]:
    """The members of each cache line, a member that straddles on both of them; ``called`` names anonymous ones."""
    found: dict[int, list[Member]] = {}
    for one in (one if one.name else replace(one, name=called.get(one.record, "")) for one in layout.members):
        first = begin + one.first_bit // 8
        for line in range(first // CACHE_LINE_BYTES, max(begin + one.used_end - 1, first) // CACHE_LINE_BYTES + 1):
            found.setdefault(line, []).append(one)
    return found


def _row(
    there: Sequence[Member],
    inside: int,
    begun: frozenset[str],
    uses: dict[str, LetteredUse],
    marked: tuple[frozenset[str], frozenset[str]],
    width: int,
    *,
    shares: bool,
) -> str:
    """``0 root R 37%, 16 guard* RW 39% and 5 unseen``: those ``marked`` as vital, of others as many as fit."""
    moved, vital = marked
    if not there:
        return "nothing of the object"
    shown = [one for one in there if one.name in moved | vital or (one.name in uses and uses[one.name].letters)]
    share_of = {one.name: uses[one.name].share if one.name in uses else 0.0 for one in shown}
    shown.sort(key=lambda one: (one.name not in vital, one.name not in moved, -share_of[one.name]))
    text = ""
    for most in range(len(shown), sum(one.name in vital for one in shown) - 1, -1):
        words = []
        for one in sorted(shown[:most], key=lambda one: one.first_bit):
            use = uses.get(one.name)
            share = f" {use.share:.0%}" if use and shares and use.share >= LEAST_SHARE else ""
            letters = f" {use.letters}{share}" if use and use.letters else ""
            name = f"{one.name}{'*' if one.name in moved else ''}"
            words.append(f"rest of {name}" if one.name in begun else f"{inside + one.offset} {name}{letters}")
        counts = (len(shown) - most, "more"), (len(there) - len(shown), "unseen")
        rest = ", ".join(f"{count} {what}" for count, what in counts if count)
        text = " and ".join(filter(None, (", ".join(words), rest)))
        if len(text) <= width:
            break
    return text


def risen(found: Judgement) -> list[tuple[str, str]]:
    """The pairs of members that get more misses with the change, those that get most first."""
    rises = ((old - new, pair) for pair, (old, new) in found.by_pair.items() if round(new) > round(old))
    return [pair for _, pair in sorted(rises)]


def worse(found: Judgement, code: Callable[[str, str], str] = lambda *_: "") -> list[str]:
    """What gets more misses with the change, the pairs with most first, each a clause; empty without a replay.

    ``code`` says in parentheses who stores, by the member that misses and the one that is stored to.
    """
    if not found.runs:
        return []
    pairs, words = risen(found), list[str]()
    for victim, writer in pairs[:MOST_WORSE]:
        old, new = found.by_pair[victim, writer]
        stored = f"{'itself' if victim == writer else writer}{code(victim, writer)}"
        words.append(f"{victim} misses after stores to {stored}: {old:,.0f} -> {new:,.0f}")
    lines = [] if pairs else [one for one in found.lines if round(one.after) > round(one.before)]
    for one in sorted(lines, key=lambda one: one.before - one.after)[:MOST_WORSE]:
        words.append(f"misses on the line of {listed(one.members, MOST_NAMES)}: {one.before:,.0f} -> {one.after:,.0f}")
    if words:
        count = len(pairs or lines)
        more = f", and {count - len(words)} more" * (count > len(words))
        words[-1] += f"{more}; the saving is net of {'it' if count == 1 else 'these'}"
        return words
    rest = sum(one.before - one.after for one in found.lines) - (found.before - found.after)
    return [f"other lines, {rest:,.0f} more misses; the saving is net" if rest >= 1 else NOTHING_WORSE]
