# SPDX-License-Identifier: GPL-2.0-or-later
"""What a profile shows of a build is guarded without an intent."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from linesmith_command import linesmith
from report_html.profiled import COMPILE, built

pytestmark = pytest.mark.xdist_group("lint of a profile")

DISTURBED = "struct session_index: guard is written often and shares a line with root and leftmost"


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the example program ``bench`` and its profile ``bench.c2c``."""
    return built(tmp_path_factory.mktemp("example") / "sources")[0].parent


def told(example: Path, *arguments: str | Path) -> str:
    return linesmith("lint", example / "bench", "--tree", example, *arguments, cache=example / "cache").stdout


def test_a_member_that_the_profile_saw_written_disturbs_those_it_saw_read(example: Path) -> None:
    assert told(example).startswith("no violations in "), "without a profile nothing is known of accesses"
    first = told(example, "--profile", example / "bench.c2c").splitlines()[0]
    assert DISTURBED in first
    assert first.endswith("[write-near-read-mostly]")


def test_what_somebody_wrote_of_a_record_holds_instead(example: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('[[type]]\nname = "session_index"\nreason = "known"\nhot = ["root"]\n')
    text = told(example, "--profile", example / "bench.c2c", "--intent", tmp_path / "mine.toml")
    assert text.startswith("no violations in ")


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        # A profile is of a build, not of a revision.
        ("--base-ref HEAD --profile {0}/bench.c2c", 2, "--profile applies to builds; give it with --base"),
        # A profile of another program guards nothing.
        (
            "{1}/other --profile {0}/bench.c2c",
            0,
            "bench.c2c has no access to a record of other, so no member is protected",
        ),
    ],
)
def test_what_a_profile_cannot_guard_is_told(
    example: Path, tmp_path: Path, options: str, status: int, said: str
) -> None:
    (tmp_path / "other.c").write_text("struct alone { int a; } alone; int main(void) { return alone.a; }")
    subprocess.run(["cc", "-g", "-o", "other", "other.c"], cwd=tmp_path, check=True)
    done = linesmith("lint", *options.format(example, tmp_path).split(), cache=tmp_path / "cache")
    assert (done.returncode, said in done.stderr) == (status, True), done.stderr


def test_a_profile_of_the_base_calls_members_as_they_were(example: Path, tmp_path: Path) -> None:
    """Nobody has to write their new names anywhere."""
    for source in example.glob("*.[ch]"):
        (tmp_path / source.name).write_text(source.read_text().replace("leftmost", "first"))
    subprocess.run([*COMPILE, "-o", tmp_path / "new", *tmp_path.glob("*.c")], check=True)
    builds = "--base", example / "bench", "--head", tmp_path / "new"
    text = linesmith("lint", *builds, "--profile", example / "bench.c2c", cache=example / "cache").stdout
    assert DISTURBED.replace("leftmost", "first") in text
    assert "[intent-stale]" not in text
