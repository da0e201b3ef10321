# SPDX-License-Identifier: GPL-2.0-or-later
"""Samples in equal samples out: where every sample of a profile ended, by outcome."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from linesmith.analyzer.model import Access, Finding, Outcome, Profile, SampleOutcome, SharedLine
from linesmith.analyzer.sharing.waiting import unlisted

LEFT_OUT = "on lines not looked at"
SET_APART = "on lines set apart"
NO_ROW = "in no row of their line"
NO_LINE = "on lines that the profile left out"
OTHER_TYPE = "on lines that do not hold the type asked for"


@dataclass(frozen=True, slots=True)
class Accounts:
    """``samples`` that a profile has, and how many ended where; the counts of ``outcomes`` add up to them."""

    samples: int
    outcomes: tuple[tuple[str, int], ...]


def samples_of(access: Access) -> int:
    """Samples of one row: all of them where the profile says so, else those it has columns for."""
    return max(access.records or 0, access.contended + access.stores)


def line_samples(line: SharedLine) -> int:
    """Samples of a line: never fewer than its rows have and those of them that were left out."""
    return max(line.records or 0, sum(map(samples_of, line.accesses)) + unlisted(line))


def accounts(profile: Profile, found: Sequence[Finding], left_out: Iterable[SharedLine]) -> Accounts:
    """Where the samples of the profile ended, given the findings about its lines and the lines not looked at."""
    ended: Counter[str] = Counter()
    for finding in found:
        ended.update({outcome.value: count for outcome, count in finding.samples})
    not_looked_at = {id(line) for line in left_out}
    for line in profile.lines:
        if id(line) in not_looked_at:
            ended[SET_APART if line.apart else LEFT_OUT] += line_samples(line)
        else:
            ended[NO_ROW] += line_samples(line) - sum(map(samples_of, line.accesses))
    on_lines = sum(map(line_samples, profile.lines))
    ended[OTHER_TYPE] += on_lines - sum(ended.values())
    recorded = dict(profile.sampling.outcomes) if profile.sampling else {}
    shared = max(on_lines, recorded.pop(SampleOutcome.SHARED_LINE, on_lines))
    ended[NO_LINE] += shared - on_lines
    ended.update({outcome.value: count for outcome, count in recorded.items()})
    return Accounts(
        shared + sum(recorded.values()), tuple((name, count) for name, count in ended.most_common() if count)
    )


def samples_by_outcome(counted: Iterable[tuple[Outcome, Access]]) -> tuple[tuple[Outcome, int], ...]:
    """Samples of accesses by how their attribution ended."""
    samples: Counter[Outcome] = Counter()
    for outcome, access in counted:
        samples[outcome] += samples_of(access)
    return tuple(sorted((outcome, count) for outcome, count in samples.items() if count))
