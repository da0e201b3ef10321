# SPDX-License-Identifier: GPL-2.0-or-later
"""The text report of a run: verdict first, then what it rests on, what was tried, and what was not checked.

Before it the words of measured numbers, which pages and commit messages use as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from statistics import fmean, stdev

from linesmith.analyzer.base.text import listed
from linesmith.analyzer.model import SIMULATED, Comparison, Fidelity, Point, Result, Trial, VerdictKind
from linesmith.analyzer.report.prose import counted, in_columns, prose, row, widest

# Ratios from here on are not known any better.
VAST = 1000.0
MOST_VALUES = 4
# With fewer placebos what other builds differ by is hardly known.
ENOUGH_PLACEBOS = 3
MOST_OUTLIERS = 6
EXPLORED = "explored, on the runs of the search"
COSTLY = (Fidelity.SIMULATION, Fidelity.BENCHMARK)


def number(value: float) -> str:
    """Four digits, or all digits of the integer part with commas."""
    size = abs(value)
    if size >= 1e12 or 0 < size < 1e-4:
        return f"{value:.3e}"
    return f"{value:,.0f}" if size >= 999.95 else f"{value:.4g}"


def mean_and_spread(values: Sequence[float]) -> str:
    """The mean with its standard deviation over the boots in per cent: ``1,234 ±  1.2%``."""
    if not values:
        return "none"
    mean = fmean(values)
    if len(values) < 2 or mean == 0:
        return number(mean)
    return f"{number(mean)} ± {100 * stdev(values) / mean:4.1f}%"


def signed(change: float) -> str:
    """A change (a share) in per cent, with its sign."""
    if change >= VAST - 1:
        return f">+{100 * (VAST - 1):,.0f}%"
    text = f"{100 * change:+.2f}%" if abs(change) < 0.09995 else f"{100 * change:+.1f}%"
    return "0.00%" if text in ("+0.00%", "-0.00%") else text


def interval(one: Comparison) -> str:
    """The bounds of the change: ``-1.20% to +0.30%``."""
    return f"{signed(one.low - 1)} to {signed(one.high - 1)}"


def scale(one: Comparison) -> str:
    """On how much of a machine it ran: ``8 threads``, or ``8 CPUs`` of a simulated one."""
    return counted(one.threads, "CPU" if one.simulated else "thread")


def duration(seconds: float) -> str:
    """Wall time: ``42 s``, ``12 min``, ``3 h 05 min``."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60:02} min"


