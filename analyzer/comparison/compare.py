# SPDX-License-Identifier: GPL-2.0-or-later
"""Two profiles side by side: what vanished from the hot lines, what stayed, what is new.

Lines are matched by the type and the members on them, never by address: another boot has other addresses, another
layout other offsets. What a profile does not tell may be there: nothing has vanished for sure that nobody can place.
docs/compare.md tells what the verdicts rest on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from linesmith.analyzer.attribution.by_object import lines_apart
from linesmith.analyzer.comparison.line_groups import (
    NAMELESS,
    NO_MEMBER,
    Key,
    LineGroup,
    change_of,
    line_groups,
    loosened,
    member_changes,
    together,
)
from linesmith.analyzer.model import (
    CacheLine,
    Change,
    Exposure,
    Fate,
    Finding,
    LineChange,
    Profile,
    ProfileChange,
)
from linesmith.analyzer.sharing.statistics import scatter_of, unlisted

# Lines without a known object are the same when their functions have this share of the samples in common.
COMMON = 0.3
SAME_RUN = "runs of the same command"
_Name = TypeVar("_Name", Key, str)


@dataclass(frozen=True, slots=True)
class ProfileFindings:
    """A profile with its findings; ``left_out`` are lines that were not looked at."""

    profile: Profile
    findings: tuple[Finding, ...]
    left_out: tuple[CacheLine, ...] = ()

    def below(self) -> tuple[CacheLine, ...]:
        """The lines that were not looked at, but for those that emulation makes hot."""
        apart = lines_apart(self.profile)
        return tuple(line for line in self.left_out if line.address not in apart)


def compare(old: ProfileFindings, new: ProfileFindings) -> ProfileChange:
    """What changed from the ``old`` profile to the ``new`` one."""
    before, after = old.profile, new.profile
    found = line_groups(old.findings), line_groups(new.findings)
    groups = loosened(*found), loosened(*reversed(found))
    sums = together(groups[0]).members, together(groups[1]).members
    scatter = scatter_of([(count, sums[1][key]) for key, count in sums[0].items() if key != NO_MEMBER])
    looked = replace(exposure(before, after), scatter=scatter)
    below = old.below(), new.below()
    hidden = unseen(groups[0], below[0]), unseen(groups[1], below[1])
    lines = [_line_change(match, groups, looked, hidden) for match in _matches(*groups)]
    members = member_changes(together(groups[0]), together(groups[1]), looked)
    total = change_of(sum(one.contended for one in before.lines), sum(one.contended for one in after.lines), looked)
    return ProfileChange(
        looked,
        total,
        tuple(sorted(lines, key=lambda one: -max(one.change.before, one.change.after))),
        tuple(replace(one, change=unless_unseen(one.change, one.functions, hidden, looked)) for one in members),
        tuple(cautions((before, after), below, looked, hidden)),
    )


@dataclass(frozen=True, slots=True)
class _Match:
    """Groups that are taken for the same lines, or one without a counterpart; ``by`` what that was seen."""

    before: LineGroup | None
    after: LineGroup | None
    by: str = ""


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
        # Ranks of the other lines on which the member is met.
        holding = (group for group in there if one.member and (one.type, one.member) in group.touched)
        ranks = (rank for group in holding if group not in (before, after) for rank in group.ranks)
        members.append(replace(one, change=change, elsewhere=tuple(sorted(ranks)) if gone else ()))
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


def exposure(before: Profile, after: Profile) -> Exposure:
    """The best measure of how much both looked at: runs, samples, or samples on shared lines; else nothing."""
    recordings = before.recording, after.recording
    if recordings[0] and recordings[1] and recordings[0].command == recordings[1].command:
        return Exposure(SAME_RUN, 1.0, 1.0)
    for unit, of in (("accesses", _accesses), ("samples", _samples), ("samples on shared lines", _on_lines)):
        looked = of(before), of(after)
        if all(looked):
            return Exposure(unit, *looked)
    return Exposure("", 1.0, 1.0)


def _accesses(one: Profile) -> float:
    return float(dict(one.recording.counts).get("accesses", 0)) if one.recording else 0.0


def _samples(one: Profile) -> float:
    return float(one.sampling.samples if one.sampling else dict(one.totals).get("Total records", 0))


def _on_lines(one: Profile) -> float:
    counts = [line.records for line in one.lines if line.records is not None]
    return float(sum(counts)) if len(counts) == len(one.lines) else 0.0


@dataclass(frozen=True, slots=True)
class Unseen:
    """Contended accesses that nobody can place: ``by_function`` on lines that were not looked at.

    ``nameless`` counts those on lines that were looked at of which neither object nor function is known.
    """

    by_function: Counter[str]
    nameless: int

    def may_hold(self, functions: Iterable[str]) -> int:
        """The most of these functions' contended accesses that may be among them."""
        return self.nameless + sum(self.by_function[name] for name in {NAMELESS, *functions})


