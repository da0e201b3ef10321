# SPDX-License-Identifier: GPL-2.0-or-later
"""What a search goes out from: a profile of the tree as it is, explained by the layouts of its build.

The profile is recorded in the run directory, or is a file that the plan names, which is read before anything is built.
"""

from __future__ import annotations

import shlex
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from linesmith.analyzer.access.store import accesses_if_any
from linesmith.analyzer.base.errors import NothingToSuggest, NotRecorded, PlanError, ProfileError, TraceError
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.dwarf import read_layouts
from linesmith.analyzer.model import Built, Evidence, Finding, Profile, Searching, TunePlan
from linesmith.analyzer.sharing.analysis import explain, narrowed
from linesmith.plugins.registry import read_profiles
from linesmith.tuner.replay.replayer import trace_of
from linesmith.tuner.run.block import RecordTask
from linesmith.tuner.run.journal import Journal, journal_of
from linesmith.tuner.run.laboratory import Laboratory
from linesmith.tuner.run.plan_file import plan_in
from linesmith.tuner.run.run_directory import PLAN
from linesmith.tuner.run.simulated import product_of

RECORDED = "profile"


@dataclass(frozen=True, slots=True)
class RunProfile:
    """A file of profiles, and which report in it is meant (from 1)."""

    path: Path
    section: int = 1


def run_profile(run: Path) -> RunProfile | None:
    """What is there of it; ``None`` where the run has recorded nothing and was given nothing that can still be read.

    Raises ``JournalError`` when ``run`` holds no run.
    """
    recorded = run / RECORDED
    if recorded.is_file():
        return RunProfile(recorded)
    with closing(Journal.read(journal_of(run))) as journal:
        try:
            planned = planned_profile(plan_of(run, journal))
        except (OSError, ValueError, PlanError):
            return None
    return planned if planned and planned.path.is_file() else None


def plan_of(run: Path, journal: Journal) -> TunePlan:
    """The plan that the run was begun with; raises ``OSError`` and what ``plan_in`` does."""
    return plan_in((run / PLAN).read_text("utf-8"), journal.folder)


def planned_profile(plan: TunePlan) -> RunProfile | None:
    """The profile that the plan names."""
    named = plan.evidence.profile if plan.evidence else None
    return RunProfile(named, plan.search.section) if named else None


def read_planned_profile(evidence: Evidence, search: Searching) -> Profile | None:
    """The profile in the plan's file, ``None`` where it is to be recorded.

    Raises ``ProfileError``, also where no member can be named by it.
    """
    if evidence.profile is None:
        return None
    reports = read_profiles(evidence.profile)
    if not 1 <= search.section <= len(reports):
        raise ProfileError(
            f"{evidence.profile} holds {len(reports)} report(s), so there is no [search] section {search.section}"
        )
    profile = reports[search.section - 1]
    if not profile.has_offsets:
        raise ProfileError(
            f"{profile.source} lists shared lines but no offsets, so members cannot be named; give the whole report"
        )
    return profile


@dataclass(frozen=True, slots=True)
class ExplainedRun:
    """A profile of ``elf`` and what it says; there is a ``trace`` where one was recorded with it."""

    elf: Path
    profile: Profile
    layouts: Layouts
    findings: tuple[Finding, ...]
    trace: Path | None


async def explained(lab: Laboratory, plan: TunePlan) -> ExplainedRun:
    """Read the plan's profile, or record one on the baseline's build, and explain it.

    Raises ``PlanError``, ``NotRecorded``, ``NothingToSuggest``, ``ProfileError``, ``ElfError``,
    and what the recorder raises.
    """
    evidence = plan.evidence
    if evidence is None:
        raise PlanError("there is no profile to start from; the plan needs a [record] or a [[benchmark]]")
    planned = read_planned_profile(evidence, plan.search)
    built = await lab.baseline()
    elf = product_of(built, evidence)
    profile, place = (planned, evidence.profile) if planned else await _recorded(lab, built, evidence, plan.search)
    try:
        trace = trace_of(profile.recording, place) if place else None
    except TraceError as error:
        trace = None
        lab.narration.say(f"the trace is not replayed: {error}")
    lab.narration.say("explaining the profile")
    reading = read_layouts(elf)
    type_name = plan.search.type.split()[-1] if plan.search.type else None
    found = explain(reading, profile, map_of=accesses_if_any)
    found = narrowed(found, type_name) if type_name else found
    if not found.findings:
        hot = shlex.join(("linesmith", "hot", str(elf), profile.source))
        raise NothingToSuggest(f"no line of {profile.source} holds {type_name or 'anything'}; look at `{hot}`")
    return ExplainedRun(elf, found.profile, reading.layouts, found.findings, trace)


def with_all_lines(seen: ExplainedRun, type_: str) -> ExplainedRun:
    """The same with a finding for every line on which the recording knows an object that holds the record.

    Where in its line the object of the hottest line begins is chance, and so is which members meet there.
    """
    if not seen.profile.areas:
        return seen
    found = narrowed(explain(read_layouts(seen.elf), seen.profile, map_of=accesses_if_any), type_)
    return replace(seen, findings=(*found.findings, *found.colder)) if found.findings else seen


async def _recorded(lab: Laboratory, built: Built, evidence: Evidence, search: Searching) -> tuple[Profile, Path]:
    task = RecordTask(evidence, built, search.seed, lab.run.path)
    if not task.profile.is_file():
        outcome = await lab.done(task, "recording the workload")
        if outcome.failure is not None:
            raise NotRecorded(f"the workload cannot be recorded: {outcome.failure.reason}")
    return read_profiles(task.profile)[0], task.profile
