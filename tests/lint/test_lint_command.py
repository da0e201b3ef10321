# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith lint`` as a user runs it on compiled files."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from c_source import compiled
from linesmith_command import LINESMITH, linesmith
from lint_builds import ALIGNED, NOT_ALIGNED


@pytest.fixture
def builds(tmp_path: Path) -> tuple[str, Path, str, Path]:
    """Options that name a build and one in which a record lost its alignment."""
    return "--base", compiled(tmp_path, ALIGNED, name="old"), "--head", compiled(tmp_path, NOT_ALIGNED, name="new")


def test_a_violation_is_told_with_its_place_and_exit_status_1(
    tmp_path: Path, builds: tuple[str, Path, str, Path]
) -> None:
    done = linesmith("lint", *builds, cache=tmp_path / "cache")
    assert (done.returncode, done.stderr) == (1, "")
    first = "new.c:1: WARNING: struct counter: was aligned to 64 bytes and is not any more [alignment-lost]"
    assert done.stdout.splitlines()[0] == first


def test_nothing_to_tell_is_exit_status_0(tmp_path: Path) -> None:
    done = linesmith("lint", compiled(tmp_path, ALIGNED), cache=tmp_path / "cache")
    assert (done.returncode, done.stdout) == (0, "no violations in 1 record, 1 watched\n")


def test_a_type_that_is_named_counts_as_tuned(tmp_path: Path) -> None:
    done = linesmith("lint", compiled(tmp_path, NOT_ALIGNED), "--type", "counter", cache=tmp_path / "cache")
    assert done.stdout == "no violations in 1 record, 1 watched\n"


@pytest.mark.skipif(shutil.which("pahole") is None, reason="pahole is not installed (Debian package dwarves)")
def test_raw_btf_says_no_machine_so_none_is_told_as_another(tmp_path: Path) -> None:
    elf, blob = compiled(tmp_path, ALIGNED), tmp_path / "blob"
    subprocess.run(["pahole", f"--btf_encode_detached={blob}", elf], check=True)
    done = linesmith("lint", "--base", blob, "--head", elf, cache=tmp_path / "cache")
    assert done.returncode == 0
    assert [line for line in done.stdout.splitlines() if line.startswith("note: ")] == [
        "note: BTF states no alignments and no places, so no alignment that was lost is told; give builds with DWARF"
    ]


def test_json_has_the_violation_as_it_is(tmp_path: Path, builds: tuple[str, Path, str, Path]) -> None:
    done = linesmith("lint", *builds, "--format", "json", cache=tmp_path / "cache")
    (violation,) = json.loads(done.stdout)["violations"]
    assert (violation["rule"], violation["type"]) == ("alignment-lost", "struct counter")


def test_one_of_two_builds_is_asked_for(tmp_path: Path) -> None:
    done = linesmith("lint", "--base", compiled(tmp_path, ALIGNED), cache=tmp_path / "cache")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("add --head NEW\n")


@pytest.mark.parametrize("shape", ["{old} {new}", "--base {old} {new}", "{old} --head {new}"])
def test_two_builds_in_another_way_are_told_how_to_be_given(tmp_path: Path, shape: str) -> None:
    old, new = compiled(tmp_path, ALIGNED, name="old"), compiled(tmp_path, NOT_ALIGNED, name="new")
    done = linesmith("lint", *shape.format(old=old, new=new).split(), cache=tmp_path / "cache")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith(f"; give --base {old} --head {new}\n")


def test_a_build_with_the_change_alone_lacks_what_was_before(tmp_path: Path) -> None:
    done = linesmith("lint", "--head", compiled(tmp_path, ALIGNED), cache=tmp_path / "cache")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("add --base OLD, or give it alone as ELF\n")


def test_neither_one_build_nor_two_are_told_both_ways(tmp_path: Path) -> None:
    done = linesmith("lint", cache=tmp_path / "cache")
    assert (done.returncode, done.stdout) == (2, "")
    assert "give one build, ELF, or two of them as --base OLD and --head NEW" in done.stderr


def test_every_form_is_written_where_it_is_asked_for(tmp_path: Path, builds: tuple[str, Path, str, Path]) -> None:
    forms = {form: tmp_path / f"lint.{form}" for form in ("json", "sarif", "github", "gitlab", "markdown")}
    also = [text for form, file in forms.items() for text in ("--also", f"{form}={file}")]
    done = linesmith("lint", *builds, *also, cache=tmp_path / "cache")
    assert done.stdout.startswith("new.c:1: WARNING: ")
    for form, file in forms.items():
        assert file.read_text() == linesmith("lint", *builds, "--format", form, cache=tmp_path / "cache").stdout


def test_a_result_that_cannot_be_written_is_told_before_the_work(
    tmp_path: Path, builds: tuple[str, Path, str, Path]
) -> None:
    done = linesmith("lint", *builds, "--also", f"sarif={tmp_path}/none/lint.sarif", cache=tmp_path / "cache")
    assert (done.returncode, done.stdout) == (2, "")
    assert "cannot write" in done.stderr


def test_a_form_nobody_knows_is_told_with_those_there_are(tmp_path: Path, builds: tuple[str, Path, str, Path]) -> None:
    done = linesmith("lint", *builds, "--also", "xml=lint.xml", cache=tmp_path / "cache")
    assert done.returncode == 2
    assert "xml=lint.xml is no FORMAT=FILE; write it like sarif=lint.sarif" in done.stderr


def test_a_build_is_never_written_over(tmp_path: Path, builds: tuple[str, Path, str, Path]) -> None:
    before = builds[1].read_bytes()
    done = linesmith("lint", *builds, "--also", f"json={builds[1]}", cache=tmp_path / "cache")
    assert done.returncode == 2
    assert builds[1].read_bytes() == before


def test_names_of_a_build_do_not_steer_a_terminal(tmp_path: Path) -> None:
    named = '# 1 "a\\033[2J::error::b.c"\n'
    builds = [
        compiled(tmp_path, f"{named}{source}", name=name) for name, source in (("o", ALIGNED), ("n", NOT_ALIGNED))
    ]
    done = linesmith("lint", "--base", builds[0], "--head", builds[1], cache=tmp_path / "cache")
    assert "struct counter: was aligned" in done.stdout
    assert "\x1b" not in done.stdout


def test_the_same_builds_give_the_same_bytes(tmp_path: Path, builds: tuple[str, Path, str, Path]) -> None:
    def results(seed: str) -> list[bytes]:
        """What a run says in all forms, with another order of sets and an index of its own."""
        folder = tmp_path / seed
        folder.mkdir()
        also = [f"--also={form}={folder}/{form}" for form in ("json", "sarif", "github", "gitlab", "markdown")]
        environment = {**os.environ, "PYTHONHASHSEED": seed, "LINESMITH_CACHE_DIR": str(tmp_path / f"cache-{seed}")}
        options = ["--select", "all", *also]
        text = subprocess.run(
            [LINESMITH, "lint", *builds, *options], env=environment, capture_output=True, check=False
        ).stdout
        return [text, *(file.read_bytes() for file in sorted(folder.iterdir()))]

    first = results("0")
    assert (len(first), all(first)) == (6, True)
    assert results("1") == first
