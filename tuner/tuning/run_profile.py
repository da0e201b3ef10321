# SPDX-License-Identifier: GPL-2.0-or-later
"""The profile that a run goes out from: recorded in its directory, or given by its plan."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.errors import PlanError
from linesmith.analyzer.model import TunePlan
from linesmith.tuner.plan_file import plan_in
from linesmith.tuner.tuning.journal import Journal
from linesmith.tuner.tuning.run_directory import PLAN, journal_of

RECORDED = "profile.json"


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
    journal = Journal.read(journal_of(run))
    try:
        given = profile_given(plan_of(run, journal))
    except (OSError, ValueError, PlanError):
        return None
    finally:
        journal.close()
    return given if given and given.path.is_file() else None


def plan_of(run: Path, journal: Journal) -> TunePlan:
    """The plan that the run was begun with; raises ``OSError`` and what ``plan_in`` does."""
    return plan_in((run / PLAN).read_text("utf-8"), journal.folder)


def profile_given(plan: TunePlan) -> RunProfile | None:
    """The profile that the plan names."""
    named = plan.evidence.profile if plan.evidence else None
    return RunProfile(named, plan.search.section) if named else None
