# SPDX-License-Identifier: GPL-2.0-or-later
"""Drawings of a page in numbers: comparisons as forest plots on one scale of gains, members in every phase.

A template puts them into SVG. All places are in units of the drawing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import median_low

from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.gaps import Span, line_of, lines_touched, meet, phases
from linesmith.analyzer.layouts.leaves import flatten
from linesmith.analyzer.model import Better, Candidate, Comparison, Layout, Residual, VerdictKind
from linesmith.analyzer.report.answer import by_place, share_of_phases
from linesmith.analyzer.report.candidate import MOST_PAIRS
from linesmith.analyzer.report.run import interval, mean_and_spread, meaning, number, runs, scale, signed

WIDTH = 320
# Room at both ends for an arrow: the interval goes on.
EDGE = 14
_LEAST_SCALE = 0.001
# An interval may reach so many times as far as the widest estimate before it is cut off.
_MOST_REACH = 3.0


@dataclass(frozen=True, slots=True)
class Strip:
    """An interval in units of the drawing; ``open_low`` and ``open_high`` tell that it goes on beyond the edge."""

    low: float
    middle: float
    high: float
    open_low: bool
    open_high: bool


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark of the scale at ``at``, in words."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Scale:
    """Gains, as shares, from ``-reach`` at the left to ``reach`` at the right."""

    reach: float

    def at(self, gain: float) -> float:
        """Where the gain lies, no farther out than the edges."""
        half = WIDTH / 2
        inside = max(-1.0, min(1.0, gain / self.reach))
        return round(half + inside * (half - EDGE), 1)

    def strip(self, gain: float, low: float, high: float) -> Strip:
        """The interval, cut off where it goes beyond the edges."""
        cut = self.reach * 1.0001
        return Strip(self.at(low), self.at(gain), self.at(high), low < -cut, high > cut)

    def ticks(self) -> tuple[Tick, ...]:
        """Round numbers on both sides of nothing: 1, 2 or 5 times a power of ten, at least two on each side."""
        power = 10.0 ** math.floor(math.log10(self.reach))
        step = next(step * power for step in (2, 1, 0.5, 0.2) if self.reach >= 2 * step * power)
        count = math.floor(self.reach / step)
        gains = [place * step for place in range(-count, count + 1)]
        return tuple(Tick(self.at(gain), f"{100 * gain:+.4g}%" if gain else "0") for gain in gains)


def scale_for(estimates: Iterable[float], bounds: Sequence[float]) -> Scale:
    """A scale that holds all estimates, and the bounds unless one of them lies so far out that nothing else is seen."""
    widest = max((abs(one) for one in estimates), default=0.0)
    farthest = max((abs(one) for one in bounds if math.isfinite(one)), default=0.0)
    # Of an even number the smaller one: half of the bounds may have no end.
    middle = median_low(map(abs, bounds)) if bounds else 0.0
    return Scale(max(min(farthest, max(widest, middle) * _MOST_REACH), widest, _LEAST_SCALE) * 1.05)


# A word always stands beside the sign: neither shape nor colour says it alone.
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
class ForestRow:
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
    rows: tuple[ForestRow, ...]
    only_shown: bool


def forests(compared: Sequence[Comparison], noise: Sequence[Comparison] = ()) -> tuple[Forest, ...]:
    """One for each metric and number of threads, those that decide first; ``noise`` compares equal layouts."""
    ranked = sorted((*compared, *noise), key=lambda one: (one.only_shown, one.guard))
    keys = dict.fromkeys((one.name, one.threads) for one in ranked)
    sides = ([[one for one in ones if (one.name, one.threads) == key] for ones in (compared, noise)] for key in keys)
    return tuple(_forest(ones, equal) for ones, equal in sides)


def _forest(ones: Sequence[Comparison], equal: Sequence[Comparison]) -> Forest:
    both = (*ones, *equal)
    drawn = scale_for([one.gain for one in both], [bound for one in both for bound in _gains(one)])
    first, floor = both[0], max(one.floor for one in both)
    words = meaning(first)
    return Forest(
        f"{first.name}, {scale(first)}",
        f"In {words}" if first.metric.unit else f"{words[:1].upper()}{words[1:]}",
        first.baseline,
        drawn.at(0.0),
        drawn.ticks(),
        (drawn.at(-floor), drawn.at(floor)) if floor else None,
        f"builds of equal layout were seen to differ by up to {floor:.2%}" if floor else "",
        tuple(_rows(equal, "equal", drawn)) + tuple(_rows(ones, "arm", drawn)),
        first.only_shown,
    )


def _rows(ones: Sequence[Comparison], kind: str, drawn: Scale) -> Iterator[ForestRow]:
    for one in ones:
        yield ForestRow(
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

    def place(value: float) -> float:
        share = (value - low) / (high - low) if high > low else 0.5
        return round(8 + share * (WIDTH - 16), 1)

    return Boots(tuple(map(place, one.base)), tuple(map(place, one.head)), number(low), number(high))


# Two members in every phase of their object, as small drawings of one kind: in which phases they share a line.

PHASE_WIDTH = 92
# More phases than these say no more when they are drawn; they are counted.
MOST_PHASES = 16


@dataclass(frozen=True, slots=True)
class Bar:
    """From ``left`` on, ``width`` wide, in units of the drawing."""

    left: float
    width: float


@dataclass(frozen=True, slots=True)
class PhaseDrawing:
    """One phase: both members over the lines they lie on; ``shared`` are the lines that hold bytes of both."""

    phase: int
    meet: bool
    lines: tuple[Bar, ...]
    shared: tuple[Bar, ...]
    first: Bar
    second: Bar


@dataclass(frozen=True, slots=True)
class SharedPhases:
    """A pair on lines of one size, under one layout: ``share`` is ``7 of 8 phases``; drawn where that can be seen."""

    share: str
    drawings: tuple[PhaseDrawing, ...]


@dataclass(frozen=True, slots=True)
class PairPhases:
    """A pair of members on lines of one size, before and after a change; ``places`` says where they still meet."""

    first: str
    second: str
    line_bytes: int
    before: SharedPhases
    after: SharedPhases
    places: str


def pair_phases(candidate: Candidate, layouts: Layouts) -> tuple[PairPhases, ...]:
    """For each pair that meets and each size of lines, the heaviest pair first."""
    pairs = [list(group) for _, group in groupby(candidate.residuals, lambda one: (one.first, one.second))]
    return tuple(_pair(one, candidate, layouts) for group in pairs[:MOST_PAIRS] for one in group)


def _pair(one: Residual, candidate: Candidate, layouts: Layouts) -> PairPhases:
    sides = []
    layouts_of = zip((candidate.before, candidate.after), (one.before, one.after), candidate.steps, strict=True)
    for (layout, share, step), start in zip(layouts_of, candidate.firsts or (0, 0), strict=True):
        first, second = span_of(one.first, layout, layouts), span_of(one.second, layout, layouts)
        starts = phases(step, one.line_bytes, start)
        drawings: tuple[PhaseDrawing, ...] = ()
        # None where there are too many phases, or a name is unknown.
        if first is not None and second is not None and len(starts) <= MOST_PHASES:
            drawings = tuple(_drawing(first, second, one.line_bytes, phase) for phase in starts)
        sides.append(SharedPhases(share_of_phases(share, one.line_bytes, step), drawings))
    before, after = sides
    return PairPhases(one.first, one.second, one.line_bytes, before, after, by_place(one, candidate.proofs))


def span_of(name: str, layout: Layout, layouts: Layouts) -> Span | None:
    """The bytes of the member called so, also of one inside an anonymous record; ``None`` where there is none."""
    member = next((one for one in layout.members if one.name == name), None)
    if member is not None:
        return Span(member.offset, member.size)
    inside = [one for one in flatten(layout, layouts) if one.path.partition(".")[0].partition("[")[0] == name]
    if not inside:
        return None
    begin = min(one.offset for one in inside)
    return Span(begin, max(one.offset + one.size for one in inside) - begin)


def _drawing(first: Span, second: Span, line_bytes: int, phase: int) -> PhaseDrawing:
    spans = [Span(one.offset + phase, max(one.size, 1)) for one in (first, second)]
    begin = line_of(min(one.offset for one in spans), line_bytes)
    end = line_of(max(one.offset + one.size - 1 for one in spans), line_bytes) + 1
    scale = PHASE_WIDTH / ((end - begin) * line_bytes)
    mine, other = (lines_touched(one.offset, one.size, line_bytes) for one in spans)

    def bar(offset: int, size: int) -> Bar:
        return Bar(round((offset - begin * line_bytes) * scale, 1), round(max(size * scale, 1.5), 1))

    return PhaseDrawing(
        phase,
        meet(first, second, line_bytes, phase),
        tuple(bar(number * line_bytes, line_bytes) for number in range(begin, end)),
        tuple(bar(number * line_bytes, line_bytes) for number in sorted(set(mine) & set(other))),
        bar(spans[0].offset, spans[0].size),
        bar(spans[1].offset, spans[1].size),
    )
