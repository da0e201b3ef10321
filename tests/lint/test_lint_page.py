# SPDX-License-Identifier: GPL-2.0-or-later
"""What docs/lint.md tells people to copy is sound: by its own schema, pinned, and with few permissions."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from c_source import compiled
from linesmith_command import linesmith
from lint_builds import ALIGNED, NOT_ALIGNED, check_by_schema, with_linesmith

PAGE = Path(__file__).resolve().parents[2] / "docs" / "lint.md"


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
