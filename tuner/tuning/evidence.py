# SPDX-License-Identifier: GPL-2.0-or-later
"""What a search goes out from: a profile of the tree as it is, explained by the layouts of its build."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from linesmith.analyzer.access import accesses_if_any
from linesmith.analyzer.dwarf import read_layouts
from linesmith.analyzer.errors import NothingToSuggest, NotRecorded, PlanError
from linesmith.analyzer.explain import explain, holding
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Built, Evidence, Finding, Profile, Searching, TunePlan
from linesmith.plugins.registry import read_profiles
from linesmith.tuner.recording_order import product_of
from linesmith.tuner.tuning.given_profile import given_profile
from linesmith.tuner.tuning.laboratory import Laboratory
from linesmith.tuner.tuning.tasks import RecordTask


@dataclass(frozen=True, slots=True)
class Explained:
    """A profile of ``elf`` and what it says; there is a ``trace`` where it was recorded for this run."""

    elf: Path
    profile: Profile
    layouts: Layouts
    findings: tuple[Finding, ...]
    trace: Path | None


async def explained(lab: Laboratory, plan: TunePlan) -> Explained:
    """Read the plan's profile, or record one on the baseline's build, and explain it.

    Raises ``PlanError``, ``NotRecorded``, ``NothingToSuggest``, ``ProfileError``, ``BuildIdDiffers``, ``ElfError``,
    and what the recorder raises.
    """
    evidence = plan.evidence
    if evidence is None:
        raise PlanError("there is no profile to start from; the plan needs a [record] or a [[benchmark]]")
    given = given_profile(evidence, plan.search)
    built = await lab.baseline()
    elf = product_of(built, evidence)
    profile, trace = (given, None) if given else await _recorded(lab, built, evidence, plan.search)
    lab.narration.say("explaining the profile")
    reading = read_layouts(elf)
    wanted = plan.search.type.split()[-1] if plan.search.type else None
    found = explain(reading, elf, profile, wanted, accesses=accesses_if_any(elf)).findings
    kept = found if wanted is None else holding(found, wanted)
    if not kept:
        raise NothingToSuggest(
            f"no line of {profile.source} holds {wanted or 'anything'}; look at `linesmith hot {elf} {profile.source}`"
        )
    return Explained(elf, profile, reading.layouts, kept, trace)


def with_all_lines(seen: Explained, type_: str) -> Explained:
    """The same with a finding for every line on which the recording knows an object that holds the record.

    Where in its line the object of the hottest line begins is chance, and so is which members meet there.
    """
    if not seen.profile.areas:
        return seen
    accesses = accesses_if_any(seen.elf)
    found = holding(explain(read_layouts(seen.elf), seen.elf, seen.profile, type_, accesses=accesses).findings, type_)
    return replace(seen, findings=found) if found else seen


async def _recorded(
    lab: Laboratory, built: Built, evidence: Evidence, search: Searching
) -> tuple[Profile, Path | None]:
    task = RecordTask(evidence, built, search.seed, lab.run.path)
    if not task.profile.is_file():
        outcome = await lab.done(task, "recording the workload")
        with lab.run.journal.transaction():
            lab.run.journal.end(task.name)
        if outcome.failure is not None:
            raise NotRecorded(f"the workload cannot be recorded: {outcome.failure.reason}")
    return read_profiles(task.profile)[0], task.trace if task.trace.is_file() else None
