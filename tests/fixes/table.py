# SPDX-License-Identifier: GPL-2.0-or-later
"""What a trial shows, as a word and as a row for each scenario; every candidate for those who ask."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum

from fixes.judgement import Cost, change
from fixes.scenario import Answer
from fixes.trial import Trial, Tried

# The human's change must save so much of the misses for a scenario to show that it does.
LEAST_SAVED = 0.02


class Verdict(StrEnum):
    """How far the tool got; the first four are what is asked of it."""

    RECOMMENDED = "recommended"
    IN_SET = "in the set"
    LEFT_ALONE = "left alone, as it should be"
    ADVISED = "the structure, as it should be"
    MISSED = "missed"
    NO_CANDIDATE = "no candidate"
    MEDDLED = "recommends a change where none helps"
    NOT_ADVISED = "does not advise to change the structure"
    UNSHOWN = "not shown by the scenario"

    @property
    def found(self) -> bool:
        """Whether the tool gave the answer."""
        return self in (Verdict.RECOMMENDED, Verdict.IN_SET, Verdict.LEFT_ALONE, Verdict.ADVISED)


def verdict(trial: Trial) -> Verdict:
    """The verdict of one trial."""
    if trial.scenario.answer is Answer.STRUCTURE:
        if trial.recommended is not None and change(trial.now, trial.recommended.cost) >= LEAST_SAVED:
            return Verdict.MEDDLED
        return Verdict.ADVISED if trial.scenario.advice in trial.advice else Verdict.NOT_ADVISED
    if trial.scenario.answer is Answer.NONE:
        return Verdict.MEDDLED if trial.recommended else Verdict.LEFT_ALONE
    if trial.human is None or -change(trial.now, trial.human) < LEAST_SAVED:
        return Verdict.UNSHOWN
    if trial.recommended is not None and trial.recommended.good:
        return Verdict.RECOMMENDED
    if any(one.good for one in trial.tried):
        return Verdict.IN_SET
    return Verdict.MISSED if trial.tried else Verdict.NO_CANDIDATE


def best(trial: Trial) -> Tried | None:
    """The candidate with the fewest misses, the recommended one among equals."""
    return min(trial.tried, key=lambda one: (one.cost.misses, not one.recommended), default=None)


def told(cost: Cost | None, now: Cost) -> str:
    """The change of misses, and memory where it changes."""
    if cost is None:
        return "-"
    memory = "" if cost.size == now.size else f", {now.size} -> {cost.size} bytes"
    pages = "" if cost.pages == now.pages else f", {now.pages} -> {cost.pages} pages"
    return f"{100 * change(now, cost):+.1f} %{memory}{pages}"


HEAD = ("scenario", "where", "misses as it is", "the human's", "recommended", "best of the set", "runs", "verdict")


def table(trials: Iterable[Trial]) -> Iterator[str]:
    """The table in Markdown, and the sums below it."""
    groups: dict[str, list[Trial]] = {}
    for trial in trials:
        groups.setdefault(trial.scenario.name, []).append(trial)
    runs_of_each = [runs for _, runs in sorted(groups.items())]
    yield f"| {' | '.join(HEAD)} |"
    yield "|---" * len(HEAD) + "|"
    yield from map(_row, runs_of_each)
    yield ""
    yield from _sums(runs_of_each)


def outcome(runs: Sequence[Trial]) -> Verdict:
    """The verdict of the median run, from the best to the worst."""
    order = list(Verdict)
    found = sorted((verdict(run) for run in runs), key=order.index)
    return found[len(found) // 2]


def _row(runs: Sequence[Trial]) -> str:
    first = runs[0]
    chosen, lowest = first.recommended, best(first)
    found = sum(verdict(run).found for run in runs)
    cells = (
        first.scenario.name,
        f"{first.scenario.release}, {first.place}",
        f"{first.now.misses:,}",
        told(first.human, first.now),
        _told(chosen, first),
        _told(lowest, first),
        f"{found} of {len(runs)}",
        outcome(runs).value,
    )
    return f"| {' | '.join(cells)} |"


def _told(one: Tried | None, trial: Trial) -> str:
    return told(one.cost, trial.now) if one else "-"


def _sums(groups: Sequence[Sequence[Trial]]) -> Iterator[str]:
    fixes = [outcome(runs) for runs in groups if runs[0].scenario.answer is Answer.LAYOUT]
    shown = [one for one in fixes if one is not Verdict.UNSHOWN]
    in_set, first = sum(one.found for one in shown), shown.count(Verdict.RECOMMENDED)
    yield f"{len(shown)} layout fixes that their scenario shows. The human's layout, or one as good:"
    yield f"in the set of {in_set} ({_share(in_set, shown)}), the recommended one of {first} ({_share(first, shown)})."
    others = [outcome(runs) for runs in groups if runs[0].scenario.answer is not Answer.LAYOUT]
    yield f"{len(others)} records that no layout helps: {sum(one.found for one in others)} get the right answer."


def _share(part: int, whole: Sequence[object]) -> str:
    return f"{100 * part / max(len(whole), 1):.1f} %"


def details(trial: Trial) -> Iterator[str]:
    """Everything about one trial."""
    yield ""
    yield f"{trial.scenario.name}: {trial.scenario.subject} ({verdict(trial).value})"
    yield f"  as it is {trial.now.misses:,} misses, mean of {trial.now.phases} phases; {trial.now.size} bytes"
    yield f"  human    {told(trial.human, trial.now)}"
    yield from (f"  tool     {_told(one, trial)}: {one.moves}{_marks(one)}" for one in trial.tried)
    if trial.advice:
        yield f"  advice   {', '.join(trial.advice)}"
    if trial.refusal:
        yield f"  tool     {trial.refusal}"
    if trial.asked and trial.tried:
        yield "  the type had to be named"
    yield from (f"  unseen   {one}" for one in trial.unseen)


def _marks(one: Tried) -> str:
    marks = (("recommended", one.recommended), ("the human's", one.same), ("as good", one.good and not one.same))
    told_of = [mark for mark, is_so in marks if is_so]
    return f" ({', '.join(told_of)})" if told_of else ""
