# SPDX-License-Identifier: GPL-2.0-or-later
"""Services that run the lint: GitLab's job, hooks of pre-commit, the action for GitHub, and what docs/lint.md tells."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from c_source import compiled
from linesmith_command import linesmith
from lint_builds import (
    ALIGNED,
    BUDGET,
    LARGE,
    NOT_ALIGNED,
    Change,
    check_by_schema,
    check_script,
    committed,
    with_linesmith,
)

ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = ROOT / ".gitlab" / "linesmith-lint.yml"


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


def test_a_name_of_gitlab_is_only_a_name(change: Change) -> None:
    (change.tree / "$(touch pwned)").write_bytes(change.new.read_bytes())
    assert run_job(change.tree, LINT_BASE=change.old, LINT_HEAD="$(touch pwned)").returncode == 1
    assert not (change.tree / "pwned").exists()


MANIFEST = ROOT / ".pre-commit-hooks.yaml"


def run_hook(folder: Path, tree: Path, hook: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What pre-commit says when all files of ``tree`` are checked with the hook."""
    hooks = folder / "hooks"
    hooks.mkdir(parents=True)
    shutil.copy(MANIFEST, hooks)
    used = {"id": hook, "args": list(arguments)}
    config = {"repos": [{"repo": str(hooks), "rev": committed(hooks), "hooks": [used]}]}
    (tree / ".pre-commit-config.yaml").write_text(json.dumps(config))
    command = [sys.executable, "-m", "pre_commit", "run", "--all-files", "--verbose", "--color", "never"]
    return with_linesmith(command, tree, PRE_COMMIT_HOME=str(folder / "home"), GIT_CONFIG_GLOBAL=os.devnull)


def test_the_manifest_is_one() -> None:
    subprocess.run([sys.executable, "-m", "pre_commit", "validate-manifest", MANIFEST], check=True)


def test_a_commit_that_spoils_a_layout_is_stopped_and_one_that_does_not_passes(tmp_path: Path, change: Change) -> None:
    done = run_hook(tmp_path / "one", change.tree, "linesmith-lint", "--base", "old.o", "--head", "new.o")
    assert done.returncode == 1
    assert "new.c:1: WARNING: struct counter: was aligned to 64 bytes" in done.stdout
    done = run_hook(tmp_path / "two", change.tree, "linesmith-lint", "old.o")
    assert (done.returncode, "Passed" in done.stdout) == (0, True)


def test_a_file_of_intents_that_says_nonsense_is_stopped(tmp_path: Path, change: Change) -> None:
    (change.tree / "linesmith.toml").write_text('[[type]]\nname = "nowhere"\nreason = "x"\n')
    committed(change.tree)
    done = run_hook(tmp_path, change.tree, "linesmith-intent", "old.o")
    assert done.returncode == 1
    assert "linesmith.toml:1: " in done.stdout


@pytest.mark.parametrize("first", [False, True], ids=["a later commit", "the first commit"])
def test_what_is_staged_is_linted_without_a_build(tmp_path: Path, change: Change, first: bool) -> None:
    (change.tree / "linesmith.toml").write_text(BUDGET)
    if first:
        shutil.rmtree(change.tree / ".git")
        subprocess.run(["git", "init", "--quiet", change.tree], check=True)
    else:
        committed(change.tree)
        passed = run_hook(tmp_path / "first", change.tree, "linesmith-lint-staged")
        assert (passed.returncode, "Passed" in passed.stdout) == (0, True)
    (change.tree / "new.c").write_text(LARGE)
    subprocess.run(["git", "add", "new.c", "linesmith.toml"], cwd=change.tree, check=True)
    done = run_hook(tmp_path / "second", change.tree, "linesmith-lint-staged")
    assert done.returncode == 1
    assert "new.c:1: WARNING: struct counter: " in done.stdout
    assert "[budget-exceeded]" in done.stdout


PAGE = ROOT / "docs" / "lint.md"


def block(language: str, word: str) -> str:
    """The block of the page in that language which holds the word."""
    found = re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    (one,) = [text for text in found if word in text]
    return str(one)


def workflow() -> dict[Any, Any]:
    return dict(yaml.safe_load(block("yaml", "runs-on")))


@pytest.mark.parametrize(("word", "schema"), [("runs-on", "github-workflows"), ("extends", "gitlab-ci")])
def test_examples_obey_the_schemas_of_their_services(tmp_path: Path, word: str, schema: str) -> None:
    (tmp_path / "example.yml").write_text(block("yaml", word))
    check_by_schema(schema, tmp_path / "example.yml")


def test_the_example_for_pre_commit_is_one(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(block("yaml", "linesmith-intent"))
    command = [sys.executable, "-m", "pre_commit", "validate-config", str(tmp_path / "config.yaml")]
    subprocess.run(command, check=True)


def test_the_workflow_pins_what_it_uses_by_commit_and_may_read_and_nothing_else() -> None:
    used = [step["uses"] for step in workflow()["jobs"]["lint"]["steps"] if "uses" in step]
    assert len(used) == 3
    assert [one for one in used if not re.search(r"@([0-9a-f]{40}|COMMIT)$", one)] == []
    assert workflow()["permissions"] == {}
    assert [job["permissions"] for job in workflow()["jobs"].values()] == [{"contents": "read"}]
    assert workflow()[True] == "pull_request"  # YAML 1.1 takes the key `on` for a boolean


def test_the_example_of_a_suppression_is_understood(tmp_path: Path) -> None:
    (tmp_path / "linesmith.toml").write_text(block("toml", "expires"))
    done = linesmith("lint", compiled(tmp_path, ALIGNED), "--format", "json", cwd=tmp_path)
    assert (done.returncode, json.loads(done.stdout)["violations"]) == (0, [])


def test_the_line_for_a_makefile_lints_what_make_built(tmp_path: Path) -> None:
    tree = tmp_path / "kernel"
    tree.mkdir()
    (tree / "Makefile").write_text("modules: ; gcc -g -c -o $(M)/session.ko $(M)/session.c\n")
    (tmp_path / "Makefile").write_text(block("make", "obj-m"))

    def make_lint(source: str, *options: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "session.c").write_text(source)
        return with_linesmith(["make", "--silent", "lint", *options], tmp_path, KDIR=str(tree))

    assert make_lint(ALIGNED).returncode == 0
    (tmp_path / "session.ko").rename(tmp_path / "base.ko")
    done = make_lint(NOT_ALIGNED, "BASE=base.ko")
    assert done.returncode == 2
    assert "session.c:1: WARNING: struct counter: was aligned to 64 bytes" in done.stdout


# The composite action for GitHub: its steps are run as a runner runs them

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


def test_violations_are_annotations_and_results_are_files_for_later_steps(tmp_path: Path, change: Change) -> None:
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
def test_the_lints_status(tmp_path: Path, change: Change, wanted: str, inputs: dict[str, str], status: int) -> None:
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
