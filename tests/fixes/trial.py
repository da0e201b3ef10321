# SPDX-License-Identifier: GPL-2.0-or-later
"""A scenario tried: its profile goes to ``suggest``, its trace to the judge, and what both say is compared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fixes.execution import ACCESSES, SLIDE, Event, interleaved, modified_loads, report
from fixes.judgement import Cost, Judge, as_good, judges
from fixes.kernel import Instructions, Memory, RealKernel, instructions, memory, spots
from fixes.scenario import Scenario, flattened, human_layout

from linesmith.analyzer.base.errors import NothingToSuggest
from linesmith.analyzer.cli.analysis import analyse
from linesmith.analyzer.cli.suggest import offered
from linesmith.analyzer.model import Candidate, Finding, Layout, Move
from linesmith.analyzer.sharing.analysis import quiet_lines
from linesmith.tuner.constraints.freedom import Premises
from linesmith.tuner.propose.candidates import MOST_JUDGED, Suggestion, answers
from linesmith.tuner.replay.recommend import judged
from linesmith.tuner.structure.advise import advise

# Accesses by which the phase is chosen whose object is the hottest, and so the first of a report.
LOOKED_AT = 10_000


@dataclass(frozen=True, slots=True)
class Tried:
    """A candidate, what it costs, whether it was recommended, and whether it is the human's or as good."""

    moves: str
    cost: Cost
    recommended: bool
    same: bool
    good: bool


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of a scenario.

    ``advice`` are the kinds of structural changes that the tool advises. ``asked`` says that the type had to be named,
    ``refusal`` why there is no candidate.
    """

    scenario: Scenario
    place: str
    now: Cost
    human: Cost | None
    tried: tuple[Tried, ...]
    unseen: tuple[str, ...]
    advice: tuple[str, ...]
    asked: bool
    refusal: str = ""

    @property
    def recommended(self) -> Tried | None:
        """The one that the tool would have people take."""
        return next((one for one in self.tried if one.recommended), None)


@dataclass(frozen=True, slots=True)
class Course:
    """A scenario in memory: its run, and where each object lies."""

    record: Layout
    memory: Memory
    events: tuple[Event, ...]
    starts: tuple[int, ...]
    code: Instructions

    @property
    def seen_at(self) -> tuple[int, ...]:
        """The objects' addresses at run time: variables lie where the kernel was moved to."""
        return tuple(start + SLIDE for start in self.starts) if self.memory.fixed else self.starts


def course(scenario: Scenario, kernel: RealKernel, accesses: int = ACCESSES, seed: int = 0) -> Course:
    """The scenario's run with the objects where they cost most; raises ``ScenarioError``."""
    record = kernel.layout(scenario.type)
    places = spots(scenario, record, kernel.layouts)
    found = memory(scenario, record, kernel.containment, kernel.slabs, kernel.symbols)
    events = interleaved(scenario, places, accesses, seed)
    starts = max(found.choices(), key=lambda starts: modified_loads(events[:LOOKED_AT], starts))
    code = instructions(scenario, places, record, kernel.containment, kernel.accesses)
    return Course(record, found, tuple(events), starts, code)


def tried(scenario: Scenario, kernel: RealKernel, folder: Path, seed: int = 0, traced: bool = False) -> Trial:
    """The scenario on this kernel; its report and its trace are left in ``folder``. ``seed`` is that of the run;
    ``traced`` gives the trace to the tool.

    Raises ``ScenarioError``.
    """
    run = course(scenario, kernel, seed=seed)
    profile = folder / f"{scenario.name}.c2c"
    profile.write_text(report(run.events, run.seen_at, run.code.code, seed))
    trace = folder / f"{scenario.name}.trace"
    bench, flat_bench = judges(trace, run.events, run.starts, run.memory, run.record, kernel)
    goal = _goal(scenario, run.record, flat_bench, kernel)
    said = suggested(kernel, profile, scenario.type, bench, traced)
    found = tuple(goal.rated(one, bench) for one in said.candidates)
    place, unseen = run.memory.place, run.code.unseen
    return Trial(scenario, place, goal.now, goal.cost, found, unseen, said.advice, said.asked, said.refusal)


