# SPDX-License-Identifier: GPL-2.0-or-later
"""What a profile shows of a build is guarded without an intent."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from linesmith_command import linesmith

from linesmith.analyzer.demo import program

pytestmark = pytest.mark.xdist_group("lint of a profile")


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the example program ``bench`` and its profile ``bench.c2c``."""
    folder = tmp_path_factory.mktemp("example") / "sources"
    program.unpack(folder)
    command = ["cc", "-std=c11", "-O2", "-g", "-pthread", "-o", "bench", *(one.name for one in folder.glob("*.c"))]
    subprocess.run(command, cwd=folder, check=True)
    return folder


def told(example: Path, *arguments: str | Path) -> str:
    return linesmith("lint", example / "bench", "--tree", example, *arguments, cache=example / "cache").stdout


def test_without_a_profile_nothing_is_known_of_accesses(example: Path) -> None:
    assert told(example).startswith("no violations in ")


def test_a_member_that_the_profile_saw_written_disturbs_those_it_saw_read(example: Path) -> None:
    first = told(example, "--profile", example / "bench.c2c").splitlines()[0]
    assert "struct session_index: guard is written often and shares a line with root and leftmost" in first
    assert first.endswith("[write-near-read-mostly]")


def test_what_somebody_wrote_of_a_record_holds_instead(example: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('[[type]]\nname = "session_index"\nreason = "known"\nhot = ["root"]\n')
    text = told(example, "--profile", example / "bench.c2c", "--intent", tmp_path / "mine.toml")
    assert text.startswith("no violations in ")


def test_a_profile_is_of_a_build_not_of_a_revision(example: Path) -> None:
    done = linesmith("lint", "--base-ref", "HEAD", "--profile", example / "bench.c2c")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--profile and --access are of builds; give them with --base and --head" in done.stderr


def test_a_profile_of_another_program_is_told_to_guard_nothing(example: Path, tmp_path: Path) -> None:
    (tmp_path / "other.c").write_text("struct alone { int a; } alone; int main(void) { return alone.a; }")
    subprocess.run(["cc", "-g", "-o", "other", "other.c"], cwd=tmp_path, check=True)
    done = linesmith("lint", tmp_path / "other", "--profile", example / "bench.c2c", cache=tmp_path / "cache")
    assert done.returncode == 0
    assert "bench.c2c shows no member of a record in other and so guards nothing" in done.stderr


def test_code_is_followed_for_two_builds_only(example: Path) -> None:
    done = linesmith("lint", example / "bench", "--access", cache=example / "cache")
    assert (done.returncode, "give two builds, --base OLD and --head NEW" in done.stderr) == (2, True)


def test_a_profile_of_the_base_calls_members_as_they_were(example: Path, tmp_path: Path) -> None:
    """Nobody has to write their new names anywhere."""
    for source in example.glob("*.[ch]"):
        (tmp_path / source.name).write_text(source.read_text().replace("leftmost", "first"))
    units = [str(one) for one in tmp_path.glob("*.c")]
    subprocess.run(["cc", "-std=c11", "-O2", "-g", "-pthread", "-o", tmp_path / "new", *units], check=True)
    builds = "--base", example / "bench", "--head", tmp_path / "new"
    text = linesmith("lint", *builds, "--profile", example / "bench.c2c", cache=example / "cache").stdout
    assert "guard is written often and shares a line with root and first" in text
    assert "[intent-stale]" not in text
