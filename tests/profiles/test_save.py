# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith hot --save``: a profile is kept as it was read, and says the same elsewhere."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from linesmith_command import linesmith
from perf_data import program_scenario
from perf_data.hardware import INTEL
from perf_data.program import Program
from perf_data.recording import write
from perf_data.write import program_recording

from linesmith.plugins.registry import read_profiles


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    return program_scenario.compiled(tmp_path_factory.mktemp("server"))


@pytest.fixture
def recorded(server: Path, tmp_path: Path) -> Path:
    path = tmp_path / "perf.data"
    write(path, program_recording(Program(server), INTEL, 3000)[0])
    return path


@pytest.mark.parametrize("name", ["kept.parquet", "kept.json"])
def test_a_sampled_profile_that_was_kept_says_the_same(name: str, server: Path, recorded: Path, tmp_path: Path) -> None:
    kept = tmp_path / name

    first = linesmith("hot", server, recorded, "--save", kept)
    again = linesmith("hot", server, kept)

    assert (first.returncode, first.stderr) == (0, f"profile: {kept}\n")
    assert again.returncode == 0
    assert again.stdout.replace(str(kept), str(recorded)) == first.stdout
    (before,), (after,) = read_profiles(recorded), read_profiles(kept)
    assert (after.lines, after.sampling, after.events) == (before.lines, before.sampling, before.events)


def test_what_was_kept_may_be_replaced(server: Path, recorded: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept.parquet"
    kept.write_bytes(b"an older one")

    done = linesmith("hot", server, recorded, "--save", kept)

    assert done.returncode == 0
    assert kept.read_bytes().startswith(b"PAR1")


def test_the_recording_itself_is_not_overwritten(server: Path, recorded: Path) -> None:
    before = recorded.read_bytes()

    done = linesmith("hot", server, recorded, "--save", recorded)

    assert done.returncode == 2
    assert "is what this command reads and stays as it is" in done.stderr
    assert recorded.read_bytes() == before


def test_one_file_cannot_be_both_results(server: Path, recorded: Path, tmp_path: Path) -> None:
    done = linesmith("hot", server, recorded, "--save", tmp_path / "x", "-o", tmp_path / "x")

    assert done.returncode == 2
    assert "would be written twice; name different files" in done.stderr