def unseen(groups: Iterable[LineGroup], left_out: Iterable[CacheLine]) -> Unseen:
    """What one profile does not tell, by its groups of lines and the lines that were not looked at."""
    counts: Counter[str] = Counter()
    for line in left_out:
        counts[NAMELESS] += unlisted(line)
        for access in line.accesses:
            counts[access.function or NAMELESS] += access.contended
    # All accesses of a group of which the text has no rows.
    nameless = (one.functions[NAMELESS] if one.functions else one.contended for one in groups if not one.type)
    return Unseen(counts, sum(nameless))


def unless_unseen(change: Change, functions: Iterable[str], sides: tuple[Unseen, Unseen], looked: Exposure) -> Change:
    """The change; what may be unseen on the other side has neither vanished nor is it new for sure."""
    before, after = (side.may_hold(functions) for side in sides)
    hidden = {
        Fate.VANISHED: change.before * looked.after <= after * looked.before,
        Fate.NEW: change.after * looked.before <= before * looked.after,
    }
    return replace(change, fate=Fate.UNSEEN) if hidden.get(change.fate) else change


def cautions(
    profiles: tuple[Profile, Profile],
    left_out: tuple[Sequence[CacheLine], Sequence[CacheLine]],
    looked: Exposure,
    hidden: tuple[Unseen, Unseen],
) -> Iterator[str]:
    """Reasons why a difference between two profiles may not be what it seems."""
    yield from _about_chance(looked, any(one.recording for one in profiles))
    if profiles[0].display != profiles[1].display:
        yield "one profile counts HITM and the other peer snoops: their counts cannot be compared"
    if any(line.nominal for one in profiles for line in one.lines):
        yield "a text without counts has shares only: its counts are as of 10,000 a line, and limits mean nothing"
    sides = ("before", "after")
    for when, profile in zip(sides, profiles, strict=True):
        if missing := sum(map(unlisted, profile.lines)):
            accesses = "access stands" if missing == 1 else "accesses stand"
            yield f"{when}: {missing:,} contended {accesses} in no row, so what seems to have vanished may be there"
    for when, one in zip(sides, hidden, strict=True):
        if one.nameless:
            yield (
                f"{when}: of {one.nameless:,} contended accesses neither object nor function is known (no names, or "
                "no rows in the text), so nothing that may be among them has vanished or is new for sure"
            )
    for when, lines in zip(sides, left_out, strict=True):
        if lines:
            contended = sum(line.contended for line in lines)
            yield (
                f"{when}: {len(lines):,} lines were not looked at, with {contended:,} contended accesses together; "
                "--top looks at more"
            )


def _about_chance(looked: Exposure, recorded: bool) -> Iterator[str]:
    if not looked.unit:
        yield (
            "neither report says how many samples were taken: counts are compared as if both had looked equally long; "
            "less contention and fewer samples look alike"
        )
    if looked.scatter:
        yield (
            f"members differ by {looked.scatter:.1%} between the profiles beyond what counting leaves to chance; the "
            "limits allow for that"
        )
    elif recorded:
        yield (
            "the limits tell what counting leaves to chance; two runs of one system differ by more, so that a "
            "difference should be seen in several pairs of recordings"
        )
    if not recorded:
        yield "contended loads are not time: a faster run can have more of them; only a benchmark tells"
