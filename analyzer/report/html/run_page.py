# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of a run: verdict, layouts, comparisons as forest plots on one scale of gains, and what was tried.

A template puts the drawings into SVG; all places are in units of the drawing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median_low

from linesmith.analyzer.model import Better, Comparison, Result, VerdictKind
from linesmith.analyzer.report.candidate import Meetings
from linesmith.analyzer.report.html.page import LayoutPair, TouchedCell, Why, render_page
from linesmith.analyzer.report.run import (
    COSTLY,
    EXPLORED,
    confirmed_title,
    decisive,
    effort,
    interval,
    meaning,
    merged,
    number,
    outcome,
    scale,
    signed,
    unchecked,
    verdict_rows,
)

# Explored variants beyond these are in the JSON report; a long search has hundreds.
MOST_TRIALS = 200


@dataclass(frozen=True, slots=True)
class ChangedRecord:
    """A record that two builds lay out otherwise.

    ``own`` tells that its own declaration was changed; others differ because they hold such a record. ``cells`` are of
    the layout before; ``meetings`` and ``why`` are there where a profile shows who meets whom.
    """

    pair: LayoutPair
    own: bool = True
    cells: tuple[TouchedCell, ...] = ()
    meetings: Meetings | None = None
    why: Why | None = None


@dataclass(frozen=True, slots=True)
class RunFiles:
    """The files next to the journal of a run: ``patch`` is the text of the recommended one, ``""`` without one.

    ``changes`` are the records that ``variant`` lays out otherwise; ``no_layouts`` says why there are none to show.
    ``folder`` is the run directory: files in it are named without it, since pages go to other people.
    """

    variant: str = ""
    patch: str = ""
    changes: tuple[ChangedRecord, ...] = ()
    no_layouts: str = ""
    folder: str = ""


def render_run(result: Result, files: RunFiles) -> str:
    """The page of a run, at its end or in its midst."""
    verdict, *rest = verdict_rows(result)
    content = {
        "result": result,
        "files": files,
        "state": f"{effort(result)}, {'finished' if result.finished else 'not finished'}",
        # A verdict begins with the name of a variant, or as a sentence does.
        "verdict": verdict if result.best else f"{verdict[:1].upper()}{verdict[1:]}",
        "reasons": [row for row in rest if not row.startswith("next: ")],
        "sections": tuple(_forests(result)),
        "trials": _trials(result, files.folder),
        "builds": result.builds,
        "configured": any(one.configuration for one in result.builds),
        "facts": tuple(merged(result.facts)),
        "unchecked": tuple(unchecked(result, decisive(result))),
    }
    return render_page("run.html", content)


def _forests(result: Result) -> Iterator[tuple[str, str, tuple[Forest, ...]]]:
    """An anchor, a title and the plots: what counts first; equal layouts stand next to what they are the measure of."""
    if result.confirmed:
        yield "confirmed", confirmed_title(result).capitalize(), forests(result.confirmed, result.noise)
    if result.explored:
        yield "explored", EXPLORED.capitalize(), forests(result.explored, () if result.confirmed else result.noise)
    if result.noise and not decisive(result):
        yield "noise", "Equal layouts compared", forests((), result.noise)


def _trials(result: Result, folder: str) -> Mapping[str, object]:
    """The trials that were built, with their costs as gains on one scale."""
    built = [trial for trial in result.trials if trial.fidelity in COSTLY]
    shown = built[:MOST_TRIALS]
    known = [(1 - one.cost, one.spread) for one in shown if one.cost is not None]
    bounds = [end for gain, spread in known for end in (gain - spread, gain + spread)]
    drawn = scale_for([gain for gain, _ in known], bounds)
    rows = []
    for one in shown:
        words = outcome(one).replace(f"{folder}/", "") if folder else outcome(one)
        strip = None
        if one.cost is not None and one.failure is None:
            gain = 1 - one.cost
            strip = drawn.strip(gain, gain - one.spread, gain + one.spread)
        rows.append({"trial": one, "outcome": words, "strip": strip})
    scale = {"zero": drawn.at(0.0), "ticks": drawn.ticks()}
    return {**scale, "rows": rows, "more": len(built) - len(shown), "moves": any(one.moves for one in shown)}


# The drawings.

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

    def ticks(self) -> tuple[tuple[float, str], ...]:
        """Round numbers and their places: 1, 2 or 5 times a power of ten, at least two on each side of nothing."""
        power = 10.0 ** math.floor(math.log10(self.reach))
        step = next(step * power for step in (2, 1, 0.5, 0.2) if self.reach >= 2 * step * power)
        count = math.floor(self.reach / step)
        gains = [place * step for place in range(-count, count + 1)]
        return tuple((self.at(gain), f"{100 * gain:+.4g}%" if gain else "0") for gain in gains)


def scale_for(estimates: Iterable[float], bounds: Sequence[float]) -> Scale:
    """A scale that holds all estimates, and the bounds unless one of them lies so far out that nothing else is seen."""
    widest = max((abs(one) for one in estimates), default=0.0)
    farthest = max((abs(one) for one in bounds if math.isfinite(one)), default=0.0)
    # Of an even number the smaller one: half of the bounds may have no end.
    middle = median_low(map(abs, bounds)) if bounds else 0.0
    return Scale(max(min(farthest, max(widest, middle) * _MOST_REACH), widest, _LEAST_SCALE) * 1.05)


# A word always stands next to the sign: neither shape nor colour says it alone.
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
    compared: Comparison
    strip: Strip
    label: str
    mark: str
    boots: Boots | None


@dataclass(frozen=True, slots=True)
class Forest:
    """A metric on one scale; ``floor`` are the ends of what builds of equal layout were seen to differ by."""

    title: str
    meaning: str
    baseline: str
    zero: float
    ticks: tuple[tuple[float, str], ...]
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
        label = f"{one.variant}: {signed(one.change)}, interval {interval(one)}, {one.verdict.value}"
        yield ForestRow(kind, one, drawn.strip(one.gain, *_gains(one)), label, MARKS[one.verdict], _boots(one))


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
