# SPDX-License-Identifier: GPL-2.0-or-later
"""The example run before and after, in turns on the same CPUs, and what the figures allow to say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from math import comb, inf
from pathlib import Path
from statistics import median

from linesmith.analyzer.base import child
from linesmith.analyzer.base.errors import ToolMissing, VerificationFailed
from linesmith.analyzer.demo.program import CpuChoice, ThreadPlacement

ROUNDS = 40
MILLISECONDS = 150
RUN_SECONDS = 60
# An interval narrower than this around "no change" is an answer; a wider one is noise.
NARROW = 0.10
CONFIDENCE = 0.95
_MILLION = 1e6


@dataclass(frozen=True, slots=True)
class Throughput:
    """Operations per second of one run."""

    lookups: float
    renewals: float


@dataclass(frozen=True, slots=True)
class Race:
    """Runs before and after, pairwise neighbours in time."""

    before: tuple[Throughput, ...]
    after: tuple[Throughput, ...]
    choice: CpuChoice
    milliseconds: int


class RaceVerdict(Enum):
    """What the ratios of neighbouring runs allow to say."""

    BETTER = "better"
    WORSE = "worse"
    NO_DIFFERENCE = "no difference seen"
    TOO_NOISY = "too noisy to tell"


_ANSWERS = {
    RaceVerdict.BETTER: "The change helps here: {ratio:.2f} times the lookups per second.",
    RaceVerdict.WORSE: "The change does not help here: only {ratio:.2f} times the lookups per second.",
    RaceVerdict.NO_DIFFERENCE: "No difference in lookups per second.",
    RaceVerdict.TOO_NOISY: "The runs differ too much for a result; try again on an idle machine.",
}


@dataclass(frozen=True, slots=True)
class RaceComparison:
    """One kind of operation before and after; ``low`` and ``high`` bound the median ratio with 95 % confidence."""

    before: tuple[float, ...]
    after: tuple[float, ...]
    ratio: float
    low: float
    high: float
    verdict: RaceVerdict


def race(before: Path, after: Path, choice: CpuChoice) -> Race:
    """Run both executables in turns, ``ROUNDS`` times each; who begins changes from round to round.

    Raises ``VerificationFailed`` when a run fails or hangs.
    """
    runs: dict[Path, list[Throughput]] = {before: [], after: []}
    for number in range(ROUNDS):
        for executable in (before, after) if number % 2 == 0 else (after, before):
            runs[executable].append(run(executable, choice, MILLISECONDS))
    return Race(tuple(runs[before]), tuple(runs[after]), choice, MILLISECONDS)


def run(executable: Path, choice: CpuChoice, milliseconds: int) -> Throughput:
    """One run of the example, one thread per CPU of the choice."""
    argv = (str(executable), str(milliseconds), *map(str, choice.cpus))
    try:
        ended = child.run(child.Command(argv, executable.parent, RUN_SECONDS))
    except ToolMissing as error:
        message = f"{executable} cannot be run; set TMPDIR to a directory without noexec"
        raise VerificationFailed(message) from error
    if ended.status != 0:
        raise VerificationFailed(f"the example program ended with status {ended.status}: {ended.output.strip()}")
    figures = dict(line.split() for line in ended.output.splitlines())
    return Throughput(float(figures["lookups_per_second"]), float(figures["renewals_per_second"]))


def compare(before: Sequence[float], after: Sequence[float]) -> RaceComparison:
    """Judge paired figures by the ratios after/before and the interval of their median.

    A thread that was given no CPU in a whole run did nothing: such a ratio is infinite, or 1 where both runs are so.
    """
    ratios = sorted(
        new / old if old else inf if new else 1.0  # the bounds are ranks, which the size of one ratio does not move
        for old, new in zip(before, after, strict=True)
    )
    rank = interval_rank(len(ratios))
    low, high = ratios[rank - 1], ratios[-rank]
    return RaceComparison(tuple(before), tuple(after), median(ratios), low, high, judge(low, high))


def judge(low: float, high: float) -> RaceVerdict:
    """The verdict that an interval of the ratio allows."""
    if low > 1:
        return RaceVerdict.BETTER
    if high < 1:
        return RaceVerdict.WORSE
    return RaceVerdict.NO_DIFFERENCE if high - low < NARROW else RaceVerdict.TOO_NOISY


def interval_rank(count: int) -> int:
    """Rank k so that the k-th smallest and k-th largest of ``count`` values enclose their median with 95 %.

    By the sign test: the number of values below the true median is binomial. At least 1 (all values).
    """
    rank, tail = 1, 0.0
    for below in range(count // 2):
        tail += 2 * comb(count, below) / 2**count
        if tail > 1 - CONFIDENCE:
            break
        rank = below + 1
    return rank


def race_text(run: Race) -> str:
    """A table of both operations, medians in millions per second with minimum and maximum, and the answer."""
    lookups = compare([one.lookups for one in run.before], [one.lookups for one in run.after])
    renewals = compare([one.renewals for one in run.before], [one.renewals for one in run.after])
    rows = [
        f"{'million per second':<20}{'before':^26}{'after':^26}{'after / before':^26}",
        _row("lookups", lookups),
        _row("renewals", renewals),
        "",
        f"Medians of {len(run.before)} runs (lowest … highest); ratios of neighbouring runs (95 % interval).",
        _ANSWERS[lookups.verdict].format(ratio=lookups.ratio),
    ]
    if run.choice.placement is not ThreadPlacement.CORES:
        rows.append(f"Note: {run.choice.placement.value}.")
    return "\n".join(rows) + "\n"


def _row(name: str, comparison: RaceComparison) -> str:
    before, after = _spread(comparison.before), _spread(comparison.after)
    ratio = f"{comparison.ratio:.2f} ({comparison.low:.2f} … {comparison.high:.2f})"
    return f"{name:<20}{before:^26}{after:^26}{ratio:^26}{comparison.verdict.value}"


def _spread(values: tuple[float, ...]) -> str:
    low, middle, high = (value / _MILLION for value in (min(values), median(values), max(values)))
    return f"{middle:.1f} ({low:.1f} … {high:.1f})"
