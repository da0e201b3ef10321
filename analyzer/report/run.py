# SPDX-License-Identifier: GPL-2.0-or-later
"""The text report of a run: verdict first, then what it rests on, what was tried, and what was not checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from textwrap import wrap

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

# Comparisons as tables: base and head with their spreads over boots, the change, its interval, and the verdict.

MOST_OUTLIERS = 6
WIDTH = 100
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
_NAME: _Column = ("metric", lambda one: _named(one))
_RUNS: _Column = ("runs in blocks", lambda one: f"{len(one.base)} + {len(one.head)} in {one.blocks}")


def metric(one: Comparison) -> str:
    """What was measured, in which unit, with how many threads, and for what."""
    return f"{one.name} ({scale(one)}, {meaning(one)})"


def meaning(one: Comparison) -> str:
    """What the numbers mean: their unit, which way is better, and what the verdict may do."""
    unit = f"{one.metric.unit}, " if one.metric.unit else ""
    guard = f", guard {one.tolerance:.1%}" if one.guard else ""
    shown = ", decides nothing" if one.only_shown else ""
    return f"{unit}{one.metric.better.value} is better{guard}{shown}"


def render_comparisons(comparisons: Sequence[Comparison]) -> str:
    """A table for each pair of variants, and under it why each verdict is as it is; empty without a comparison."""
    return "\n\n".join(_pair(list(ones)) for _, ones in groupby(comparisons, _sides))


def comparison_table(comparisons: Sequence[Comparison]) -> str:
    """One table of all variants, without reasons and without rows of what is only shown; empty without a comparison."""
    kept = [one for one in comparisons if not one.only_shown]
    rows = list(_table(kept, (_VERDICT, _VARIANT, _METRIC))) if kept else []
    return "\n".join([*rows, *(f"  {said}" for said in _left_out(comparisons))])


def markdown_table(comparisons: Sequence[Comparison]) -> str:
    """The same in Markdown, with the number of runs, and what the metrics mean under it; empty without a comparison."""
    kept = [one for one in comparisons if not one.only_shown]
    columns = (_VARIANT, _NAME, *_NUMBERS, _VERDICT, _RUNS)
    rows = [[name for name, _ in columns], ["---"] * len(columns)] if kept else []
    rows += [[_escaped(" ".join(cell(one).split())) for _, cell in columns] for one in kept]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    said = [*dict.fromkeys(f"{one.name}: {meaning(one)}" for one in kept), *_left_out(comparisons)]
    return "\n\n".join(part for part in (table, "\n".join(f"- {one}" for one in said)) if part)


def _named(one: Comparison) -> str:
    return f"{one.name}, {scale(one)}"


def _left_out(comparisons: Sequence[Comparison]) -> Iterator[str]:
    """How many rows there are not: those that decide are soon lost among them."""
    count = sum(one.only_shown for one in comparisons)
    if count:
        yield f"{count} row{'s' * (count != 1)} more, of metrics that decide nothing, in report.json"


def _sides(one: Comparison) -> tuple[str, str]:
    return one.baseline, one.variant


def _pair(comparisons: Sequence[Comparison]) -> str:
    first = comparisons[0]
    notes = [line for one in comparisons if not one.only_shown for line in _notes(one)]
    return "\n".join(
        [
            f"{first.variant} (head) against {first.baseline} (base)",
            *_table(comparisons, (_VERDICT, _METRIC)),
            "",
            *notes,
        ]
    )


def _table(comparisons: Sequence[Comparison], words: Sequence[_Column]) -> Iterator[str]:
    """Numbers to the right of their columns, then ``words`` to the left of theirs."""
    columns = (*_NUMBERS, *words)
    rows = [[name for name, _ in columns], *([cell(one) for _, cell in columns] for one in comparisons)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            cell.rjust(width) if at < len(_NUMBERS) else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  " + "   ".join(cells).rstrip()


def _notes(one: Comparison) -> Iterator[str]:
    base, head = strips(one.base, one.head)
    yield f"  {one.name}, {scale(one)}: {one.verdict.value}"
    yield from wrap(f"{one.reason}; {runs(one)}", WIDTH, initial_indent="    ", subsequent_indent="    ")
    if one.outliers:
        shown = ", ".join(map(number, one.outliers[:MOST_OUTLIERS]))
        more = f" and {len(one.outliers) - MOST_OUTLIERS} more" if len(one.outliers) > MOST_OUTLIERS else ""
        yield f"    outliers, which count like any run: {shown}{more}"
    if one.base and one.head:
        lowest, highest = min(one.base + one.head), max(one.base + one.head)
        yield f"    base |{base}|  from {number(lowest)}"
        yield f"    head |{head}|  to {number(highest)}"


def runs(one: Comparison) -> str:
    """How often was measured: ``8 + 8 runs in 4 blocks``."""
    return f"{len(one.base)} + {len(one.head)} runs in {one.blocks} block{'s' * (one.blocks != 1)}"


def _escaped(cell: str) -> str:
    return cell.replace("|", "\\|")


def render_text(result: Result) -> str:
    """The whole result, paragraphs parted by an empty line."""
    sections = [
        _head(result),
        _titled("verdict", "\n".join(f"  {row}" for row in verdict_rows(result))),
        _titled("remarks", "\n".join(_wrapped(result.remarks))),
        _titled(confirmed_title(result), render_comparisons(result.confirmed)),
        _titled(EXPLORED, comparison_table(result.explored)),
        _titled("equal layouts compared", comparison_table(result.noise)),
        _titled("trials", "\n".join(_trials(result))),
        _titled("builds", "\n".join(_builds(result))),
        _titled("patches", "\n".join(_patches(result))),
        _titled("machines", "\n".join(f"  {name}: {value}" for name, value in merged(result.facts))),
        _titled("not checked", "\n".join(f"  {one}" for one in unchecked(result, told(result)))),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


EXPLORED = "explored, on the runs of the search"
COSTLY = (Fidelity.SIMULATION, Fidelity.BENCHMARK)


def confirmed_title(result: Result) -> str:
    """What the comparisons that count are called: patches that were given have been chosen by nobody."""
    searched = any(trial.point for trial in result.trials)
    return "confirmed, on runs made after the choice" if searched else "compared"


def told(result: Result) -> tuple[Comparison, ...]:
    """The comparisons that a verdict rests on: the confirmed ones, or without any those of the search."""
    return result.confirmed or result.explored


def verdict_rows(result: Result) -> Iterator[str]:
    """The best variant, or that none was confirmed; then what it changes and what was confirmed of each, what to do."""
    yield _sentence(result)
    if result.best and (moves := moves_of(result, result.best)):
        yield f"what {result.best} does: {'; '.join(moves)}"
    for one in sorted(result.confirmed, key=lambda one: one.variant != result.best):
        if not one.only_shown:
            change = f"{signed(one.change)} ({interval(one)})"
            yield f"{one.variant}: {one.verdict.value}, {change}, {metric(one)}{_but(one)}"
    yield from (f"next: {one}" for one in result.advice)


def moves_of(result: Result, variant: str) -> tuple[str, ...]:
    """What the variant changes in the layout, in words; nothing of a patch that was given."""
    return next((one.moves for one in result.trials if one.variant == variant and one.moves), ())


def _but(one: Comparison) -> str:
    """What must be said beside the verdict, lest the interval is taken for one."""
    if one.verdict is VerdictKind.UNDECIDED:
        return f"; {one.reason}"
    return f"; a loss of up to {loss(one):.1%} is not excluded" if unproven(one) else ""


def _sentence(result: Result) -> str:
    where = _where(result)
    if result.best is not None:
        return f"{result.best} is better than {result.baseline}{where}, confirmed on fresh runs"
    if not result.finished:
        return f"not yet: no variant has been confirmed to be better than {result.baseline}{where}"
    return f"no variant is confirmed to be better than {result.baseline}{where}"


def _where(result: Result) -> str:
    """Where the verdict holds, when that is no real machine."""
    deciding = [one for one in told(result) if one.decides and result.best in (None, one.variant)]
    if not deciding:
        return ""
    if all(one.simulated for one in deciding):
        return " in simulation"
    return " in an emulated machine" if emulated(result.facts) else ""


def _head(result: Result) -> str:
    state = "finished" if result.finished else "not finished"
    return f"{result.title}\n{counted(result)}, {duration(result.seconds)}, {state}"


def counted(result: Result) -> str:
    """How many layouts or patches were built and measured, how many of them failed, and how many only looked at."""
    costly = _by_subject(trial for trial in result.trials if trial.fidelity in COSTLY)
    cheap = _by_subject(trial for trial in result.trials if trial.fidelity not in COSTLY)
    failed = sum(any(trial.failure for trial in trials) for trials in costly.values())
    illegal = sum(any(trial.failure for trial in trials) for trials in cheap.values())
    text = f"{len(costly) or 'no'} trial{'s' * (len(costly) != 1)}" + (f" ({failed} failed)" if failed else "")
    refused = f" ({illegal} ruled out)" if illegal else ""
    return text + (f", {len(cheap):,} layouts estimated{refused}" if cheap else "")


def _by_subject(trials: Iterable[Trial]) -> dict[Point | str, list[Trial]]:
    """The trials of each point, or of each patch that was given."""
    found: dict[Point | str, list[Trial]] = {}
    for trial in trials:
        found.setdefault(trial.point or trial.variant, []).append(trial)
    return found


def _titled(title: str, text: str) -> str:
    return f"{title}:\n{text}" if text else ""


def _trials(result: Result) -> Iterator[str]:
    """Every trial that was built, counted anew; what a layout does is said where it comes first."""
    listed = [trial for trial in result.trials if trial.fidelity in COSTLY]
    names = max((len(trial.variant) for trial in listed), default=0)
    seen: set[tuple[str, ...]] = set()
    for place, trial in enumerate(listed, 1):
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
