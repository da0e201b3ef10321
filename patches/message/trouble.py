# SPDX-License-Identifier: GPL-2.0-or-later
"""What a commit message begins with: which members meet on the line, who reads and writes them, and how often.

With the cache lines that the change touches, before and after.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from linesmith.analyzer.base.text import WIDTH, listed, paragraph, per_cent, with_span
from linesmith.analyzer.model import Candidate, Finding, JudgedPair, Judgement, LineMember, Residual, top_member
from linesmith.analyzer.sharing.changed_lines import KEY, NOTHING_WORSE, RecordSide, changed_lines, worse
from linesmith.analyzer.sharing.parts import users_of
from linesmith.patches.edit.verify import Verification

INDENT = "  "
# Functions of a member that are named, and members that are named as the ones that wait.
_FUNCTIONS = 2
_MEMBERS = 3
_OF_LINE = re.compile(r" \(\d+(?:\.\d+)?% of the line\)")
# Clauses of a diagnosis about what no order of members changes.
_STAYS = re.compile(r"(?:^|; )([^;]+?), which (?:moving members does not remove|no layout removes)")


@dataclass(frozen=True, slots=True)
class ProfileOrigin:
    """Where the profile is from: ``machine`` and ``command`` (``recorded_from``), and who used what.

    ``members`` are those of the record on all hot lines.
    """

    machine: str = "the profile"
    command: str = ""
    members: tuple[LineMember, ...] = ()


NO_ORIGIN = ProfileOrigin()


def separated(residuals: Sequence[Residual]) -> list[Residual]:
    """The pairs of direct members that meet less often than before on lines of the smallest size, each once."""
    size = min((one.line_bytes for one in residuals), default=0)
    found: dict[tuple[str, str], Residual] = {}
    for one in residuals:
        first, second = map(top_member, (one.first, one.second))
        if one.line_bytes == size and one.after < one.before and first != second:
            found.setdefault((first, second), replace(one, first=first, second=second))
    return list(found.values())


def joined(names: Sequence[str], most: int) -> str:
    """``a, b and c``; names beyond ``most`` are counted."""
    if len(names) > most:
        return listed(names, most)
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def things(found: Judgement, finding: Finding) -> str:
    """What a judgement counts: misses that were replayed, or what the profile has."""
    return "misses" if found.runs == 1 else finding.unit


def is_judged(found: Judgement) -> bool:
    """Whether the change was replayed."""
    return bool(found.before and found.whole and found.runs)


def trouble(candidate: Candidate, finding: Finding, title: str, profiled: ProfileOrigin, most: int) -> str:
    """Who meets whom and what that costs, with and without the change, in at most ``most`` rows of who does it."""
    if is_judged(candidate.judgement):
        return _judged(candidate, finding, title, profiled, most)
    met = [(one.first, one.second) for one in separated(candidate.residuals)]
    met = met or [(one.reader, one.writer) for one in finding.triage.pairs]
    written = {member.top for member in finding.members if member.written}
    stores = f"{finding.stores:,} stores" if finding.stores else "no stores (writers are known from the code)"
    counted = f"{finding.contended:,} contended loads and {stores} on the line"
    if finding.simulated:
        counted = f"{finding.contended:,} accesses that find the line modified in another CPU's cache (contended)"
    of = f"{per_cent(finding.share)}% of those of the {finding.whole}"
    machine = f"{profiled.machine[:1].upper()}{profiled.machine[1:]}"
    rows = list(_members(finding, {name for pair in met for name in pair}))
    head = f"{_shared(title, met, written)} {machine} has {counted}, {of}{':' if rows else '.'}".lstrip()
    return _table(head, rows, most, "members")


def _table(head: str, rows: Sequence[str], most: int, what: str) -> str:
    """A paragraph and at most ``most`` rows below it."""
    if len(rows) > most:
        rows = [*rows[: most - 1], f"{len(rows) - most + 1} more {what}"]
    body = "\n".join(paragraph(f"{INDENT}{row}", then=3 * INDENT) for row in rows)
    return f"{paragraph(head)}\n\n{body}" if body else paragraph(head)


def _shared(title: str, pairs: Sequence[tuple[str, str]], written: set[str]) -> str:
    """A sentence about the first of the pairs and the others with its writer: who shares a line with whom."""
    if not pairs:
        return ""
    writer = next((name for name in pairs[0][::-1] if name in written), pairs[0][1])
    others = list(dict.fromkeys(name for pair in pairs if writer in pair for name in pair if name != writer))
    shares = "share" if len(others) > 1 else "shares"
    both = others[0] in written and len(others) == 1
    does = ", and both are written" if both else ", which is written" if writer in written else ""
    return f"In {title}, {joined(others, _MEMBERS)} {shares} a cache line with {writer}{does}."


# What replay says.


def replayed_pairs(candidate: Candidate) -> list[JudgedPair]:
    """The pairs that miss less because the change puts them farther apart, or one of them is of a neighbour."""
    was, now = ({one.name: one.offset for one in side.members} for side in (candidate.before, candidate.after))

    def moves(pair: tuple[str, str]) -> bool:
        first, second = map(top_member, pair)
        if not {first, second} <= was.keys() & now.keys():
            return True
        return was[first] - was[second] != now[first] - now[second]

    better = (
        (pair, *counts) for pair, counts in candidate.judgement.by_pair.items() if counts[0] > counts[1] and moves(pair)
    )
    return [JudgedPair(*pair, true_sharing=False, before=old, after=new) for pair, old, new in better]


def _judged(candidate: Candidate, finding: Finding, title: str, profiled: ProfileOrigin, most: int) -> str:
    """The pairs that the change separates with their misses, the others as one number, and what remains."""
    judgement, pairs = candidate.judgement, replayed_pairs(candidate)
    own = {one.name for one in candidate.before.members}
    tops = [(top_member(one.victim), top_member(one.writer)) for one in pairs]
    met = [both for both in tops if own.issuperset(both)]
    written = {one.top for one in profiled.members if one.written} | {writer for _, writer in met}
    met = met or [(one.first, one.second) for one in separated(candidate.residuals)]
    unit = things(judgement, finding)
    means = "loads and stores that fetch the line from another CPU"
    means += "" if unit == "misses" else f", scaled to the {unit}"
    means += "" if finding.stores or finding.stores_sampled else "; stores are known from the code, not sampled"
    head = f"{_shared(title, met, written)} Misses ({means}) in {profiled.machine}, now -> predicted with"
    shown = pairs[: most - 1]
    misses = ((one, f"{one.victim} misses after stores to {one.writer}: {_figures(one)}") for one in shown)
    rows = ["; ".join((text, *_by(one.victim, one.writer, profiled.members))) for one, text in misses]
    rest = round(judgement.saved) - sum(round(one.before) - round(one.after) for one in shown)
    rows = rows or [f"all pairs: {_figures(judgement)}"]
    net = (
        f"all other misses on the struct, net: {abs(rest):,} {'fewer' if rest > 0 else 'more'}"
        if shown and rest
        else ""
    )
    part = "; " if NOTHING_WORSE in (losses := worse(judgement)) else ", with "
    rows.append(f"{net}{part if net else ''}what gets worse: {'; '.join(losses)}")
    text = _table(f"{head} the change:".lstrip(), rows, most, "pairs")
    if not judgement.interval.low <= 0 <= judgement.interval.high:
        return text
    interval = f"80% interval {with_span(*bounds(judgement))[1]} of the {unit}"
    return f"{paragraph(f'Not distinguishable from no change ({interval}).')}\n\n{text}"


def remains(candidate: Candidate, finding: Finding) -> str:
    """A sentence on what no order of members removes from the line that the change is about; empty if nothing is known.

    Of a record that is hot on several lines the ``finding`` may be of another one.
    """
    pairs = {top_member(name) for one in replayed_pairs(candidate) for name in (one.victim, one.writer)}
    met = pairs or {name for one in separated(candidate.residuals) for name in (one.first, one.second)}
    here = met & {one.top for one in finding.members} or not met or not finding.members
    stays = _STAYS.findall(finding.triage.sentence) if here else []
    # The share is of the line as the profile has it, and so of another whole than what the change saves.
    return f"What no layout removes: {_OF_LINE.sub('', '; '.join(stays))}." if stays else ""


def bounds(found: Judgement) -> tuple[float, float, float]:
    """What is saved of all misses of the profile, or added where misses come, and its interval."""
    sign = 1 if found.saved < 0 else -1
    part = found.before / found.whole
    low, high = sorted(sign * part * end for end in (found.interval.low, found.interval.high))
    return abs(found.saved) / found.whole, low, high


def _figures(one: JudgedPair | Judgement) -> str:
    return f"{one.before:,.0f} -> {one.after:,.0f}"


def _by(loaded: str, stored: str, members: Sequence[LineMember]) -> Iterator[str]:
    """Who loads the one member, and who stores to the other, as far as it is known."""
    for verb, names in (
        ("loads", users_of(loaded, members, writing=False)),
        ("stores", users_of(stored, members, writing=True)),
    ):
        if names:
            yield f"{verb} by {joined(names, _FUNCTIONS)}"


# Without a replay.


def _members(finding: Finding, concerned: set[str]) -> Iterator[str]:
    """A row for each member: those ``concerned``, then by how often they are contended."""
    groups: dict[str, list[LineMember]] = {}
    for one in finding.members:
        groups.setdefault(one.top, []).append(one)
    contended = {top: sum(call.contended for one in ones for call in one.functions) for top, ones in groups.items()}
    for top in sorted(groups, key=lambda name: (name not in concerned, -contended[name])):
        ones = groups[top]
        stores = sum(one.writes for one in ones)
        if not contended[top] and not stores and top not in concerned:
            continue
        counted = [f"{contended[top]:,} contended"] if contended[top] else []
        counted += [f"{stores:,} store{'s' * (stores != 1)}"] if stores else []
        doubt = " (?)" if any(one.doubted for one in ones) else ""
        yield f"{top}{doubt}: {'; '.join(filter(None, (', '.join(counted), *_by(top, top, ones))))}"


# The cache lines.


def lines_text(
    candidate: Candidate, finding: Finding, check: Verification, hot: Iterable[LineMember], most: int
) -> str:
    """The members of at most ``most`` cache lines before and after; ``hot`` are those of the record in the profile."""
    before, after = (
        RecordSide(side.moved, side.begin, step)
        for side, step in zip((check.before, check.after), check.granules, strict=True)
    )
    where, rows = changed_lines(candidate, (before, after), finding, hot, WIDTH - len(INDENT), most)
    if not rows:
        return ""
    width = max(len(when) for when, _ in rows)
    lines = (paragraph(f"{INDENT}{when:>{width}}: {what}", then=3 * INDENT) for when, what in rows)
    return "\n".join(
        (paragraph(f"The cache lines{' ' * bool(where)}{where} ({KEY.format(finding.unit)}):"), "", *lines)
    )