def merged(facts: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """What machines reported of themselves: each name with its one value, ranges of its numbers, or a few texts."""
    found: dict[str, dict[str, None]] = {}
    for name, value in facts:
        found.setdefault(name, {})[value] = None
    for name, values in found.items():
        try:
            rows = [tuple(map(float, value.split())) for value in values]
            ranges = [(number(min(column)), number(max(column))) for column in zip(*rows, strict=True)]
        except ValueError:
            ranges = []
        several = ", ".join(low if low == high else f"{low} to {high}" for low, high in ranges)
        yield name, several if several and len(values) > 1 else listed(values, MOST_VALUES)


def emulated(facts: Iterable[tuple[str, str]]) -> bool:
    """Whether the machine was emulated by QEMU (TCG): its time is that of translated code, without caches."""
    return any(name == "machine" and "tcg" in value.casefold() for name, value in facts)


def unchecked(result: Result, comparisons: Sequence[Comparison]) -> Iterator[str]:
    """Sentences without their full stop about what ``comparisons`` of this run leave open."""
    timed = [one for one in comparisons if not one.simulated]
    if not timed:
        others = any(one.benchmark != SIMULATED for one in result.samples) and not emulated(result.facts)
        yield f"time on real hardware: {'only other builds were' if others else 'nothing was'} timed there"
    elif emulated(result.facts):
        yield "time on real hardware: the machine was emulated, and its time knows no caches"
    if timed and all(one.threads != 1 for one in timed):
        yield f"a single thread: the fewest were {min(one.threads for one in timed)} threads"
    elif timed and all(one.threads == 1 for one in timed):
        yield "several threads: all was measured with one"
    placebos = len(equal_builds(result))
    if placebos < ENOUGH_PLACEBOS and comparisons:
        yield f"what other builds of the same layout differ by (placebos measured: {placebos})"
    if comparisons and not any(one.guard for one in comparisons):
        yield "other workloads: there was no guard benchmark"
    if not result.finished:
        yield "the rest of the plan: the run has not come to its end"
    for one in comparisons:
        if unproven(one):
            loses = f"whether {one.name} with {scale(one)} loses more than {one.tolerance:.1%}"
            yield f"{loses}: up to {loss(one):.1%} is possible"


def equal_builds(result: Result) -> frozenset[str]:
    """The placebos that were compared with the baseline; its own halves are the same build."""
    own = (result.baseline, f"{result.baseline} again")
    return frozenset(one.variant for one in result.noise if one.variant not in own)


def unproven(one: Comparison) -> bool:
    """Whether a guard may have lost more than it may, for all that is known."""
    return one.guard and one.verdict != VerdictKind.WORSE and loss(one) > one.tolerance


def loss(one: Comparison) -> float:
    """The largest loss that the interval holds, as a share."""
    return 1 - one.low if one.metric.better == "higher" else one.high - 1


# The text.

_Cell = Callable[[Comparison], str]
_Column = tuple[str, _Cell]
_NUMBERS: tuple[_Column, ...] = (
    ("base ± sd", lambda one: mean_and_spread(one.base)),
    ("change", lambda one: signed(one.change)),
    ("head ± sd", lambda one: mean_and_spread(one.head)),
    ("interval of the change", interval),
)
_VERDICT: _Column = ("verdict", lambda one: one.verdict.value)
_VARIANT: _Column = ("variant", lambda one: one.variant)
_METRIC: _Column = ("metric", lambda one: metric(one))


def render_text(result: Result) -> str:
    """The whole result, paragraphs separated by an empty line."""
    sections = [
        f"{result.title}\n{effort(result)}, {'finished' if result.finished else 'not finished'}",
        _titled("verdict", "\n".join(f"  {row}" for row in verdict_rows(result))),
        _titled("remarks", "\n".join(prose(one, "  ", "    ") for one in result.remarks)),
        _titled(confirmed_title(result), render_comparisons(result.confirmed)),
        _titled(EXPLORED, comparison_table(result.explored)),
        _titled("equal layouts compared", comparison_table(result.noise)),
        _titled("trials", "\n".join(_trials(result))),
        _titled("machines", "\n".join(f"  {name}: {value}" for name, value in merged(result.facts))),
        _titled("not checked", "\n".join(f"  {one}" for one in unchecked(result, decisive(result)))),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _titled(title: str, text: str) -> str:
    return f"{title}:\n{text}" if text else ""


def effort(result: Result) -> str:
    """How many layouts or patches were built and measured, how many failed, how many only looked at; and how long."""
    # Whether any trial of a point, or of a patch that was given, has failed.
    costly: dict[Point | str, bool] = {}
    cheap: dict[Point | str, bool] = {}
    for trial in result.trials:
        subject, group = trial.point or trial.variant, costly if trial.fidelity in COSTLY else cheap
        group[subject] = group.get(subject, False) or trial.failure is not None
    failed = f" ({sum(costly.values())} failed)" if any(costly.values()) else ""
    built = f"{len(costly) or 'no'} trial{'s' * (len(costly) != 1)}{failed}"
    refused = f" ({sum(cheap.values())} ruled out)" if any(cheap.values()) else ""
    estimated = f", {len(cheap):,} layouts estimated{refused}" if cheap else ""
    return f"{built}{estimated}, {duration(result.seconds)}"


def verdict_rows(result: Result) -> Iterator[str]:
    """The best variant, or that none was confirmed; then what it changes and what was confirmed of each, what to do."""
    yield _sentence(result)
    moves = next((one.moves for one in result.trials if one.variant == result.best and one.moves), ())
    if moves:
        yield f"what {result.best} does: {'; '.join(moves)}"
    for one in sorted(result.confirmed, key=lambda one: one.variant != result.best):
        if not one.only_shown:
            # What must be stated with the verdict, lest the interval is taken for one.
            open_loss = f"; a loss of up to {loss(one):.1%} is not excluded" if unproven(one) else ""
            but = f"; {one.reason}" if one.verdict is VerdictKind.UNDECIDED else open_loss
            change = f"{signed(one.change)} ({interval(one)})"
            yield f"{one.variant}: {one.verdict.value}, {change}, {metric(one)}{but}"
    yield from (f"next: {one}" for one in result.advice)


def _sentence(result: Result) -> str:
    """The verdict, and where it holds when that is no real machine."""
    deciding = [one for one in decisive(result) if one.decides and result.best in (None, one.variant)]
    where = ""
    if deciding and all(one.simulated for one in deciding):
        where = " in simulation"
    elif deciding and emulated(result.facts):
        where = " in an emulated machine"
    if result.best is not None:
        return f"{result.best} is better than {result.baseline}{where}, confirmed on fresh runs"
    no = "no variant is confirmed" if result.finished else "not yet: no variant has been confirmed"
    return f"{no} to be better than {result.baseline}{where}"


def decisive(result: Result) -> tuple[Comparison, ...]:
    """The comparisons that a verdict rests on: the confirmed ones, or without any those of the search."""
    return result.confirmed or result.explored


def confirmed_title(result: Result) -> str:
    """What the comparisons that count are called: nobody has chosen patches that were given."""
    searched = any(trial.point for trial in result.trials)
    return "confirmed, on runs made after the choice" if searched else "compared"


def render_comparisons(comparisons: Sequence[Comparison]) -> str:
    """A table for each pair of variants, and under it why each verdict is as it is; empty without a comparison."""
    blocks = []
    for (baseline, variant), group in groupby(comparisons, lambda one: (one.baseline, one.variant)):
        ones = list(group)
        notes = []
        for one in (one for one in ones if not one.only_shown):
            notes += [f"  {one.name}, {scale(one)}: {one.verdict.value}"]
            notes += [prose(f"{one.reason}; {runs(one)}", "    ", "    ")]
            outliers = f"    outliers, which count like any run: {listed(map(number, one.outliers), MOST_OUTLIERS)}"
            notes += [outliers] if one.outliers else []
        title = f"{variant} (head) against {baseline} (base)"
        blocks.append("\n".join([title, *_table(ones, (_VERDICT, _METRIC)), "", *notes]))
    return "\n\n".join(blocks)


def comparison_table(comparisons: Sequence[Comparison]) -> str:
    """One table of all variants, without reasons and without rows of what is only shown; empty without a comparison."""
    deciding = [one for one in comparisons if not one.only_shown]
    rows = list(_table(deciding, (_VERDICT, _VARIANT, _METRIC))) if deciding else []
    left_out = len(comparisons) - len(deciding)
    rows += [f"  {counted(left_out, 'row')} more, of metrics that decide nothing, in report.json"] if left_out else []
    return "\n".join(rows)


def _table(comparisons: Sequence[Comparison], words: Sequence[_Column]) -> Iterator[str]:
    """Numbers to the right of their columns, then ``words`` to the left of theirs."""
    columns = (*_NUMBERS, *words)
    rows = [[name for name, _ in columns], *([cell(one) for _, cell in columns] for one in comparisons)]
    widths, sides = widest(rows), ">" * len(_NUMBERS) + "<" * len(words)
    yield from (f"  {in_columns(row, widths, sides, gap='   ').rstrip()}" for row in rows)


def metric(one: Comparison) -> str:
    """What was measured, in which unit, with how many threads, and for what."""
    return f"{one.name} ({scale(one)}, {meaning(one)})"


def meaning(one: Comparison) -> str:
    """What the numbers mean: their unit, which way is better, and what the verdict may do."""
    unit = f"{one.metric.unit}, " if one.metric.unit else ""
    guard = f", guard {one.tolerance:.1%}" if one.guard else ""
    shown = ", decides nothing" if one.only_shown else ""
    return f"{unit}{one.metric.better.value} is better{guard}{shown}"


def runs(one: Comparison) -> str:
    """How often was measured: ``8 + 8 runs in 4 blocks``."""
    return f"{len(one.base)} + {len(one.head)} runs in {counted(one.blocks, 'block')}"


def _trials(result: Result) -> Iterator[str]:
    """Every trial that was built, counted anew, with what its layout does."""
    costly = [trial for trial in result.trials if trial.fidelity in COSTLY]
    names = max((len(trial.variant) for trial in costly), default=0)
    for place, trial in enumerate(costly, 1):
        head = f"  {place:>4}  {trial.variant:<{names}}  {trial.fidelity.value:<9}  "
        yield row(head, "; ".join((outcome(trial), *trial.moves)))


def outcome(trial: Trial) -> str:
    """What came of a trial: its cost with half its interval, or how it failed."""
    if trial.failure is not None:
        log = f" (see {trial.failure.log})" if trial.failure.log and "; see " not in trial.failure.reason else ""
        return f"failed, {trial.failure.kind.value}: {trial.failure.reason}{log}"
    if trial.cost is None:
        return "no answer yet"
    spent = f", {duration(trial.seconds)}" if trial.seconds else ""
    return f"cost {trial.cost:.3f} ± {trial.spread:.3f} of the baseline's{spent}"
