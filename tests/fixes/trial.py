# SPDX-License-Identifier: GPL-2.0-or-later
"""A scenario tried: its profile goes to ``suggest``, its trace to the judge, and what both say is compared."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fixes.asking import suggested
from fixes.execution import ACCESSES, Event, interleaved, modified_loads
from fixes.human import flattened, human_layout
from fixes.judgement import Cost, Judge, as_good, judges
from fixes.kernel import Instructions, RealKernel, instructions, spots
from fixes.memory import Memory, memory
from fixes.report import SLIDE, report
from fixes.scenario import Scenario

from linesmith.analyzer.model import Candidate, Layout, Move

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
    """The moves in few words."""
    return ", ".join(_step(move) for move in candidate.moves)


def _step(move: Move) -> str:
    if move.align:
        return f"{move.member} aligned to {move.align}"
    if move.partner:
        return f"{move.member} and {move.partner} swapped"
    return f"{' '.join(move.members or (move.member,))} behind {move.after}" if move.after else f"{move.member} first"
