# SPDX-License-Identifier: GPL-2.0-or-later
"""What counts in ``linesmith lint``: rules on and off, what is wanted, what is accepted, what makes it fail."""

from __future__ import annotations

import gzip
import json
import subprocess
from pathlib import Path

import pytest
from c_source import compiled
from linesmith_command import LINESMITH
from lint_builds import NOT_ALIGNED, Change, changed_tree


@pytest.fixture
def change(tmp_path: Path) -> Change:
    return changed_tree(tmp_path)


def wants(change: Change, text: str) -> None:
    (change.tree / "linesmith.toml").write_text(text)


def lint(change: Change, *arguments: str | Path, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [LINESMITH, "lint", "--base", change.old, "--head", change.new, *arguments]
    return subprocess.run(command, cwd=folder or change.tree, capture_output=True, text=True, check=False)


def test_a_rule_can_be_turned_off(change: Change) -> None:
    assert lint(change, "--ignore", "alignment-lost").returncode == 0


def test_a_rule_nobody_knows_is_an_error(change: Change) -> None:
    done = lint(change, "--ignore", "alignmentlost")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no rule is called 'alignmentlost'" in done.stderr


@pytest.mark.parametrize(("least", "status"), [("note", 1), ("warning", 1), ("error", 0), ("never", 0)])
def test_the_least_severity_that_fails_is_said(change: Change, least: str, status: int) -> None:
    done = lint(change, "--fail-on", least)
    assert done.returncode == status
    assert "[alignment-lost]" in done.stdout


def test_the_file_with_intents_is_found_in_the_root_of_the_git_tree(change: Change) -> None:
    wants(change, '[lint]\nignore = ["alignment-lost"]\n')
    (change.tree / "drivers").mkdir()
    assert lint(change, folder=change.tree / "drivers").returncode == 0


def test_the_file_with_intents_can_be_named(change: Change, tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text('[lint]\nignore = ["alignment-lost"]\n')
    assert lint(change, "--intent", tmp_path / "other.toml").returncode == 0


def test_the_command_line_has_the_last_word_on_rules(change: Change) -> None:
    wants(change, '[lint]\nignore = ["alignment-lost"]\n')
    assert lint(change, "--select", "alignment-lost").returncode == 1


def test_a_suppression_accepts_with_its_reason(change: Change) -> None:
    wants(change, '[[suppress]]\nrule = "alignment-lost"\ntype = "counter"\nreason = "per CPU now"\n')
    done = lint(change, "--format", "json")
    assert done.returncode == 0
    (accepted,) = json.loads(done.stdout)["accepted"]
    assert (accepted["reason"], accepted["by"]) == ("per CPU now", "linesmith.toml:1")


def test_an_expired_suppression_fails_with_what_it_hid(change: Change) -> None:
    wants(change, '[[suppress]]\nrule = "alignment-lost"\ntype = "counter"\nreason = "soon"\nexpires = 2020-01-01\n')
    done = lint(change)
    assert done.returncode == 1
    assert "linesmith.toml:1: WARNING: counter: the suppression of alignment-lost expired on 2020-01-01" in done.stdout
    assert "new.c:1: WARNING: struct counter: was aligned" in done.stdout


def test_a_suppression_that_met_nothing_is_told_and_fails_nothing(change: Change) -> None:
    wants(change, '[[suppress]]\nrule = "slab-growth"\ntype = "counter"\nreason = "soon"\n')
    done = lint(change, "--ignore", "alignment-lost")
    assert done.returncode == 0
    assert "linesmith.toml:1: NOTE: counter: the suppression of slab-growth meets no violation" in done.stdout


def test_a_baseline_accepts_what_there_was(change: Change, tmp_path: Path) -> None:
    baseline = tmp_path / "known.json"
    written = lint(change, "--write-baseline", baseline)
    assert (written.returncode, written.stdout) == (0, "no violations in 1 record, 1 changed, 1 watched; 1 accepted\n")
    assert lint(change, "--baseline", baseline).returncode == 0


def test_a_baseline_in_the_tree_is_written_again(change: Change) -> None:
    baseline = change.tree / "known.json"
    for _ in range(2):
        assert lint(change, "--tree", change.tree, "--write-baseline", baseline).returncode == 0
    assert lint(change, "--baseline", baseline, "--write-baseline", baseline).returncode == 0


def test_a_file_that_is_no_baseline_is_not_overwritten(change: Change) -> None:
    wants(change, "# mine\n")
    done = lint(change, "--write-baseline", change.tree / "linesmith.toml")
    assert done.returncode == 2
    assert "is there and is no baseline, so it stays as it is" in done.stderr
    assert (change.tree / "linesmith.toml").read_text() == "# mine\n"


def test_what_is_wanted_under_a_configuration_needs_it_known(change: Change, tmp_path: Path) -> None:
    wants(change, '[[type]]\nname = "counter"\nreason = "hot"\nconfiguration = ["CONFIG_SMP"]\n')
    assert (
        "note: linesmith.toml:1: what is wanted of counter where CONFIG_SMP is set was not checked"
        in lint(change).stdout
    )
    (tmp_path / ".config").write_text("CONFIG_SMP=y\n")
    assert "was not checked" not in lint(change, "--kconfig", tmp_path / ".config").stdout


def test_a_kernel_that_carries_its_configuration_need_not_be_told_it(change: Change) -> None:
    packed = "".join(f"\\{byte:03o}" for byte in gzip.compress(b"CONFIG_SMP=y\n", mtime=0))
    source = f'{NOT_ALIGNED} const char config[] = "IKCFG_ST{packed}IKCFG_ED";'
    compiled(change.tree, source, name="new")
    wants(change, '[[type]]\nname = "counter"\nreason = "hot"\nconfiguration = ["CONFIG_SMP"]\n')
    assert "was not checked" not in lint(change).stdout
