# SPDX-License-Identifier: GPL-2.0-or-later
"""The text report of a run: verdict first, then what it rests on, what was tried, and what was not checked."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap

from linesmith.analyzer.model import Comparison, Result, Trial
from linesmith.analyzer.report.comparison import WIDTH, comparison_table, metric, render_comparisons
from linesmith.analyzer.report.facts import merged
from linesmith.analyzer.report.figures import duration, interval, signed
from linesmith.analyzer.report.unchecked import unchecked


def render_text(result: Result) -> str:
    """The whole result, paragraphs parted by an empty line."""
    sections = [
        _head(result),
        _titled("verdict", "\n".join(verdict_rows(result))),
        _titled("confirmed, on runs made after the choice", render_comparisons(result.confirmed)),
        _titled("explored, on the runs by which it was chosen", comparison_table(result.explored)),
        _titled("equal layouts compared", comparison_table(result.noise)),
        _titled("trials", "\n".join(_trials(result))),
        _titled("builds", "\n".join(_builds(result))),
        _titled("patches", "\n".join(f"  {variant}: {path}" for variant, path in result.patches)),
        _titled("machines", "\n".join(f"  {name}: {value}" for name, value in merged(result.facts))),
        _titled("not checked", "\n".join(f"  {one}" for one in unchecked(result, told(result)))),
        _titled("remarks", "\n".join(f"  {remark}" for remark in result.remarks)),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def told(result: Result) -> tuple[Comparison, ...]:
    """The comparisons that a verdict rests on: the confirmed ones, or without any those of the search."""
    return result.confirmed or result.explored


def verdict_rows(result: Result) -> Iterator[str]:
    """The best variant, or that none was confirmed; then what was confirmed of each, the best one first."""
    if result.best is None:
        yield f"  no variant is confirmed to be better than {result.baseline}"
    else:
        yield f"  {result.best} is better than {result.baseline}, confirmed on fresh runs"
    for one in sorted(result.confirmed, key=lambda one: one.variant != result.best):
        if not one.only_shown:
            yield f"  {one.variant}: {one.verdict.value}, {signed(one.change)} ({interval(one)}), {metric(one)}"


def _head(result: Result) -> str:
    state = "finished" if result.finished else "not finished"
    return f"{result.title}\n{counted(result)}, {duration(result.seconds)}, {state}"


def counted(result: Result) -> str:
    """How many trials there were, and how many of them failed."""
    trials = len(result.trials)
    failed = sum(trial.failure is not None for trial in result.trials)
    return f"{trials or 'no'} trial{'s' * (trials != 1)}" + (f" ({failed} failed)" if failed else "")


def _titled(title: str, text: str) -> str:
    return f"{title}:\n{text}" if text else ""


def _trials(result: Result) -> Iterator[str]:
    names = max((len(trial.variant) for trial in result.trials), default=0)
    for trial in result.trials:
        head = f"  {trial.number:>4}  {trial.variant:<{names}}  {trial.fidelity.value:<9}  "
        text = "; ".join((_outcome(trial), *trial.moves))
        yield from wrap(text, max(WIDTH, len(head) + 40), initial_indent=head, subsequent_indent=" " * len(head))


def _outcome(trial: Trial) -> str:
    if trial.failure is not None:
        log = f" (see {trial.failure.log})" if trial.failure.log else ""
        return f"failed, {trial.failure.kind.value}: {trial.failure.reason}{log}"
    if trial.cost is None:
        return "no answer yet"
    spent = f", {duration(trial.seconds)}" if trial.seconds else ""
    return f"{trial.cost:.3f} ± {trial.spread:.3f} of the baseline{spent}"


def _builds(result: Result) -> Iterator[str]:
    for build in result.builds:
        seconds = duration(build.seconds) if build.seconds else "reused"
        configuration = f"configuration {build.configuration[:12]}" if build.configuration else ""
        parts = (build.key[:12], seconds, build.compiler, configuration)
        yield f"  {build.variant}: {', '.join(part for part in parts if part)}"
