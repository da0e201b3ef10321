# SPDX-License-Identifier: GPL-2.0-or-later
"""The profile of a run, for those who look at the run later."""

from __future__ import annotations

from pathlib import Path

import pytest
from tuning.project import PLAN, project

from linesmith.analyzer.errors import JournalError
from linesmith.tuner.tuning.run_directory import RunDirectory
from linesmith.tuner.tuning.run_profile import RunProfile, run_profile

GIVEN = PLAN.replace('command = "{queue} work"', 'profile = "seen.txt"').replace("[search]", "[search]\nsection = 2")


def begun(folder: Path, plan: str) -> Path:
    """The directory of a run of ``plan``, in which nothing was done yet."""
    RunDirectory.create(folder / "tune.run", plan, project(folder)).close()
    return folder / "tune.run"


def test_a_recording_lies_in_the_run(tmp_path: Path) -> None:
    run = begun(tmp_path, PLAN)
    assert run_profile(run) is None
    (run / "profile.json").write_text("{}")
    assert run_profile(run) == RunProfile(run / "profile.json")


def test_a_profile_that_was_given_lies_where_the_plan_says(tmp_path: Path) -> None:
    run = begun(tmp_path, GIVEN)
    assert run_profile(run) is None
    (tmp_path / "seen.txt").touch()
    assert run_profile(run) == RunProfile(tmp_path / "seen.txt", 2)


def test_a_plan_that_is_none_any_more_names_no_profile(tmp_path: Path) -> None:
    run = begun(tmp_path, GIVEN)
    (run / "tune.toml").write_text("[source")
    assert run_profile(run) is None


def test_a_folder_that_holds_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="holds no run"):
        run_profile(tmp_path)
