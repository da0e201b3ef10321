# SPDX-License-Identifier: GPL-2.0-or-later
"""The job for GitLab: its script is run by the shells that a job's image may have."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import yaml
from lint_builds import Change, check_by_schema, check_script, with_linesmith

TEMPLATE = Path(__file__).resolve().parents[2] / ".gitlab" / "linesmith-lint.yml"


def job() -> dict[str, Any]:
    return dict(yaml.safe_load(TEMPLATE.read_text())[".linesmith-lint"])


def run_job(tree: Path, shell: str = "bash", **variables: str | Path) -> subprocess.CompletedProcess[str]:
    given = {**job()["variables"], **{name: str(value) for name, value in variables.items()}}
    return with_linesmith([shell, "-c", "\n".join(["set -e", *job()["script"]])], tree, **given)


def test_the_template_is_one_by_gitlabs_schema_and_its_script_passes_shellcheck() -> None:
    check_by_schema("gitlab-ci", TEMPLATE)
    check_script("\n".join(job()["script"]), "sh")


def test_violations_are_in_the_report_that_gitlab_shows_however_often_the_job_runs(change: Change) -> None:
    for shell in ("bash", "dash"):
        done = run_job(change.tree, shell, LINT_BASE=change.old, LINT_HEAD=change.new)
        assert done.returncode == 1
        assert "new.c:1: WARNING: struct counter: was aligned" in done.stdout
    (issue,) = json.loads((change.tree / job()["artifacts"]["reports"]["codequality"]).read_text())
    assert issue["location"] == {"path": "new.c", "lines": {"begin": 1}}
    (folder,) = job()["artifacts"]["paths"]
    kept = sorted(file.name for file in (change.tree / folder).iterdir())
    assert kept == ["codequality.json", "comment.md", "lint.sarif"]


def test_one_build_alone_or_a_severity_that_never_fails_pass(change: Change) -> None:
    assert run_job(change.tree, LINT_HEAD=change.old).returncode == 0
    assert run_job(change.tree, LINT_BASE=change.old, LINT_HEAD=change.new, LINT_FAIL_ON="never").returncode == 0


def test_a_name_is_only_a_name(change: Change) -> None:
    (change.tree / "$(touch pwned)").write_bytes(change.new.read_bytes())
    assert run_job(change.tree, LINT_BASE=change.old, LINT_HEAD="$(touch pwned)").returncode == 1
    assert not (change.tree / "pwned").exists()
