# SPDX-License-Identifier: GPL-2.0-or-later
"""Candidates for random structs with random heat, judged by the rules and by a compiler."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from legality.checker import KERNEL, violations
from legality.compiled import Compiled, compiled, says, told_alignments
from legality.random_heat import Case, random_case

from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.model import Candidate, Layout, RecordKind, SourceFacts
from linesmith.tuner.constraints.freedom import Premises
from linesmith.tuner.propose.candidates import answers


@dataclass(frozen=True)
class Outcome:
    """What was ``asked`` and answered, the ``strategies`` of legal candidates, and all that is wrong.

    ``inferred`` counts candidates whose present layout only inferred alignments explain.
    """

    asked: Counter[str]
    strategies: Counter[str]
    wrong: tuple[str, ...]

    def __add__(self, other: Outcome) -> Outcome:
        return Outcome(self.asked + other.asked, self.strategies + other.strategies, self.wrong + other.wrong)


def study(drawn: Iterable[Case], layouts: Layouts, folder: Path) -> Outcome:
    """Ask for every case and judge every candidate; programs for gcc are written to ``folder``."""
    around = holders(layouts)
    made: list[tuple[Case, Candidate]] = []
    asked: Counter[str] = Counter()
    wrong: list[str] = []
    for case in drawn:
        found = list(candidates(case, layouts))
        asked.update({"structs": 1, "with facts": bool(case.facts), "answered": bool(found)})
        for one in found:
            broken = violations(case, one, layouts, around[case.layout.id])
            wrong += [f"{_title(case)}: {said}" for said in broken]
            made += [] if broken else [(case, one)]
    asked["candidates"] = len(made)
    asked["inferred"], said = disagreements(made, folder)
    return Outcome(asked, Counter(one.strategy.value for _, one in made), tuple(wrong + said))


def holders(layouts: Layouts) -> Mapping[int, list[Layout]]:
    """The records that have one as a member, by its id."""
    found: dict[int, list[Layout]] = defaultdict(list)
    for layout in layouts:
        for record in {member.record for member in layout.members if member.record is not None}:
            found[record].append(layout)
    return found


def cases(layouts: Layouts, count: int, seed: int) -> Iterator[Case]:
    """Cases of ``count`` different structs."""
    random = Random(seed)  # noqa: S311 - repeatable cases, no secret
    structs = [one for one in layouts if one.kind is RecordKind.STRUCT and one.name and len(one.members) > 2]
    random.shuffle(structs)
    for layout in structs:
        case = random_case(layout, layouts, random)
        if case is not None:
            yield case
            count -= 1
        if not count:
            return


def candidates(case: Case, layouts: Layouts) -> Iterator[Candidate]:
    """All that is proposed for the case's lines."""
    premises = Premises(SourceFacts(((case.layout.name, case.facts),)), KERNEL, case.growth)
    for answer in answers(case.findings, layouts, premises=premises):
        yield from answer.candidates


def disagreements(made: Sequence[tuple[Case, Candidate]], folder: Path) -> tuple[int, list[str]]:
    """How many present layouts only inferred alignments explain; and where gcc does not agree with a candidate."""
    before = compiled([one.before for _, one in made], folder)
    plain = [theirs == says(one.before) for (_, one), theirs in zip(made, before, strict=True)]
    after = [one.after if ok else _explained(one) for (_, one), ok in zip(made, plain, strict=True)]
    results = compiled(after, folder)
    wrong = [
        f"{_title(case)}: gcc has {_difference(says(ours), theirs)}"
        for (case, _), ours, theirs in zip(made, after, results, strict=True)
        if theirs != says(ours)
    ]
    return plain.count(False), wrong


def _explained(candidate: Candidate) -> Layout:
    """The new layout with the alignments that the present one must have and does not say."""
    explained = told_alignments(candidate.before)
    asked = {(one.name, one.line, one.declarator): one.alignment for one in explained.members}
    members = tuple(
        replace(one, alignment=one.alignment or asked.get((one.name, one.line, one.declarator)))
        for one in candidate.after.members
    )
    return replace(candidate.after, members=members, alignment=candidate.after.alignment or explained.alignment)


def _title(case: Case) -> str:
    return f"{case.layout.name} ({case.layout.id})"


def _difference(ours: Compiled, theirs: Compiled) -> str:
    at = [pair for pair in zip(ours.starts, theirs.starts, strict=True) if pair[0] != pair[1]]
    return f"size {theirs.size} for {ours.size}, alignment {theirs.alignment} for {ours.alignment}, bits {at[:3]}"
