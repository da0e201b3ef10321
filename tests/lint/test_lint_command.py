# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith lint`` as a user runs it on compiled files: what is judged, accepted and written, and when it fails."""

from __future__ import annotations

import gzip
import subprocess
from pathlib import Path

import pytest
from c_source import compiled
from linesmith_command import LINESMITH, linesmith
from lint_builds import NOT_ALIGNED, Change

IGNORED = '[lint]\nignore = ["alignment-lost"]\n'
CONFIGURED = '[[type]]\nname = "counter"\nreason = "hot"\nconfiguration = ["CONFIG_SMP"]\n'
FORMS = ("json", "sarif", "github", "gitlab", "markdown")


def lint(change: Change, *options: str | Path, wanted: str = "") -> subprocess.CompletedProcess[str]:
    if wanted:
        (change.tree / "linesmith.toml").write_text(wanted)
    return linesmith("lint", "--base", change.old, "--head", change.new, *options, cwd=change.tree)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "give one build (ELF), or two builds (--base OLD --head NEW)"),
        ("--base {old} {new}", "give one build (ELF), or two builds (--base OLD --head NEW)"),
        (
            "--base {old} --head {new} --also xml=lint.xml",
            "xml=lint.xml is not of the form FORMAT=FILE; write it like sarif=",
        ),
        ("--base {old} --head {new} --also sarif=none/lint.sarif", "cannot write"),
        ("--base {old} --head {new} --also json={old}", "{old}"),  # a build is never written over
        ("--base {old} --head {new} --also json=a --also sarif=a", "a"),  # two outputs are two files
    ],
)
def test_what_cannot_be_done_is_told_before_the_work(change: Change, words: str, said: str) -> None:
    places = {"old": change.old, "new": change.new}
    before = {one: one.read_bytes() for one in change.tree.iterdir() if one.is_file()}
    done = linesmith("lint", *words.format(**places).split(), cwd=change.tree)
    assert (done.returncode, done.stdout) == (2, "")
    assert said.format(**places) in done.stderr
    assert {one: one.read_bytes() for one in change.tree.iterdir() if one.is_file()} == before


def test_the_file_with_intents_is_found_in_the_root_of_the_git_tree_or_named(change: Change, tmp_path: Path) -> None:
    (change.tree / "linesmith.toml").write_text(IGNORED)
    (change.tree / "drivers").mkdir()
    builds = ("--base", change.old, "--head", change.new)
    assert linesmith("lint", *builds, cwd=change.tree / "drivers").returncode == 0
    assert linesmith("lint", *builds, cwd=tmp_path).returncode == 1
    assert linesmith("lint", *builds, "--intent", change.tree / "linesmith.toml", cwd=tmp_path).returncode == 0
    baseline = change.tree / "known.json"
    for _ in range(2):
        assert lint(change, "--tree", change.tree, "--write-baseline", baseline).returncode == 0


def test_a_baseline_accepts_what_there_was_and_replaces_baselines_only(change: Change) -> None:
    baseline = change.tree / "known.json"
    written = lint(change, "--write-baseline", baseline)
    assert (written.returncode, written.stdout) == (0, "no violations in 1 record, 1 changed, 1 watched; 1 accepted\n")
    assert lint(change, "--baseline", baseline).returncode == 0
    assert lint(change, "--baseline", baseline, "--write-baseline", baseline).returncode == 0
    done = lint(change, "--write-baseline", change.tree / "linesmith.toml", wanted="# mine\n")
    assert done.returncode == 2
    assert "exists and is not a baseline, so it is not replaced" in done.stderr
    assert (change.tree / "linesmith.toml").read_text() == "# mine\n"


def test_the_configuration_of_a_build_is_given_or_carried_by_a_kernel(change: Change) -> None:
    (change.tree / ".config").write_text("CONFIG_SMP=y\n")
    assert "was not checked" not in lint(change, "--kconfig", change.tree / ".config", wanted=CONFIGURED).stdout
    packed = "".join(f"\\{byte:03o}" for byte in gzip.compress(b"CONFIG_SMP=y\n", mtime=0))
    source = f'{NOT_ALIGNED} const char config[] = "IKCFG_ST{packed}IKCFG_ED";'
    kernel = Change(change.tree, change.old, compiled(change.tree, source, name="kernel"))
    assert "was not checked" not in lint(kernel).stdout


def test_every_form_is_written_where_it_is_asked_for(change: Change) -> None:
    done = lint(change, *(f"--also={form}=lint.{form}" for form in FORMS))
    assert done.stdout.startswith("new.c:1: WARNING: ")
    for form in FORMS:
        assert (change.tree / f"lint.{form}").read_text() == lint(change, "--format", form).stdout


def test_the_same_builds_give_the_same_bytes_with_another_order_of_sets(change: Change) -> None:
    def results(seed: str) -> list[bytes]:
        folder = change.tree / seed
        folder.mkdir()
        also = [f"--also={form}={folder}/{form}" for form in FORMS]
        builds = ["--base", str(change.old), "--head", str(change.new)]
        argv = [str(LINESMITH), "lint", *builds, "--select", "all", *also]
        environment = {"PYTHONHASHSEED": seed, "LINESMITH_CACHE_DIR": str(change.tree / f"cache-{seed}")}
        text = subprocess.run(argv, env=environment, capture_output=True, check=False).stdout
        return [text, *(file.read_bytes() for file in sorted(folder.iterdir()))]

    first = results("0")
    assert (len(first), all(first)) == (6, True)
    assert results("1") == first
