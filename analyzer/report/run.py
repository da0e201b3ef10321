# SPDX-License-Identifier: GPL-2.0-or-later
"""The text report of a run: verdict first, then what it rests on, what was tried, and what was not checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from textwrap import wrap

from linesmith.analyzer.base.text import listed
from linesmith.analyzer.model import Comparison, Fidelity, Point, Result, Trial, VerdictKind
from linesmith.analyzer.report.figures import (
    duration,
    emulated,
    interval,
    loss,
    mean_and_spread,
    merged,
    number,
    scale,
    signed,
    strips,
    unchecked,
    unproven,
)
from linesmith.analyzer.report.markdown import markdown_row
from linesmith.analyzer.report.prose import WIDTH, in_columns, widest

MOST_OUTLIERS = 6
EXPLORED = "explored, on the runs of the search"
COSTLY = (Fidelity.SIMULATION, Fidelity.BENCHMARK)
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
_NAME: _Column = ("metric", lambda one: f"{one.name}, {scale(one)}")
_RUNS: _Column = ("runs in blocks", lambda one: f"{len(one.base)} + {len(one.head)} in {one.blocks}")


def render_text(result: Result) -> str:
    """The whole result, paragraphs parted by an empty line."""
    sections = [
        f"{result.title}\n{effort(result)}, {'finished' if result.finished else 'not finished'}",
        _titled("verdict", "\n".join(f"  {row}" for row in verdict_rows(result))),
        _titled("remarks", "\n".join(_wrapped(result.remarks))),
        _titled(confirmed_title(result), render_comparisons(result.confirmed)),
        _titled(EXPLORED, comparison_table(result.explored)),
        _titled("equal layouts compared", comparison_table(result.noise)),
        _titled("trials", "\n".join(_trials(result))),
        _titled("builds", "\n".join(_builds(result))),
        _titled("patches", "\n".join(_patches(result))),
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
    if result.best and (moves := moves_of(result, result.best)):
        yield f"what {result.best} does: {'; '.join(moves)}"
    for one in sorted(result.confirmed, key=lambda one: one.variant != result.best):
        if not one.only_shown:
            # What must be said with the verdict, lest the interval is taken for one.
            open_loss = f"; a loss of up to {loss(one):.1%} is not excluded" if unproven(one) else ""
            but = f"; {one.reason}" if one.verdict is VerdictKind.UNDECIDED else open_loss
            change = f"{signed(one.change)} ({interval(one)})"
            yield f"{one.variant}: {one.verdict.value}, {change}, {metric(one)}{but}"
    yield from (f"next: {one}" for one in result.advice)


def moves_of(result: Result, variant: str) -> tuple[str, ...]:
    """What the variant changes in the layout, in words; nothing of a patch that was given."""
    return next((one.moves for one in result.trials if one.variant == variant and one.moves), ())


def _sentence(result: Result) -> str:
    where = _where(result)
    if result.best is not None:
        return f"{result.best} is better than {result.baseline}{where}, confirmed on fresh runs"
    if not result.finished:
        return f"not yet: no variant has been confirmed to be better than {result.baseline}{where}"
    return f"no variant is confirmed to be better than {result.baseline}{where}"


def _where(result: Result) -> str:
    """Where the verdict holds, when that is no real machine."""
    deciding = [one for one in decisive(result) if one.decides and result.best in (None, one.variant)]
    if not deciding:
        return ""
    if all(one.simulated for one in deciding):
        return " in simulation"
    return " in an emulated machine" if emulated(result.facts) else ""


def decisive(result: Result) -> tuple[Comparison, ...]:
    """The comparisons that a verdict rests on: the confirmed ones, or without any those of the search."""
    return result.confirmed or result.explored


def confirmed_title(result: Result) -> str:
    """What the comparisons that count are called: nobody has chosen patches that were given."""
    searched = any(trial.point for trial in result.trials)
    return "confirmed, on runs made after the choice" if searched else "compared"


def render_comparisons(comparisons: Sequence[Comparison]) -> str:
    """A table for each pair of variants, and under it why each verdict is as it is; empty without a comparison."""

    def sides(one: Comparison) -> tuple[str, str]:
        return one.baseline, one.variant

    return "\n\n".join(_pair(list(ones)) for _, ones in groupby(comparisons, sides))


def comparison_table(comparisons: Sequence[Comparison]) -> str:
    """One table of all variants, without reasons and without rows of what is only shown; empty without a comparison."""
    deciding = [one for one in comparisons if not one.only_shown]
    rows = list(_table(deciding, (_VERDICT, _VARIANT, _METRIC))) if deciding else []
    return "\n".join([*rows, *(f"  {remark}" for remark in _left_out(comparisons))])


def markdown_table(comparisons: Sequence[Comparison]) -> str:
    """The same in Markdown, with the number of runs, and what the metrics mean under it; empty without a comparison."""
    deciding = [one for one in comparisons if not one.only_shown]
    columns = (_VARIANT, _NAME, *_NUMBERS, _VERDICT, _RUNS)
    rows = [markdown_row(*(name for name, _ in columns)), markdown_row(*["---"] * len(columns))] if deciding else []
    for one in deciding:
        cells = (" ".join(cell(one).split()).replace("|", "\\|") for _, cell in columns)
        rows.append(markdown_row(*cells))
    remarks = [*dict.fromkeys(f"{one.name}: {meaning(one)}" for one in deciding), *_left_out(comparisons)]
    return "\n\n".join(filter(None, ("\n".join(rows), "\n".join(f"- {one}" for one in remarks))))


def _left_out(comparisons: Sequence[Comparison]) -> Iterator[str]:
    """How many rows there are not: those that decide are soon lost among them."""
    count = sum(one.only_shown for one in comparisons)
    if count:
        yield f"{count} row{'s' * (count != 1)} more, of metrics that decide nothing, in report.json"


def _pair(comparisons: Sequence[Comparison]) -> str:
    first = comparisons[0]
    notes = [line for one in comparisons if not one.only_shown for line in _notes(one)]
    title = f"{first.variant} (head) against {first.baseline} (base)"
    return "\n".join([title, *_table(comparisons, (_VERDICT, _METRIC)), "", *notes])


def _table(comparisons: Sequence[Comparison], words: Sequence[_Column]) -> Iterator[str]:
    """Numbers to the right of their columns, then ``words`` to the left of theirs."""
    columns = (*_NUMBERS, *words)
    rows = [[name for name, _ in columns], *([cell(one) for _, cell in columns] for one in comparisons)]
    widths, sides = widest(rows), ">" * len(_NUMBERS) + "<" * len(words)
    yield from (f"  {in_columns(row, widths, sides, gap='   ').rstrip()}" for row in rows)


def _notes(one: Comparison) -> Iterator[str]:
    base, head = strips(one.base, one.head)
    yield f"  {one.name}, {scale(one)}: {one.verdict.value}"
    yield from wrap(f"{one.reason}; {runs(one)}", WIDTH, initial_indent="    ", subsequent_indent="    ")
    if one.outliers:
        yield f"    outliers, which count like any run: {listed(map(number, one.outliers), MOST_OUTLIERS)}"
    if one.base and one.head:
        lowest, highest = min(one.base + one.head), max(one.base + one.head)
        yield f"    base |{base}|  from {number(lowest)}"
        yield f"    head |{head}|  to {number(highest)}"


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
    return f"{len(one.base)} + {len(one.head)} runs in {one.blocks} block{'s' * (one.blocks != 1)}"


def _trials(result: Result) -> Iterator[str]:
    """Every trial that was built, counted anew; what a layout does is said where it comes first."""
    costly = [trial for trial in result.trials if trial.fidelity in COSTLY]
    names = max((len(trial.variant) for trial in costly), default=0)
    seen: set[tuple[str, ...]] = set()
    for place, trial in enumerate(costly, 1):
        head = f"  {place:>4}  {trial.variant:<{names}}  {trial.fidelity.value:<9}  "
        text = "; ".join((outcome(trial), *(() if trial.moves in seen else trial.moves)))
        seen.add(trial.moves)
        yield from wrap(text, max(WIDTH, len(head) + 40), initial_indent=head, subsequent_indent=" " * len(head))


def outcome(trial: Trial) -> str:
    """What came of a trial: its cost with half its interval, or how it failed."""
    if trial.failure is not None:
        log = f" (see {trial.failure.log})" if trial.failure.log and "; see " not in trial.failure.reason else ""
        return f"failed, {trial.failure.kind.value}: {trial.failure.reason}{log}"
    if trial.cost is None:
        return "no answer yet"
    spent = f", {duration(trial.seconds)}" if trial.seconds else ""
    return f"cost {trial.cost:.3f} ± {trial.spread:.3f} of the baseline's{spent}"


def _builds(result: Result) -> Iterator[str]:
    """The builds by what they were made with."""
    made: dict[str, list[str]] = {}
    for build in result.builds:
        configuration = f"configuration {build.configuration[:12]}" if build.configuration else ""
        tools = ", ".join(part for part in (build.compiler, configuration) if part) or "made with"
        seconds = duration(build.seconds) if build.seconds else "reused"
        made.setdefault(tools, []).append(f"{build.variant} {build.key[:12]} ({seconds})")
    return _wrapped(f"{tools}: {', '.join(builds)}" for tools, builds in made.items())


def _patches(result: Result) -> Iterator[str]:
    """The patch files by their folders."""
    found: dict[str, list[str]] = {}
    for _, path in result.patches:
        folder, _, name = path.rpartition("/")
        found.setdefault(folder, []).append(name)
    return _wrapped(f"in {folder or '.'}: {', '.join(names)}" for folder, names in found.items())


def _wrapped(rows: Iterable[str]) -> Iterator[str]:
    for row in rows:
        yield from wrap(row, WIDTH, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)
