# SPDX-License-Identifier: GPL-2.0-or-later
"""Some dozens of runs of which the profile may be a report: draws, fitted and ready to be replayed.

A fit says how often each touch is made, so that a simulated report of the run has the samples of the profile.

The report is simulated as ``perf c2c record`` takes samples: slow loads, and all stores. A touch that shows too seldom
is made more often, and the other way round, until the counts agree (iterative proportional fitting; Deming and Stephan,
1940). Touches that miss more often than in the profile come later in their turn, and CPUs give way less often.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log1p
from operator import mul
from random import Random

from linesmith.analyzer.access.access_map import AccessMap
from linesmith.analyzer.attribution.lock import may_sleep, queues_up
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.model import CACHE_LINE_BYTES, Finding, Profile
from linesmith.tuner.replay.by_code import evidence, is_release, turn_part, with_locks
from linesmith.tuner.replay.draw import ELSEWHERE, Draw, DrawnTask, changed, drawn
from linesmith.tuner.replay.replayer import MadeRun, Replay, RunStep, RunTask, SiteCounts, TurnPart
from linesmith.tuner.replay.sampled import SampledTouch, SampledTouches, TouchKind
from linesmith.tuner.replay.scene import TraceScene

DRAWS = 30
# For each draw that is used so many are tried, those are left whose reports are nearest to the profile.
TRIED = 3
ROUNDS = 5
PROPOSALS = 6
TRIAL_ACCESSES = 6_000
TRIAL_EACH = 50
ACCESSES = 20_000
LEAST_ACCESSES = 60
# How far one round goes towards the rate that would give the counts if nothing else changed.
STEP = 0.7
# The same of the place in a turn, for each touch that misses though it should not.
PLACE_STEP = 0.4
# Rates are parts of that of the touch with the most samples at first. Who loads a line whenever somebody has stored
# there shows no more for loading it more often.
LEAST_RATE, SATURATED = 1e-6, 5.0
LEAST_COUNT = 0.3
# What shows less than this in a round is made so much more often in the next.
LEAST_SHOWN = 0.1
# A line with this part of the loads may be missing from a report, which may be of the hottest lines only.
UNSEEN_LINE = 0.01
MOST_OFTEN = 8.0
LEAST_OFTEN = 1e-4
LEAST_HANDOVER = 0.003
LEAST_HOLD, MOST_HOLD = 0.01, 0.99
# A recording that has so many accesses of one kind tells how many of them missed.
SURE = 10
# Turns under a lock that do nothing else are made if they are this part of all.
LEAST_BARE = 0.02
# Parts of a turn that only those go through who have to wait.
WAITING = frozenset((TurnPart.QUEUE, TurnPart.SPIN, TurnPart.TURN))
# Expected samples of a touch: loads, stores.
_Shown = tuple[float, float]


@dataclass(frozen=True, slots=True)
class _FitState:
    """What the fit changes: the draw's tasks, rates and places in a turn by touch, how likely another CPU goes on.

    ``holds`` is how likely it does under each lock. ``misfit`` is how far the report of a run is from the profile,
    ``length`` how many accesses make one as long.
    """

    draw: Draw
    rates: tuple[float, ...]
    late: tuple[float, ...]
    handover: float
    holds: Mapping[int, float]
    misfit: float = float("inf")
    length: float = ACCESSES


class Fitting:
    """A draw as far as it is fitted."""

    def __init__(self, draw: Draw, evidence: SampledTouches) -> None:
        self._evidence = evidence
        counts = [max(*target, LEAST_COUNT) for target in draw.targets]
        self._leading = _leading(evidence)
        shares = [count / max(counts) for count in counts]
        # How often what leads each touch is made: of samples the fit finds out, a recording has counted it.
        self._led = [max((shares[other] for other in ones), default=0.0) for ones in self._leading]
        rates = tuple(max(one) for one in zip(shares, map(mul, draw.unseen, self._led), strict=True))
        # A load that no sample shows is made in front of its function's store of the same member.
        stores = {
            (one.function, one.address): number
            for number, one in enumerate(evidence.touches)
            if one.sampled and one.kind is TouchKind.STORE
        }
        self._places = [
            number if one.sampled else stores.get((one.function, one.address), number)
            for number, one in enumerate(evidence.touches)
        ]
        self._parts = _parts(evidence.touches)
        self._calm = set() if evidence.exact else _calm(evidence.touches, self._parts)
        locks = sorted({ELSEWHERE, *(one.lock for one in evidence.touches if one.lock > 0)})
        self._locks = {lock: number for number, lock in enumerate(locks, 1)}
        self._state = _FitState(draw, rates, draw.late, draw.handover, dict.fromkeys(self._locks, draw.hold))
        self._seed = (draw.seed << 16) % (1 << 63)
        self._choices = Random(draw.seed)  # noqa: S311 - repeatable draws, no secret

    @property
    def misfit(self) -> float:
        """How far the report of the run is from the profile; below 1 where chance alone is between them."""
        return self._state.misfit

    def advance(self, rounds: int) -> None:
        """Go on for so many rounds."""
        for _ in range(rounds):
            self._state = self._next(self._state)

    def search(self, proposals: int) -> None:
        """Try so many changes of the tasks; those stay that bring the report nearer to the profile."""
        for _ in range(proposals):
            draw = changed(self._state.draw, self._evidence, self._choices)
            other = replace(self._state, draw=draw, handover=draw.handover if draw.fixed else self._state.handover)
            other = self._next(self._next(other))
            if other.misfit < self._state.misfit:
                self._state = other

    def run(self) -> MadeRun:
        """A run: of a recording one with as many misses, so that chance plays the same part in it."""
        length = self._state.length if self._evidence.exact else ACCESSES
        return self._run(self._state, round(min(max(length, LEAST_ACCESSES), ACCESSES)))

    def _run(self, state: _FitState, accesses: int) -> MadeRun:
        self._seed += 1
        tasks = [*self._tasks(state)]
        ending = max(state.draw.ending, state.handover)
        return MadeRun(self._evidence.nodes, tasks, state.handover, ending, accesses, self._seed)

    def _next(self, state: _FitState) -> _FitState:
        """The state after a run, with the misfit of that run."""
        touches, draw = self._evidence.touches, state.draw
        trial = max(TRIAL_ACCESSES, TRIAL_EACH * len(touches))
        counts = self._run(state, trial).counts(len(touches))
        shown, scale = _shown(counts, self._evidence, draw)
        hidden, exact = _hidden(touches, shown), self._evidence.exact
        rates = list(state.rates)
        for at, one in enumerate(touches):
            if one.sampled:
                stored = one.kind is not TouchKind.LOAD and one.stores is not None
                ratio = (draw.targets[at][stored] + 0.5) / (shown[at][stored] + 0.5)
                rates[at] *= float(min(max(ratio, 0.1), 10.0) ** STEP)
        if exact:
            # Counts of all accesses: what is made most often stays the measure. Slow loads may have reached their most.
            first = rates[max(range(len(touches)), key=lambda at: sum(draw.targets[at]))]
            rates = [rate / first for rate in rates]
        for at, one in enumerate(touches):
            if one.like >= 0:
                rates[at] = rates[one.like] * one.scale
            elif not one.sampled:
                leading = self._led[at] if exact else max((rates[other] for other in self._leading[at]), default=0.0)
                most = draw.unseen[at] * one.scale * leading
                # Nothing was seen of it: it may be made as often as leaves it unseen.
                expected = sum(shown[at])
                if one.quiet:
                    expected = hidden[one.address // CACHE_LINE_BYTES] if one.kind is not TouchKind.LOAD else 0.0
                rates[at] = min(rates[at] / max(expected, LEAST_SHOWN) ** STEP, most)
        return _FitState(
            draw,
            tuple(min(max(rate, LEAST_RATE), SATURATED) for rate in rates),
            tuple(
                late + PLACE_STEP * _too_early(one, counted, exact)
                for late, one, counted in zip(state.late, touches, counts, strict=True)
            ),
            state.handover if draw.fixed else _next_handover(state.handover, counts, self._evidence),
            self._next_holds(state, shown),
            _misfit(draw, self._evidence, shown, counts),
            trial * scale,
        )

    def _next_holds(self, state: _FitState, shown: Sequence[_Shown]) -> dict[int, float]:
        """Shorter where more had to wait for a lock than did in the profile."""
        holds = dict(state.holds)
        for lock in holds.keys() - {ELSEWHERE}:
            waits = [
                at
                for at, one in enumerate(self._evidence.touches)
                if one.lock == lock and self._parts.get(at) in WAITING
            ]
            there = sum(sum(state.draw.targets[at]) for at in waits), sum(sum(shown[at]) for at in waits)
            ratio = min(max((there[0] + 0.5) / (there[1] + 0.5), 0.2), 5.0)
            odds = holds[lock] / (1 - holds[lock]) * ratio**STEP
            holds[lock] = min(max(odds / (1 + odds), LEAST_HOLD), MOST_HOLD)
        return holds

    def _tasks(self, state: _FitState) -> Iterator[RunTask]:
        """The tasks of a run. Each turn under a lock has its words, and as many turns are made as CPUs come to it."""
        touches = self._evidence.touches
        bodies: dict[int, list[DrawnTask]] = defaultdict(list)
        words: dict[int, DrawnTask] = {}
        for task in state.draw.tasks:
            if touches[task.touches[0]].word:
                words[task.lock] = task
            else:
                bodies[task.lock].append(task)
        for lock in {**bodies, **words}:
            each = [max(state.rates[one] for one in task.touches) / task.often for task in bodies[lock]]
            before = words[lock].touches if lock in words else ()
            comes = sum(state.rates[one] for one in before if self._parts[one] is TurnPart.TRY) or sum(each)
            if not comes:
                # All that was seen of a lock is its release or who waits for it: these are accesses like any.
                comes = max(state.rates[one] for one in before)
                plain = [replace(step, part=TurnPart.DO) for _, step in self._words(before, comes, state)]
                yield RunTask(words[lock].cpus, comes / len(words[lock].cpus), 0, tuple(plain))
                continue
            if self._evidence.exact:
                # Who has the words of a lock in its cache does not show there.
                comes = max([comes, *each])
            taking = tuple(self._words(before, comes, state))
            scale = min(1.0, comes / sum(each)) if each and before else 1.0
            hold, calm = state.holds[lock] if before else 0.0, lock in self._calm
            # Spinning locks of a kernel serve in turn (kernel/locking/qspinlock.c), others can be stolen.
            fair = any(queues_up(touches[one].function) for one in before)
            for task, rate in zip(bodies[lock], each, strict=True):
                share = rate * scale
                ordered = sorted(task.touches, key=lambda one: (state.late[self._places[one]], touches[one].sampled))
                steps = _in_order(
                    [self._step(one, state.rates[one] / share, bool(before)) for one in ordered], taking, calm
                )
                for cpus, mine in _by_cpus(task.cpus, steps, touches):
                    yield RunTask(cpus, share / len(task.cpus), self._locks.get(lock, 0), mine, hold, fair)
            bare = comes - scale * sum(each)
            if before and bare > LEAST_BARE * comes:
                cpus = words[lock].cpus
                yield RunTask(cpus, bare / len(cpus), self._locks[lock], _in_order((), taking, calm), hold, fair)

    def _words(self, numbers: Sequence[int], comes: float, state: _FitState) -> Iterator[tuple[bool, RunStep]]:
        """The steps on words of a lock, and whether each releases it."""
        most: dict[TurnPart, float] = defaultdict(float)
        for one in numbers:
            most[self._parts[one]] = max(most[self._parts[one]], state.rates[one])
        for one in sorted(numbers, key=state.late.__getitem__):
            part = self._parts[one]
            # A recording tells how often who waits looks; of samples too little shows.
            counted = part not in WAITING or (part is TurnPart.SPIN and self._evidence.exact)
            often = state.rates[one] / (comes if counted else most[part])
            yield is_release(self._evidence.touches[one]), self._step(one, min(often, 1.0))

    def _step(self, number: int, often: float, locks: bool = False) -> RunStep:
        one = self._evidence.touches[number]
        part = self._parts.get(number, TurnPart.TRY if locks and one.early else TurnPart.DO)
        often = min(max(often, LEAST_OFTEN), MOST_OFTEN)
        gap = 1.0
        if self._evidence.exact and one.missed is not None and one.weight >= SURE and not locks:
            gap = one.missed  # what always hits follows what fetched the line at once
        return RunStep(one.address, one.width, int(one.kind), number, often, part, gap)


def _by_cpus(
    cpus: Sequence[int], steps: Sequence[RunStep], touches: Sequence[SampledTouch]
) -> Iterator[tuple[tuple[int, ...], tuple[RunStep, ...]]]:
    """The steps of each of the ``cpus``: what is made on some of them only is made so much more often there."""
    alike: dict[tuple[RunStep, ...], list[int]] = defaultdict(list)
    for cpu in cpus:
        mine = []
        for step in steps:
            there = touches[step.site].on.intersection(cpus) or cpus
            if cpu in there:
                mine.append(replace(step, often=min(step.often * len(cpus) / len(there), MOST_OFTEN)))
        alike[tuple(mine)].append(cpu)
    yield from ((tuple(same), mine) for mine, same in alike.items() if mine)


def _in_order(body: Sequence[RunStep], taking: Sequence[tuple[bool, RunStep]], calm: bool) -> tuple[RunStep, ...]:
    """The steps of a turn, between those that take its lock and those that release it.

    Who comes to a ``calm`` lock comes when it is free.
    """
    early = [step for step in body if step.part is TurnPart.TRY]
    held = [step for step in body if step.part is not TurnPart.TRY]
    steps = (*early, *(step for release, step in taking if not release), *held)
    steps = (*steps, *(step for release, step in taking if release))
    when = (TurnPart.FREE, TurnPart.TURN) if calm else (TurnPart.TRY,)
    return tuple(
        replace(step, part=part) for step in steps for part in (when if step.part is TurnPart.TRY else (step.part,))
    )


def _parts(touches: Sequence[SampledTouch]) -> dict[int, TurnPart]:
    """When in a turn the words of locks are touched, by touch; of a function the first is that of which most missed."""
    first: dict[tuple[str, int], int] = {}
    for number, one in enumerate(touches):
        if one.word and one.kind is not TouchKind.LOAD:
            best = first.setdefault((one.function, one.lock), number)
            if (one.missed or 0.0) > (touches[best].missed or 0.0):
                first[one.function, one.lock] = number
    return {
        number: turn_part(one, first.get((one.function, one.lock)) == number)
        for number, one in enumerate(touches)
        if one.word
    }


def _calm(touches: Sequence[SampledTouch], parts: Mapping[int, TurnPart]) -> set[int]:
    """The locks that are free when somebody comes: who waits does so in another function, and was not sampled."""
    words = {number: touches[number] for number in parts}
    apart = {one.lock for one in words.values() if queues_up(one.function) or may_sleep(one.function)}
    return apart - {one.lock for number, one in words.items() if parts[number] in WAITING}


def _leading(evidence: SampledTouches) -> list[list[int]]:
    """For each touch the sampled ones of the same function on the same object; of one seen elsewhere those of all."""
    sampled: dict[tuple[str, int], list[int]] = defaultdict(list)
    for number, one in enumerate(evidence.touches):
        if one.sampled:
            sampled[one.function, one.base].append(number)
            sampled["", one.base].append(number)
    return [sampled["" if one.elsewhere else one.function, one.base] for one in evidence.touches]


def _shown(counted: Sequence[SiteCounts], evidence: SampledTouches, draw: Draw) -> tuple[list[_Shown], float]:
    """The samples that a report would have of each touch, as many in all as the profile has; how many of each seen."""
    found: list[_Shown] = []
    for one, counts in zip(evidence.touches, counted, strict=True):
        slow = counts.missed + counts.shadowed if evidence.exact else counts.modified
        loads = slow if one.kind is TouchKind.LOAD or (one.kind is TouchKind.ATOMIC and not evidence.exact) else 0
        every = counts.stored if evidence.exact else counts.total
        stores = every * draw.per_store if one.kind is not TouchKind.LOAD and one.stores is not None else 0.0
        found.append((float(loads), stores))
    samples, together = sum(map(sum, draw.targets)), sum(map(sum, found))
    scale = samples / together if together else 1.0
    return [(loads * scale, stores * scale) for loads, stores in found], scale


def _hidden(touches: Sequence[SampledTouch], shown: Sequence[_Shown]) -> dict[int, float]:
    """Samples of loads on each line that the profile does not have, for those that could be there unseen."""
    found: dict[int, float] = defaultdict(float)
    for one, (loads, _) in zip(touches, shown, strict=True):
        if one.quiet:
            found[one.address // CACHE_LINE_BYTES] += loads
    least = max(1.0, UNSEEN_LINE * sum(one.loads for one in touches))
    return {line: loads / least for line, loads in found.items()}


def _too_early(touch: SampledTouch, counts: SiteCounts, exact: bool) -> float:
    """By how much of its accesses a touch misses more than in the profile; below 0 where it misses less."""
    total = _could_miss(touch, counts, exact)
    return counts.missed / total - touch.missed if touch.missed is not None and total else 0.0


def _could_miss(touch: SampledTouch, counts: SiteCounts, exact: bool) -> int:
    """Accesses among which the profile counts those that missed."""
    if not exact:
        return counts.total
    return counts.missed + counts.shadowed if touch.kind is TouchKind.LOAD else counts.stored


def _next_handover(handover: float, counted: Sequence[SiteCounts], evidence: SampledTouches) -> float:
    """Less often where more accesses missed than did in the profile."""
    if evidence.missing is None:
        return handover
    known = [pair for pair in zip(evidence.touches, counted, strict=True) if pair[0].missed is not None]
    total = sum(_could_miss(one, counts, evidence.exact) for one, counts in known)
    missed = sum(counts.missed for _, counts in known)
    ratio = (evidence.missing + 0.005) / (missed / max(total, 1) + 0.005)
    return float(min(max(handover * ratio, LEAST_HANDOVER), 1.0))


def _misfit(draw: Draw, evidence: SampledTouches, shown: Sequence[_Shown], counted: Sequence[SiteCounts]) -> float:
    """How far the report is from the profile, by the logarithm of each count's distance: one count is not all."""
    rows = []
    for touch, target, found, counts in zip(evidence.touches, draw.targets, shown, counted, strict=True):
        if not touch.sampled:
            continue
        rows += [_apart(one, other) for one, other in zip(target, found, strict=True) if one or other]
        total = _could_miss(touch, counts, evidence.exact)
        if touch.missed is not None and total:
            rows.append(_apart(touch.missed * touch.checked, counts.missed / total * touch.checked))
        fetched = counts.missed + counts.shadowed
        if touch.shared is not None and fetched:
            rows.append(_apart(touch.shared * touch.weight, counts.shared / fetched * touch.weight))
    return sum(rows) / max(len(rows), 1)


