# SPDX-License-Identifier: GPL-2.0-or-later
"""Two profiles side by side: what vanished from the hot lines, what stayed, what is new.

Lines are matched by the type and the members on them, never by address: another boot has other addresses, another
layout other offsets. docs/compare.md tells what the verdicts rest on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from linesmith.analyzer.comparison.exposure import cautions, exposure
from linesmith.analyzer.comparison.line_groups import NO_MEMBER, Key, LineGroup, line_groups, loosened, together
from linesmith.analyzer.comparison.member_changes import change_of, member_changes
from linesmith.analyzer.model import (
    Change,
    Exposure,
    Fate,
    Finding,
    LineChange,
    MemberChange,
    Profile,
    ProfileChange,
    SharedLine,
)
from linesmith.analyzer.sharing.interval import scatter_of

# Lines without a known object are the same when their functions have this share of the samples in common.
COMMON = 0.3
_Name = TypeVar("_Name", Key, str)


@dataclass(frozen=True, slots=True)
class _Match:
    before: LineGroup | None
    after: LineGroup | None
    by: str = ""


@dataclass(frozen=True, slots=True)
class Explained:
    """A profile with its findings; ``left_out`` are lines that were not looked at."""

    profile: Profile
    findings: tuple[Finding, ...]
    left_out: tuple[SharedLine, ...] = ()


def compare(old: Explained, new: Explained) -> ProfileChange:
    """What changed from the ``old`` profile to the ``new`` one."""
    before, after = old.profile, new.profile
    found = line_groups(old.findings), line_groups(new.findings)
    groups = loosened(*found), loosened(*reversed(found))
    sums = together(groups[0]).members, together(groups[1]).members
    scatter = scatter_of([(count, sums[1][key]) for key, count in sums[0].items() if key != NO_MEMBER])
    looked = replace(exposure(before, after), scatter=scatter)
    below = _hottest(old.left_out), _hottest(new.left_out)
    lines = [_line_change(match, groups, looked, below) for match in _matches(*groups)]
    members = member_changes(together(groups[0]), together(groups[1]), looked)
    total = change_of(sum(one.contended for one in before.lines), sum(one.contended for one in after.lines), looked)
    return ProfileChange(
        looked,
        total,
        tuple(sorted(lines, key=lambda one: -max(one.change.before, one.change.after))),
        tuple(replace(one, change=_unless_below(one.change, below)) for one in members),
        cautions((before, after), (old.left_out, new.left_out), looked),
    )


def _hottest(left_out: Iterable[SharedLine]) -> int:
    """The most contended accesses of a line that was not looked at."""
    return max((line.contended for line in left_out if not line.apart), default=0)


def _unless_below(change: Change, below: tuple[int, int]) -> Change:
    """The change; nothing has vanished or is new for sure that may be on a line not looked at."""
    hidden = {Fate.VANISHED: change.before <= below[1], Fate.NEW: change.after <= below[0]}
    return replace(change, fate=Fate.UNCLEAR) if hidden.get(change.fate) else change


def _matches(before: Sequence[LineGroup], after: Sequence[LineGroup]) -> Iterator[_Match]:
    """Pairs of groups, those with most in common first, then groups without a counterpart."""
    scored = [
        (score, one, other, by) for one in before for other in after for score, by in [_alike(one, other)] if score
    ]
    scored.sort(key=lambda pair: (-pair[0], pair[1].ranks, pair[2].ranks))
    taken: set[int] = set()
    for _, one, other, by in scored:
        if not taken & {id(one), id(other)}:
            taken |= {id(one), id(other)}
            yield _Match(one, other, by)
    yield from (_Match(one, None) for one in before if id(one) not in taken)
    yield from (_Match(None, other) for other in after if id(other) not in taken)


def _alike(one: LineGroup, other: LineGroup) -> tuple[float, str]:
    """How alike two groups are, weighed by how much they matter, and by what that was seen."""
    weight = max(one.contended, other.contended, 1)
    if one.type and other.type:
        common = _common(one.members, other.members) if one.type == other.type else 0.0
        met = len(one.touched & other.touched) / max(len(one.touched | other.touched), 1)
        score = common + met + (one.start == other.start)
        return score * weight if one.type == other.type else 0.0, "members"
    common = _common(one.functions, other.functions)
    return (common * weight if common >= COMMON else 0.0), "functions"


def _common(one: Counter[_Name], other: Counter[_Name]) -> float:
    """The share of the samples that both have in common, from 0 to 1."""
    first, second = one.total(), other.total()
    if not first or not second:
        return 0.0
    return sum(min(count / first, other[key] / second) for key, count in one.items())


def _line_change(
    match: _Match,
    groups: tuple[Sequence[LineGroup], Sequence[LineGroup]],
    looked: Exposure,
    below: tuple[int, int],
) -> LineChange:
    before, after = match.before, match.after
    known = before if before and before.type else after or before
    members = []
    for one in member_changes(before, after, looked, by_function=match.by == "functions"):
        there = groups[1] if one.change.before else groups[0]
        gone = one.change.fate in (Fate.VANISHED, Fate.NEW)
        members.append(replace(one, elsewhere=_holding(one, there, match) if gone else ()))
    return LineChange(
        known.type if known else "",
        before.start if before else None,
        after.start if after else None,
        before.ranks if before else (),
        after.ranks if after else (),
        match.by,
        _unless_below(_line_total(match, looked), below),
        tuple(members),
    )


def _line_total(match: _Match, looked: Exposure) -> Change:
    """The change of the whole line; where the profile has no rows of it, nobody can tell its counterpart."""
    before, after = match.before, match.after
    change = change_of(before.contended if before else 0, after.contended if after else 0, looked)
    told = all(one is None or one.waits for one in (before, after))
    return change if told else replace(change, fate=Fate.UNCLEAR)


def _holding(one: MemberChange, groups: Iterable[LineGroup], match: _Match) -> tuple[int, ...]:
    """Ranks of the lines on which the member is met, other than the matched ones."""
    key = (one.type, one.member)
    found = (group for group in groups if one.member and key in group.touched)
    return tuple(sorted(rank for group in found if group not in (match.before, match.after) for rank in group.ranks))
