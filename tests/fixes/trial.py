# SPDX-License-Identifier: GPL-2.0-or-later
"""A scenario tried: its profile goes to ``suggest``, its trace to the judge, and what both say is compared."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from fixes.code import Instructions, instructions
from fixes.coherence import modified_loads
from fixes.execution import ACCESSES, Event, interleaved
from fixes.human import human_layout
from fixes.judgement import Cost, Judge, as_good, judge
from fixes.kernel import RealKernel, spots
from fixes.memory import Memory, memory
from fixes.report import SLIDE, report
from fixes.scenario import Scenario

from linesmith.analyzer.cli.analysis import analyse, with_offsets
from linesmith.analyzer.errors import NothingToSuggest
from linesmith.analyzer.model import Candidate, Finding, Layout, Move
from linesmith.tuner.premises import Premises
from linesmith.tuner.structure.advise import advise
from linesmith.tuner.suggestions import suggestions

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
    """What came of a scenario, from its own profile or one that was ``posted``.

    ``advice`` are the kinds of structural changes that the tool advises. ``asked`` says that the type had to be named,
    ``refusal`` why there is no candidate.
    """

    scenario: Scenario
    posted: Path | None
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


def tried(scenario: Scenario, kernel: RealKernel, folder: Path, posted: Path | None = None, seed: int = 0) -> Trial:
    """The scenario on this kernel; its report and its trace are left in ``folder``. ``seed`` is that of the run.

    A ``posted`` report is asked instead of the scenario's own; the judge stays the same. Raises ``ScenarioError``.
    """
    run = course(scenario, kernel, seed=seed)
    profile = posted or folder / f"{scenario.name}.c2c"
    if posted is None:
        profile.write_text(report(run.events, run.seen_at, run.code.code, seed))
    bench = judge(folder / f"{scenario.name}.trace", run.events, run.starts, run.memory, run.record, kernel)
    human = human_layout(run.record, scenario.human, kernel.layouts) if scenario.human else None
    goal = Goal(human, None if human is None else bench.cost(run.record, human))
    said = suggested(kernel, profile, scenario.type, bench)
    found = tuple(goal.rated(one, bench) for one in said.candidates)
    return Trial(
        scenario,
        posted,
        run.memory.place,
        bench.now(),
        goal.cost,
        found,
        run.code.unseen,
        said.advice,
        said.asked,
        said.refusal,
    )


@dataclass(frozen=True, slots=True)
class Goal:
    """The human's layout and what it costs; ``None`` where nobody changed the layout."""

    layout: Layout | None
    cost: Cost | None

    def rated(self, candidate: Candidate, bench: Judge) -> Tried:
        """The candidate beside the goal."""
        cost = bench.cost(candidate.before, candidate.after)
        same = self.layout is not None and _places(candidate.after) == _places(self.layout)
        good = same or (self.cost is not None and as_good(cost, self.cost))
        return Tried(_told(candidate), cost, bool(candidate.recommended), same, good)


def _places(layout: Layout) -> tuple[int, frozenset[tuple[str, int, int | None]]]:
    return layout.size, frozenset((member.name, member.offset, member.bit_offset) for member in layout.members)


def _told(candidate: Candidate) -> str:
    """The moves in few words."""
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


def suggested(kernel: RealKernel, profile: Path, type_: str, bench: Judge) -> Suggested:
    """What ``linesmith suggest`` says of the profile; the type is named only if nothing is proposed without."""
    first = _suggested(kernel, profile, None, bench)
    return first if first.candidates else replace(_suggested(kernel, profile, type_, bench), asked=True)


def _suggested(kernel: RealKernel, profile: Path, wanted: str | None, bench: Judge) -> Suggested:
    premises = Premises(kernel=kernel.slabs)
    try:
        found = with_offsets(analyse(kernel.elf, profile, 1, wanted)).findings
    except NothingToSuggest as nothing:
        return Suggested(refusal=str(nothing))
    mine = [one for one in advise(found, kernel.layouts, premises, kernel.accesses) if _concerns(one.finding, bench)]
    advice = tuple(sorted({one.kind.value for advised in mine for one in advised.advice}))
    try:
        answers = suggestions(found, kernel.layouts, premises=premises)
    except NothingToSuggest as nothing:
        return Suggested((), advice, refusal=str(nothing))
    candidates = [candidate for answer in answers for candidate in answer.candidates]
    kept = _different(one for one in candidates if bench.concerns(one.before.id))
    others = ", ".join(sorted({one.type for one in candidates}))
    return Suggested(kept, advice, refusal="" if kept else f"candidates for {others} only")


def _different(candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """Each layout once, with the first line that it is proposed for; a recommendation counts wherever it is given."""
    found: dict[tuple[object, ...], Candidate] = {}
    for one in candidates:
        key = (one.before.id, *_places(one.after))
        if key not in found or (one.recommended and not found[key].recommended):
            found[key] = one
    return tuple(found.values())


def _concerns(finding: Finding, bench: Judge) -> bool:
    layout = finding.objects[0].layout if finding.objects else None
    return layout is not None and bench.concerns(layout)
