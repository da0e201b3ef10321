# SPDX-License-Identifier: GPL-2.0-or-later
"""The accesses that stand for a finding, through caches: in the layout as it is, and under a candidate."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

from linesmith.analyzer.geometry.atoms import visible_places
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Candidate, CoherenceStep, Finding, Layout, LineState, StepTable
from linesmith.tuner.steps.protocol import Effect, Event, States, access
from linesmith.tuner.steps.story import VICTIM, WRITER, Touch, Turn, story

CPUS = (WRITER, VICTIM)
# The line that an access touches: in a layout, or one that each member has for itself.
LineOf = Callable[[Touch], Hashable]


def step_tables(finding: Finding, candidate: Candidate, layouts: Layouts) -> tuple[StepTable, ...]:
    """A table for each of the finding's heaviest sharings, in the steady state, those that stay behind the others.

    None where nobody is known to wait for another member. The phase is the profile's, or the first in which the members
    meet where they would not meet in that one.
    """
    parted = {frozenset((one.first, one.second)) for one in candidate.residuals if one.after < one.before}
    then = _byte_then(candidate, layouts)
    tables = [_table(finding, turn, candidate, then) for turn in story(finding, parted)]
    return tuple(tables) if any(step.needless for one in tables for step in one.before) else ()


def _table(finding: Finding, turn: Turn, candidate: Candidate, then: Callable[[Touch], int]) -> StepTable:
    touches = turn.write, turn.wait
    phase = _phase(finding, touches, _alignment(candidate.before))
    phase_after = phase if phase % _alignment(candidate.after) == 0 else 0
    return StepTable(
        turn.victim,
        turn.writer,
        turn.contended,
        phase,
        tuple(_steps(touches, _lines(_byte_now, phase, finding.bytes))),
        tuple(_steps(touches, _lines(then, phase_after, finding.bytes))),
        tuple(_notes(finding, touches, phase)),
        phase_after,
    )


def _byte_now(touch: Touch) -> int:
    return touch.offset


def _byte_then(candidate: Candidate, layouts: Layouts) -> Callable[[Touch], int]:
    """Where the byte of an access is in the candidate's layout; members outside the record stay where they are."""
    old, new = _offsets(candidate.before, layouts), _offsets(candidate.after, layouts)
    shift = {name: new[name] - old[name] for name in old.keys() & new.keys()}
    return lambda touch: touch.offset + shift.get(touch.top, 0)


def _offsets(layout: Layout, layouts: Layouts) -> dict[str, int]:
    places = visible_places(layout, layouts)
    return {name: layout.members[place.member].offset + place.start for name, place in places.items()}


def _alignment(layout: Layout) -> int:
    """What objects' addresses are multiples of, in bytes, as far as the layout says it."""
    members = [member.alignment or 1 for member in layout.members]
    return max(layout.natural_alignment, layout.alignment or 1, *members, 1)


def _phase(finding: Finding, touches: Sequence[Touch], alignment: int) -> int:
    """The profile's phase if both accesses meet in it, else the first phase in which they do."""
    known = finding.objects[0].phase
    possible = [known, *range(0, finding.bytes, min(alignment, finding.bytes))]
    first, second = (touch.offset for touch in touches)
    meeting = (one for one in possible if (first + one) // finding.bytes == (second + one) // finding.bytes)
    return next(meeting, known)


def _lines(byte: Callable[[Touch], int], phase: int, line_bytes: int) -> Callable[[Touch], int]:
    """The line of an access, counted from the one in which the object begins."""
    return lambda touch: (byte(touch) + phase) // line_bytes


def _steps(touches: Sequence[Touch], line_of: Callable[[Touch], int]) -> Iterator[CoherenceStep]:
    here, alone = _round(touches, line_of), _round(touches, lambda touch: touch.top)
    for touch, effect, ideal in zip(touches, here, alone, strict=True):
        yield CoherenceStep(
            cpu=touch.cpu,
            function=touch.function,
            member=touch.path,
            line=line_of(touch),
            writes=touch.writes,
            states=tuple((cpu, effect.states.get(cpu, LineState.INVALID)) for cpu in CPUS),
            what=_what(touch, effect),
            cycles=_cycles(touch, effect),
            needless=effect.event is not Event.HIT and ideal.event is Event.HIT,
        )


def _round(touches: Sequence[Touch], line_of: LineOf) -> list[Effect]:
    """The effects of the second round: the first one brings the lines to where they are in the long run."""
    held: dict[Hashable, States] = {}
    effects: list[Effect] = []
    for touch in (*touches, *touches):
        line = line_of(touch)
        effects.append(access(held.get(line, {}), touch.cpu, touch.writes))
        held[line] = effects[-1].states
    return effects[len(touches) :]


def _what(touch: Touch, effect: Effect) -> str:
    """What happened, in few words: ``modified on A`` of a load is a miss that is fetched from there."""
    told: Mapping[Event, str] = {
        Event.HIT: "hit",
        Event.COLD: "from memory",
        Event.SHARED: f"{'invalidates' if touch.writes else 'copied from'} {effect.other}",
        Event.MODIFIED: f"modified on {effect.other}",
        Event.UPGRADE: f"invalidates {effect.other}",
        Event.TAKEN: f"taken from {effect.other}",
    }
    return told[effect.event]


def _cycles(touch: Touch, effect: Effect) -> int:
    waits = touch.waits
    costs = {Event.SHARED: waits.clean, Event.MODIFIED: waits.load, Event.TAKEN: waits.store}
    return {**costs, Event.UPGRADE: waits.upgrade}.get(effect.event, 0)


def _notes(finding: Finding, touches: Sequence[Touch], phase: int) -> Iterator[str]:
    loads = "those of loads are the profile's mean" if finding.cost.timed else "those of loads are assumed, too"
    yield f"Cycles of stores are assumed, and a store buffer may hide them; {loads}."
    if phase != finding.objects[0].phase:
        yield "In the phase of the profile they would not meet: it is of another build."
    if any(touch.writes and not touch.function for touch in touches):
        yield "Who writes was not sampled."