def _apart(target: float, found: float) -> float:
    return log1p((found - target) ** 2 / (target + 1 + (0.1 * target) ** 2))


def reconstructed(
    findings: Sequence[Finding],
    profile: Profile,
    layouts: Layouts,
    code: AccessMap | None,
    here: TraceScene,
    draws: int = DRAWS,
    seed: int = 0,
) -> tuple[Replay, ...]:
    """Runs of the objects in ``here``, the scene that ``sampled_scene`` makes of the same ``findings``.

    The first objects of ``findings`` are known and of one layout; ``code`` is the access map of the ELF file. Each
    replay has that one scene, and as much weight as any other. None where the profile does not say which bytes were
    accessed. The same arguments give the same runs.
    """
    if not here.kinds:
        return ()
    known = with_locks(evidence(findings, profile, layouts, code, here), findings, layouts, code)
    if not any(one.sampled for one in known.touches):
        return ()
    instructions = [one.code % (1 << 64) for one in known.touches]
    fits = [Fitting(drawn(known, TRIED * draws * seed + number), known) for number in range(TRIED * draws)]
    for one in fits:
        one.advance(ROUNDS)
    fits = sorted(fits, key=lambda one: one.misfit)[:draws]
    for one in fits:
        one.search(PROPOSALS)
        one.advance(1)
    return tuple(one.run().open(instructions, (here,)) for one in fits)
