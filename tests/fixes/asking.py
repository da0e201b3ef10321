# SPDX-License-Identifier: GPL-2.0-or-later
"""What ``linesmith suggest`` says of a profile, as far as it concerns the objects of a scenario."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fixes.judgement import Judge
from fixes.kernel import RealKernel

from linesmith.analyzer.base.errors import NothingToSuggest
from linesmith.analyzer.cli.analysis import analyse
from linesmith.analyzer.cli.suggest import offered
from linesmith.analyzer.model import Candidate, Finding
from linesmith.analyzer.sharing.analysis import quiet_lines
from linesmith.tuner.constraints.freedom import Premises
from linesmith.tuner.propose.candidates import MOST_JUDGED, Suggestion, answers
from linesmith.tuner.replay.judged import judged
from linesmith.tuner.structure.advise import advise


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
        proposed = answers(found.findings, kernel.layouts, asked, MOST_JUDGED)
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
