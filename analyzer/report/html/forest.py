# SPDX-License-Identifier: GPL-2.0-or-later
"""Comparisons as forest plots: for each metric the baseline, equal builds and variants on one scale of gains."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from linesmith.analyzer.model import Better, Comparison, VerdictKind
from linesmith.analyzer.report.comparison import meaning, runs
from linesmith.analyzer.report.figures import interval, mean_and_spread, number, scale, signed
from linesmith.analyzer.report.html.strip import WIDTH, Scale, Strip, Tick, scale_for

# A word always stands beside the sign: neither shape nor colour tells it alone.
MARKS = {
    VerdictKind.BETTER: "▲",
    VerdictKind.WORSE: "▼",
    VerdictKind.NO_DIFFERENCE: "=",
    VerdictKind.TOO_NOISY: "≈",
    VerdictKind.UNDECIDED: "?",
}


@dataclass(frozen=True, slots=True)
class Boots:
    """Each boot of both sides as a place between the smallest value and the largest, with these in words."""

    base: tuple[float, ...]
    head: tuple[float, ...]
    smallest: str
    largest: str


@dataclass(frozen=True, slots=True)
class Row:
    """A comparison; ``kind`` is ``arm`` or ``equal`` (a build of the same layout), ``label`` says its drawing."""

    kind: str
    variant: str
    strip: Strip
    label: str
    change: str
    bounds: str
    verdict: str
    mark: str
    base: str
    head: str
    runs: str
    reason: str
    outliers: str
    boots: Boots | None


@dataclass(frozen=True, slots=True)
class Forest:
    """A metric on one scale; ``floor`` are the ends of what builds of equal layout were seen to differ by."""

    title: str
    meaning: str
    baseline: str
    zero: float
    ticks: tuple[Tick, ...]
    floor: tuple[float, float] | None
    floor_text: str
    rows: tuple[Row, ...]
    only_shown: bool


def forests(told: Sequence[Comparison], noise: Sequence[Comparison] = ()) -> tuple[Forest, ...]:
    """One for each metric and number of threads, those that decide first; ``noise`` compares equal layouts."""
    ranked = sorted((*told, *noise), key=lambda one: (one.only_shown, one.guard))
    keys = dict.fromkeys((one.name, one.threads) for one in ranked)
    return tuple(_forest(_of(key, told), _of(key, noise)) for key in keys)


def _of(key: tuple[str, int], ones: Sequence[Comparison]) -> list[Comparison]:
    return [one for one in ones if (one.name, one.threads) == key]


def _forest(ones: Sequence[Comparison], equal: Sequence[Comparison]) -> Forest:
    both = (*ones, *equal)
    drawn = scale_for([one.gain for one in both], [bound for one in both for bound in _gains(one)])
    first, floor = both[0], max(one.floor for one in both)
    return Forest(
        f"{first.name}, {scale(first)}",
        _meaning(first),
        first.baseline,
        drawn.at(0.0),
        drawn.ticks(),
        (drawn.at(-floor), drawn.at(floor)) if floor else None,
        f"builds of equal layout were seen to differ by up to {floor:.2%}" if floor else "",
        tuple(_rows(equal, "equal", drawn)) + tuple(_rows(ones, "arm", drawn)),
        first.only_shown,
    )


def _meaning(one: Comparison) -> str:
    """What the numbers mean, as the beginning of a sentence."""
    told = meaning(one)
    return f"In {told}" if one.metric.unit else f"{told[:1].upper()}{told[1:]}"


def _rows(ones: Sequence[Comparison], kind: str, drawn: Scale) -> Iterator[Row]:
    for one in ones:
        yield Row(
            kind,
            one.variant,
            drawn.strip(one.gain, *_gains(one)),
            f"{one.variant}: {signed(one.change)}, interval {interval(one)}, {one.verdict.value}",
            signed(one.change),
            interval(one),
            one.verdict.value,
            MARKS[one.verdict],
            mean_and_spread(one.base),
            mean_and_spread(one.head),
            runs(one),
            one.reason,
            ", ".join(map(number, one.outliers)),
            _boots(one),
        )


def _gains(one: Comparison) -> tuple[float, float]:
    """The bounds as gains, the worse one first."""
    if one.metric.better is Better.HIGHER:
        return one.low - 1, one.high - 1
    return 1 - one.high, 1 - one.low


def _boots(one: Comparison) -> Boots | None:
    both = (*one.base, *one.head)
    if not both:
        return None
    low, high = min(both), max(both)
    base, head = (tuple(_place(value, low, high) for value in side) for side in (one.base, one.head))
    return Boots(base, head, number(low), number(high))


def _place(value: float, low: float, high: float) -> float:
    share = (value - low) / (high - low) if high > low else 0.5
    return round(8 + share * (WIDTH - 16), 1)
