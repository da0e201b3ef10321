# SPDX-License-Identifier: GPL-2.0-or-later
"""The judge of candidates: each is replayed, and what its replay says decides which one is recommended.

A change must make the record better by replay in all of its interval, and be worth its review: each atom that moves
must save its part of what can be saved, and so must each that a profile does not have and that newly meets a written
one. A change that takes more memory must save much, and several times what the best change saves that takes none. Of
two changes that replay cannot tell apart the smaller wins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from linesmith.analyzer.attribution.line_members import KNOWN
from linesmith.analyzer.base.errors import NotSimulated
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.model import CACHE_LINE_BYTES, NOT_JUDGED, Candidate, Finding, Layout, Profile
from linesmith.analyzer.sharing.parts import own_members
from linesmith.analyzer.sharing.triage import top_members
from linesmith.tuner.constraints.freedom import Premises
from linesmith.tuner.propose.candidates import MOST_CANDIDATES, Suggestion, candidate
from linesmith.tuner.propose.meetings import contended_on
from linesmith.tuner.propose.tradeoff import EXPOSED_COST, WORTH_A_MOVE
from linesmith.tuner.replay.climb import climbed
from linesmith.tuner.replay.reconstructed import reconstructed
from linesmith.tuner.replay.replayer import Replay, may_be_equal, open_trace
from linesmith.tuner.replay.runs import RecordRuns, ReplayedLayout
from linesmith.tuner.replay.scene import sampled_scene, scene

# What a record that grows must save: as a share of its misses, for growing at all, and for each share of memory that
# its objects then take more, to no more than half; and so many times what the best that does not grow saves.
WORTH_GROWING = 0.15
TIMES_LEVEL = 4
WORTH_MEMORY = 0.5
MOST_FOR_GROWING = 0.5
# A change is recommended that saves at least this share of the record's misses.
LEAST_SAVING = 0.02

# By the record's layout: its runs, or why there are none, a sentence.
RunsOf = Mapping[int, RecordRuns | str]


@dataclass(frozen=True, slots=True)
class ProfileTotal:
    """What a profile counts: contended accesses, and the share of each record in them, by the id of its layout.

    Replay says by which part of its share a record gets better, so that a change saves no more than that.
    """

    contended: float = 0.0
    shares: Mapping[int, float] = field(default_factory=dict)

    def of(self, record: int) -> float | None:
        """What is counted of a record; ``None`` where that is not known."""
        return self.shares[record] * self.contended if self.shares.get(record) else None


UNCOUNTED = ProfileTotal()


def members_met(answers: Iterable[Suggestion]) -> dict[int, tuple[str, ...]]:
    """The members seen on the line of each answer, by the record of its candidates: of a union one alternative."""
    return {
        one.before.id: tuple(top.name for top in top_members(own_members(answer.finding)))
        for answer in answers
        for one in answer.candidates[:1]
    }


def traced(
    records: Iterable[Layout],
    profile: Profile,
    layouts: Layouts,
    trace: Path | Replay,
    named: Mapping[int, Sequence[str]] = MappingProxyType({}),
    total: ProfileTotal = UNCOUNTED,
    further: Iterable[Layout] = (),
) -> dict[int, RecordRuns | str]:
    """The run of each record in a trace of the recording ``profile``; raises ``TraceError``.

    It is read for ``further`` records as well: the replay in a run serves for these, too. Where the machine fetches
    pairs of lines, pairs are what counts. ``named`` has the alternatives of unions that are
    meant, by record. Misses are parts of the ``total``, of a record that is not in it as the trace has them.
    """
    distinct = {record.id: record for record in records}
    scenes = [scene(record, profile.areas, layouts, named.get(record.id, ())) for record in distinct.values()]
    fetched = CACHE_LINE_BYTES
    if profile.recording is not None:
        fetched = profile.recording.line_bytes * (2 if profile.recording.adjacent else 1)
    if isinstance(trace, Path):
        trace = open_trace(trace, [*scenes, *(scene(one, profile.areas, layouts) for one in further)], (fetched,))
    replay = trace.of(scenes)
    found: dict[int, RecordRuns | str] = {}
    for number, (record, here) in enumerate(zip(distinct.values(), scenes, strict=True)):
        if not here.kinds:
            holding = f"is or holds a {record.title}"
            found[record.id] = f"the profile knows no object that {holding}, so nothing was replayed."
        elif not replay.accesses(number):
            objects = f"any of the {here.objects} objects that are or hold a {record.title}"
            found[record.id] = f"the trace has no access to {objects}, so nothing was replayed."
        else:
            counted = total.of(record.id)
            whole = replay.traced[fetched].total if counted is None else total.contended
            found[record.id] = RecordRuns([(replay, number)], layouts, counted, whole, fetched)
    return found


def sampled(
    answers: Sequence[Suggestion],
    findings: Sequence[Finding],
    profile: Profile,
    layouts: Layouts,
    premises: Premises,
    progress: Callable[[int, int], object] = lambda _done, _total: None,
) -> dict[int, RecordRuns | str]:
    """The runs of each record of the answers, reconstructed from the samples on all of its lines.

    Those of which nothing is recommended anyway are left out: a reconstruction takes seconds. ``progress`` gets how
    many of the answers are done.
    """
    found: dict[int, RecordRuns | str] = {}
    # An anonymous struct has the runs of the record around it, of which several may have answers.
    runs: dict[int, RecordRuns | str] = {}
    wanted = [one for one in answers if one.candidates and not one.withheld]
    for done, answer in enumerate(wanted):
        progress(done, len(wanted))
        outer = answer.finding.objects[0].layout or 0
        if outer not in runs:
            runs[outer] = _reconstructed(answer.finding, findings, profile, layouts, premises)
        found.update(dict.fromkeys((one.before.id for one in answer.candidates), runs[outer]))
    return found


def _reconstructed(
    finding: Finding, findings: Sequence[Finding], profile: Profile, layouts: Layouts, premises: Premises
) -> RecordRuns | str:
    layout = finding.objects[0].layout or 0
    others = [one for one in findings if one.rank != finding.rank and one.objects and one.objects[0].layout == layout]
    lines = (finding, *(one for one in others if one.objects[0].outcome in KNOWN))
    here = sampled_scene(lines, layouts.by_id(layout), layouts, premises.kernel, profile.areas)
    draws = reconstructed(lines, profile, layouts, premises.accesses, here)
    if not draws:
        return "nothing was replayed, because the profile does not say which bytes were accessed."
    share, contended = sum(one.share for one in lines), sum(contended_on(one) for one in lines)
    whole = contended / share if share else 0.0
    counted = min(contended, premises.shares.get(finding.rank, 1.0) * whole)
    if profile.recording and (waited := sum(one.misses for line in profile.lines for one in line.conflicts)):
        # As `hot` counts, also what waited where no member is known.
        whole, counted = float(waited), premises.shares.get(finding.rank, share) * waited
    runs = RecordRuns([(one, 0) for one in draws], layouts, counted, whole, finding.bytes)
    return (
        runs
        if runs.now.total
        else "no run was found in which the functions sampled disturb each other as in the profile."
    )


@dataclass(frozen=True, slots=True)
class Contender:
    """A candidate with its judgement, and its misses by window of the runs.

    ``around_lock`` tells that others move away from a lock, which then stays with all the rest.
    """

    candidate: Candidate
    layout: ReplayedLayout
    around_lock: bool = False

    @property
    def effort(self) -> tuple[float, int]:
        """The share of memory that it takes more, and how many members move: the smaller change has less of it."""
        return growth(self.candidate), self.candidate.churn.members

    @property
    def burden(self) -> tuple[float, int, bool]:
        """Its effort; of equals what moves a lock is less, since members that nobody sampled profit too."""
        return *self.effort, self.around_lock

    @property
    def price(self) -> float:
        """What it must save: for its moves, and for members newly on the line of a written one that may be used.

        A recorded trace has all that the run used.
        """
        risk = self.candidate.exposed if self.candidate.judgement.runs > 1 else 0.0
        return WORTH_A_MOVE * self.candidate.churn.atoms + EXPOSED_COST * risk

    @property
    def saved(self) -> float:
        """Misses that go away."""
        return self.candidate.judgement.saved


def growth(candidate: Candidate) -> float:
    """The share of memory that objects take more: of their slabs, where those are known, else of their bytes."""
    slabs = [
        *zip(*candidate.memory, strict=False),
        *(one.memory for one in candidate.holders if one.memory is not None),
    ]
    if slabs:
        return max(0.0, *(new.pages_per_1000 / old.pages_per_1000 - 1 for old, new in slabs))
    sizes = [(candidate.before.size, candidate.after.size), *((one.before, one.after) for one in candidate.holders)]
    return max(0.0, *(after / before - 1 for before, after in sizes if before))


def judged(
    answers: Sequence[Suggestion], runs_of: RunsOf, progress: Callable[[int, int], object] = lambda _done, _total: None
) -> tuple[Suggestion, ...]:
    """The answers with their candidates judged, the recommended one first, then those that save most.

    Where nothing could be replayed nothing is recommended, and each candidate says why. ``progress`` gets how many of
    all answers are done.
    """
    found = []
    for done, answer in enumerate(answers):
        progress(done, len(answers))
        found.append(_judged(answer, runs_of))
    return tuple(found)


def _judged(answer: Suggestion, runs_of: RunsOf) -> Suggestion:
    found: list[Contender] = []
    untold: list[Candidate] = []
    locks = {one.top for one in own_members(answer.finding) if one.lock}
    for one in (*answer.candidates, *_climbed(answer, runs_of)):
        runs = runs_of.get(one.before.id, answer.withheld)
        try:
            if isinstance(runs, str):
                raise NotSimulated(runs.removesuffix("."))
            layout = runs.under_candidate(one)
            judgement = runs.judgement(layout)
            around = bool(locks) and locks.isdisjoint(one.moved)
            found.append(Contender(replace(one, judgement=judgement, recommended=""), layout, around))
        except NotSimulated as refusal:
            untold.append(replace(one, judgement=replace(NOT_JUDGED, refusal=f"{refusal}.")))
    if not found:
        why = answer.withheld or f"Nothing is recommended: {untold[0].judgement.refusal}" if untold else ""
        return replace(answer, candidates=tuple(untold[:MOST_CANDIDATES]), declined=why)
    return answered(answer, found)


def _climbed(answer: Suggestion, runs_of: RunsOf) -> Iterator[Candidate]:
    """Candidates of several steps, each sought by replay."""
    if answer.target is None or answer.withheld:
        return
    before = answer.candidates[0].before
    runs = runs_of.get(before.id, "")
    if isinstance(runs, RecordRuns):
        known = {one.after for one in answer.candidates}
        for option in climbed(answer.target, runs, before):
            one = candidate(answer.finding, answer.target, option, runs.layouts)
            if one.after not in known:
                yield one


def answered(answer: Suggestion, found: Sequence[Contender]) -> Suggestion:
    """The answer with the recommended one of ``found`` first, then those that save most for what they take."""
    best = chosen(found)
    most = max(*(one.saved for one in found), 1e-9)
    ranked = sorted(found, key=lambda one: (one is not best, -_net(one, most), one.effort))
    shown = tuple(one.candidate for one in ranked[:MOST_CANDIDATES])
    if best is None or answer.withheld:
        return replace(answer, candidates=shown, declined=answer.withheld or _declined(found))
    first = replace(best.candidate, recommended=_reason(best, found))
    return replace(answer, candidates=(first, *shown[1:]), declined="")


def _net(one: Contender, most: float) -> float:
    """What is saved, less the price, as a share of the ``most`` that any saves."""
    return one.saved / most - one.price


def chosen(found: Sequence[Contender]) -> Contender | None:
    """The one to take: that saves most for its price, or a smaller one that replay cannot tell from it."""
    better = [one for one in found if one.candidate.judgement.better]
    level = [one for one in better if not growth(one.candidate)]
    grown = [one for one in better if growth(one.candidate) and _pays(one, level)]
    pool = grown or level
    most = max((one.saved for one in pool), default=0.0)
    worth = [one for one in pool if one.candidate.judgement.change <= -LEAST_SAVING and _net(one, most) > 0]
    best = max(worth, key=lambda one: (_net(one, most), -one.candidate.churn.members), default=None)
    if best is None:
        return None
    less = [one for one in worth if one.burden < best.burden and (one.effort == best.effort or one.price <= best.price)]
    alike = [one for one in less if may_be_equal(one.layout.windows, best.layout.windows)]
    return min(alike, key=lambda one: (one.burden, -one.saved), default=best)


def _pays(one: Contender, level: Sequence[Contender]) -> bool:
    """Whether a record that takes more memory saves what it must; ``level`` are those that do not."""
    wanted = min(max(WORTH_GROWING, WORTH_MEMORY * growth(one.candidate)), MOST_FOR_GROWING)
    free = max((each.saved for each in level), default=0.0)
    return one.saved >= max(wanted * one.candidate.judgement.before, TIMES_LEVEL * free)


def _reason(best: Contender, found: Sequence[Contender]) -> str:
    """Why this one, in a sentence."""
    saved = best.candidate.judgement.saved
    moved = best.candidate.churn.members
    clauses = ["one member moves" if moved == 1 else f"{moved} members move"]
    smaller = max((one.candidate.judgement.saved for one in found if one.effort < best.effort), default=saved)
    if smaller < saved:
        clauses.append(f"a smaller change saves {max(smaller, 0.0):,.0f}")
    grown = [one for one in found if growth(one.candidate) > growth(best.candidate)]
    level = [one for one in found if one not in grown and one.effort > best.effort]
    larger = max((one.saved for one in level), default=saved)
    if larger >= saved + 1:
        clauses.append(f"a larger one {larger - saved:,.0f} more, which is not worth what it takes")
    most = max(grown, key=lambda one: one.saved, default=best)
    made = " and ".join(move.clause for move in most.candidate.moves)
    more, share = most.candidate.after.size - most.candidate.before.size, growth(most.candidate)
    memory = f" With {more} bytes more ({share:+.0%} memory): {made} saves {most.saved:,.0f}."
    return f"Replayed, it saves {_saved(best)}: {', '.join(clauses)}.{memory if most.saved >= saved + 1 else ''}"


def _saved(one: Contender) -> str:
    judgement = one.candidate.judgement
    return f"{judgement.saved:,.0f} of {judgement.before:,.0f} misses of the record ({-judgement.change:.1%})"


def _declined(found: Sequence[Contender]) -> str:
    """Why none is recommended, a sentence."""
    best = min(found, key=lambda one: one.candidate.judgement.after)
    judgement = best.candidate.judgement
    if judgement.change >= 0:
        return "Nothing is recommended: replayed, no candidate has fewer misses than the layout as it is."
    low, high = judgement.interval.low, judgement.interval.high
    why = f"which may be noise (80% interval {-high:.1%} to {-low:.1%})"
    if judgement.better:
        enough, moves = f"{LEAST_SAVING:.0%} of its misses", f"{best.candidate.churn.members} members that move"
        takes = f"{growth(best.candidate):+.0%} memory" if growth(best.candidate) else moves
        why = f"less than {enough}" if judgement.change > -LEAST_SAVING else f"too little for {takes}"
    return f"Nothing is recommended: replayed, the best candidate saves {_saved(best)}, {why}."
