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
from linesmith.analyzer.comparison.line_groups import (
    NAMELESS,
    NO_MEMBER,
    Key,
    LineGroup,
    line_groups,
    loosened,
    together,
)
from linesmith.analyzer.comparison.member_changes import change_of, member_changes
from linesmith.analyzer.comparison.unseen import Unseen, unless_unseen, unseen
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
    hidden = unseen(groups[0], old.left_out), unseen(groups[1], new.left_out)
    lines = [_line_change(match, groups, looked, hidden) for match in _matches(*groups)]
    members = member_changes(together(groups[0]), together(groups[1]), looked)
    total = change_of(sum(one.contended for one in before.lines), sum(one.contended for one in after.lines), looked)
    return ProfileChange(
        looked,
        total,
        tuple(sorted(lines, key=lambda one: -max(one.change.before, one.change.after))),
        tuple(replace(one, change=unless_unseen(one.change, one.functions, hidden, looked)) for one in members),
        cautions((before, after), (old.left_out, new.left_out), looked, hidden),
    )


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
    common = _common(
        *(Counter({name: n for name, n in side.functions.items() if name != NAMELESS}) for side in (one, other))
    )
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
    hidden: tuple[Unseen, Unseen],
) -> LineChange:
    before, after = match.before, match.after
    known = before if before and before.type else after or before
    members = []
    for one in member_changes(before, after, looked, by_function=match.by == "functions"):
        there = groups[1] if one.change.before else groups[0]
        gone = one.change.fate in (Fate.VANISHED, Fate.NEW)
        change = one.change if before and after else unless_unseen(one.change, one.functions, hidden, looked)
        members.append(replace(one, change=change, elsewhere=_holding(one, there, match) if gone else ()))
    return LineChange(
        known.type if known else "",
        before.start if before else None,
        after.start if after else None,
        before.ranks if before else (),
        after.ranks if after else (),
        match.by,
        _line_total(match, looked, hidden),
        tuple(members),
    )


def _line_total(match: _Match, looked: Exposure, hidden: tuple[Unseen, Unseen]) -> Change:
    """The change of the whole line; where nothing is known of it, nobody can tell its counterpart."""
    before, after = match.before, match.after
    change = change_of(before.contended if before else 0, after.contended if after else 0, looked)
    if before and after:
        return change
    alone = before or after
    if alone is None or not alone.recognisable:
        return replace(change, fate=Fate.UNSEEN)
    return unless_unseen(change, alone.functions, hidden, looked)


def _holding(one: MemberChange, groups: Iterable[LineGroup], match: _Match) -> tuple[int, ...]:
    """Ranks of the lines on which the member is met, other than the matched ones."""
    key = (one.type, one.member)
    found = (group for group in groups if one.member and key in group.touched)
    return tuple(sorted(rank for group in found if group not in (match.before, match.after) for rank in group.ranks))
