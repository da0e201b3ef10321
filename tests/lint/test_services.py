# SPDX-License-Identifier: GPL-2.0-or-later
"""Services that run the lint: GitLab's job, the hooks for pre-commit, and what docs/lint.md tells people to copy."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
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