@dataclass(frozen=True, slots=True)
class Goal:
    """Where the members at ``offsets`` went in the human's layout, and what it costs; ``None``: nobody changed it."""

    now: Cost
    offsets: tuple[int, ...] = ()
    places: tuple[int, ...] = ()
    cost: Cost | None = None

    def rated(self, candidate: Candidate, bench: Judge) -> Tried:
        """The candidate beside the goal."""
        before, after = candidate.before, candidate.after
        cost = bench.cost(before, after)
        same = self.cost is not None and bench.places(before, after, self.offsets) == self.places
        good = same or (self.cost is not None and as_good(cost, self.cost, self.now))
        return Tried(_told(candidate), cost, bool(candidate.recommended), same, good)


def _goal(scenario: Scenario, record: Layout, bench: Judge, kernel: RealKernel) -> Goal:
    """The goal by the steps of the scenario; ``bench`` judges flattened layouts."""
    now = bench.now()
    if not scenario.human:
        return Goal(now)
    before = flattened(record, kernel.layouts)
    after = human_layout(record, scenario.human, kernel.layouts)
    offsets = tuple(member.offset for member in before.members if member.size)
    return Goal(now, offsets, bench.places(before, after, offsets), bench.cost(before, after))


def _told(candidate: Candidate) -> str:
    return ", ".join(_step(move) for move in candidate.moves)


def _step(move: Move) -> str:
    if move.align:
        return f"{move.member} aligned to {move.align}"
    if move.partner:
        return f"{move.member} and {move.partner} swapped"
    return f"{' '.join(move.members or (move.member,))} behind {move.after}" if move.after else f"{move.member} first"


@dataclass(frozen=True, slots=True)
class Suggested:
    """What is said of records that the scenario's objects hold; ``asked``: only when the type was named.

    ``advice`` are the kinds of structural changes that are advised for them.
    """

    candidates: tuple[Candidate, ...] = ()
    advice: tuple[str, ...] = ()
    asked: bool = False
    refusal: str = ""


def suggested(kernel: RealKernel, profile: Path, type_: str, bench: Judge, traced: bool = False) -> Suggested:
    """What ``linesmith suggest`` says of the profile; the type is named only if nothing is proposed without.

    ``traced`` has the trace of the run judge the candidates, as where the profile was recorded with one.
    """
    first = _suggested(kernel, profile, None, bench, traced)
    return first if first.candidates else replace(_suggested(kernel, profile, type_, bench, traced), asked=True)


def _suggested(kernel: RealKernel, profile: Path, wanted: str | None, bench: Judge, traced: bool) -> Suggested:
    premises = Premises(kernel=kernel.slabs)
    try:
        found = analyse(kernel.elf, profile, type_=wanted)
    except NothingToSuggest as nothing:
        return Suggested(refusal=str(nothing))
    advised = advise(found.findings, kernel.layouts, premises, kernel.accesses)
    advice = {one.kind.value for line in advised if _concerns(line.finding, bench) for one in line.advice}
    if traced:
        asked = replace(premises, beside=quiet_lines(found), accesses=found.accesses)
        proposed = answers(found.findings, kernel.layouts, asked, limit=MOST_JUDGED)
        records = {one.before.id for answer in proposed for one in answer.candidates}
        given = judged(proposed, {one: bench.runs() for one in records if bench.concerns(one)})
    else:
        given = offered(found, premises, None)
    candidates = [candidate for answer in given for candidate in answer.candidates]
    kept = _different(one for one in candidates if bench.concerns(one.before.id))
    return Suggested(kept, tuple(sorted(advice)), refusal="" if kept else _refusal(given, bench))


def _refusal(given: Sequence[Suggestion], bench: Judge) -> str:
    """Why there is no candidate for these objects, by the hottest line that holds one."""
    mine = next((answer.refusal for answer in given if _concerns(answer.finding, bench)), "")
    others = ", ".join(sorted({one.type for answer in given for one in answer.candidates}))
    return mine or f"candidates for {others or 'nothing'} only"


def _different(candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """Each layout once, with the first line that it is proposed for; a recommendation counts wherever it is given."""
    found: dict[tuple[object, ...], Candidate] = {}
    for one in candidates:
        key = (one.before.id, one.after)
        if key not in found or (one.recommended and not found[key].recommended):
            found[key] = one
    return tuple(found.values())


def _concerns(finding: Finding, bench: Judge) -> bool:
    layout = finding.objects[0].layout if finding.objects else None
    return layout is not None and bench.concerns(layout)
