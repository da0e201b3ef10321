# SPDX-License-Identifier: GPL-2.0-or-later
"""The composite action for GitHub: its steps are run as a runner runs them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from lint_builds import BUDGET, LARGE, Change, check_by_schema, check_script, committed, with_linesmith

CHECKOUT = Path(__file__).resolve().parents[2]
ACTION = CHECKOUT / ".github" / "actions" / "lint" / "action.yml"


@dataclass(frozen=True)
class Step:
    """What a step left: its status, its log, and the files of the runner."""

    status: int
    log: str
    outputs: dict[str, str]
    summary: str

    @property
    def commands(self) -> list[str]:
        """Lines that the runner takes for workflow commands."""
        word, found = "", []
        for line in self.log.splitlines():
            if word:
                word = "" if line == f"::{word}::" else word
            elif line.startswith("::stop-commands::"):
                word = line.removeprefix("::stop-commands::")
            elif line.startswith("::"):
                found.append(line)
        return found


def action() -> dict[str, Any]:
    return dict(yaml.safe_load(ACTION.read_text()))


def filled(text: str, inputs: dict[str, str]) -> str:
    """An expression of the runner; inputs that are not given have their defaults."""
    match = re.fullmatch(r"\$\{\{ inputs\.([\w-]+) \}\}", text)
    assert match
    return inputs.get(match[1], str(action()["inputs"][match[1]]["default"]))


def run_step(folder: Path, tree: Path, **inputs: str | Path) -> Step:
    """``shell: bash`` of a runner is this command line; see the workflow syntax, ``jobs.<job_id>.steps[*].shell``."""
    step = next(one for one in action()["runs"]["steps"] if one.get("id") == "lint")
    runner = folder / "runner"
    runner.mkdir(parents=True)
    (runner / "script.sh").write_text(step["run"])
    given = {name.replace("_", "-"): str(value) for name, value in inputs.items()}
    variables = {
        **{name: filled(text, given) for name, text in step["env"].items()},
        "RUNNER_TEMP": str(runner),
        "GITHUB_OUTPUT": str(runner / "output"),
        "GITHUB_STEP_SUMMARY": str(runner / "summary"),
        "GITHUB_ACTIONS": "true",
    }
    command: list[str | Path] = ["bash", "--noprofile", "--norc", "-eo", "pipefail", runner / "script.sh"]
    done = with_linesmith(command, tree, **variables)
    outputs = dict(line.split("=", 1) for line in (runner / "output").read_text().splitlines())
    summary = runner / "summary"
    return Step(done.returncode, done.stdout + done.stderr, outputs, summary.read_text() if summary.exists() else "")


def test_the_action_is_one_by_the_schema_of_actions_and_its_scripts_pass_shellcheck() -> None:
    check_by_schema("github-actions", ACTION)
    for step in action()["runs"]["steps"]:
        assert "${{" not in step.get("run", ""), "no input is put into a script"
        assert "uses" not in step, "it uses no other action"
        check_script(f"set -eo pipefail\n{step['run']}", "bash")


def test_violations_are_annotations_and_results_are_files_that_later_steps_can_use(
    tmp_path: Path, change: Change
) -> None:
    step = run_step(tmp_path, change.tree, base=change.old, head=change.new)
    assert step.status == 1
    assert [line.partition("::struct")[0] for line in step.commands] == [
        "::warning file=new.c,line=1,title=alignment-lost"
    ]
    assert step.outputs["status"] == "1"
    assert json.loads(Path(step.outputs["sarif"]).read_text())["runs"][0]["results"][0]["ruleId"] == "alignment-lost"
    assert step.summary == Path(step.outputs["markdown"]).read_text()
    assert step.summary.startswith("<!-- linesmith-lint -->\n### linesmith lint: 1 warning\n")


@pytest.mark.parametrize(
    ("wanted", "inputs", "status"),
    [
        ("", {"head": "old.o"}, 0),  # one build alone
        ("", {"base": "old.o", "head": "new.o", "fail_on": "error"}, 0),
        ('[lint]\nignore = ["alignment-lost"]\n', {"base": "old.o", "head": "new.o"}, 0),
        ("", {"base": "none.o", "head": "new.o"}, 2),
    ],
)
def test_the_status_is_that_of_the_lint(
    tmp_path: Path, change: Change, wanted: str, inputs: dict[str, str], status: int
) -> None:
    (change.tree / "linesmith.toml").write_text(wanted)
    step = run_step(tmp_path, change.tree, **inputs)
    assert (step.status, step.outputs["status"]) == (status, str(status))
    assert status == 0 or "none.o" in step.log


@pytest.mark.parametrize(
    "name", ["$(touch pwned).o", "`touch pwned`.o", "a b;touch pwned.o", "--help", "x\n::error::y.o"]
)
def test_a_name_is_only_a_name(tmp_path: Path, change: Change, name: str) -> None:
    (change.tree / name).write_bytes(change.new.read_bytes())
    step = run_step(tmp_path, change.tree, base=change.old, head=name)
    assert step.status == 1
    assert not (change.tree / "pwned").exists()
    assert [line.partition(" ")[0] for line in step.commands] == ["::warning"]


def test_revisions_are_compared_without_a_build(tmp_path: Path, change: Change) -> None:
    (change.tree / "linesmith.toml").write_text(BUDGET)
    committed(change.tree)
    (change.tree / "new.c").write_text(LARGE)
    committed(change.tree)
    step = run_step(tmp_path, change.tree, base_ref="HEAD^", head_ref="HEAD")
    assert step.status == 1
    assert [line.partition("::struct")[0] for line in step.commands if "budget" in line] == [
        "::warning file=new.c,line=1,title=budget-exceeded"
    ]


def test_a_revision_is_only_a_name(tmp_path: Path, change: Change) -> None:
    step = run_step(tmp_path, change.tree, base_ref="--upload-pack=touch pwned", head_ref="$(touch pwned)")
    assert (step.status, step.commands) == (2, [])
    assert not (change.tree / "pwned").exists()
