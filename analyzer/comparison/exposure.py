# SPDX-License-Identifier: GPL-2.0-or-later
"""What makes the counts of two profiles comparable, and what to be careful about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from linesmith.analyzer.comparison.unseen import Unseen
from linesmith.analyzer.model import Exposure, Profile, SharedLine
from linesmith.analyzer.sharing.waiting import unlisted

SAME_RUN = "runs of the same command"


def exposure(before: Profile, after: Profile) -> Exposure:
    """The best measure of how much both looked at: runs, samples, or samples on shared lines; else nothing."""
    for unit, of in (
        (SAME_RUN, _runs),
        ("accesses", _accesses),
        ("samples", _samples),
        ("samples on shared lines", _on_lines),
    ):
        looked = of(before, after), of(after, before)
        if all(looked):
            return Exposure(unit, *looked)
    return Exposure("", 1.0, 1.0)


def _runs(one: Profile, other: Profile) -> float:
    """One, where both recordings ran the same command."""
    both = one.recording, other.recording
    return 1.0 if both[0] and both[1] and both[0].command == both[1].command else 0.0


def _accesses(one: Profile, _: Profile) -> float:
    return float(dict(one.recording.counts).get("accesses", 0)) if one.recording else 0.0


def _samples(one: Profile, _: Profile) -> float:
    return float(one.sampling.samples if one.sampling else dict(one.totals).get("Total records", 0))


def _on_lines(one: Profile, _: Profile) -> float:
    counts = [line.records for line in one.lines if line.records is not None]
    return float(sum(counts)) if len(counts) == len(one.lines) else 0.0


def cautions(
    profiles: tuple[Profile, Profile],
    left_out: tuple[Sequence[SharedLine], Sequence[SharedLine]],
    looked: Exposure,
    hidden: tuple[Unseen, Unseen],
) -> tuple[str, ...]:
    """Reasons why a difference between two profiles may not be what it seems."""
    return (*_cautions(profiles, looked), *_about_unseen(hidden), *_about_left_out(left_out))


def _cautions(profiles: tuple[Profile, Profile], looked: Exposure) -> Iterator[str]:
    yield from _about_chance(looked, any(one.recording for one in profiles))
    if profiles[0].display != profiles[1].display:
        yield "one profile counts HITM and the other peer snoops: their counts cannot be compared"
    if any(line.nominal for one in profiles for line in one.lines):
        yield "a text without counts has shares only: its counts are as of 10,000 a line, and limits mean nothing"
    for when, one in zip(("before", "after"), profiles, strict=True):
        if missing := sum(map(unlisted, one.lines)):
            accesses = "access stands" if missing == 1 else "accesses stand"
            yield f"{when}: {missing:,} contended {accesses} in no row, so what seems to have vanished may be there"


def _about_unseen(hidden: tuple[Unseen, Unseen]) -> Iterator[str]:
    for when, one in zip(("before", "after"), hidden, strict=True):
        if one.nameless:
            yield (
                f"{when}: of {one.nameless:,} contended accesses neither object nor function is known (no names, or "
                "no rows in the text), so nothing that may be among them has vanished or is new for sure"
            )


def _about_left_out(left_out: tuple[Sequence[SharedLine], Sequence[SharedLine]]) -> Iterator[str]:
    for when, lines in zip(("before", "after"), left_out, strict=True):
        below = [line.contended for line in lines if not line.apart]
        if below:
            yield (
                f"{when}: {len(below):,} lines were not looked at, with {sum(below):,} contended accesses together; "
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
