# SPDX-License-Identifier: GPL-2.0-or-later
"""The hooks for pre-commit, run by pre-commit itself in a tree that uses them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from lint_builds import BUDGET, LARGE, Change, committed, with_linesmith

MANIFEST = Path(__file__).resolve().parents[2] / ".pre-commit-hooks.yaml"


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
