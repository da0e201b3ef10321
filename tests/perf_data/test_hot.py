# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith hot`` on a perf.data, as a user meets it: builds, a pipe, samples in and out."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from linesmith_command import LINESMITH, linesmith
from perf_data import program_scenario
from perf_data.hardware import INTEL
from perf_data.more_records import with_more
from perf_data.perfs import needed
from perf_data.program import Program
from perf_data.recording import Form, write
from perf_data.write import program_recording


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    return program_scenario.compiled(tmp_path_factory.mktemp("server"))


@pytest.fixture(scope="module")
def data(server: Path) -> Path:
    path = server.with_name("perf.data")
    write(path, with_more(program_recording(Program(server), INTEL, 5000)[0]))
    return path


@pytest.fixture(scope="module")
def other_build(server: Path) -> Path:
    """The same server compiled otherwise, under the same name."""
    elf = server.parent / "other" / server.name
    elf.parent.mkdir()
    source = str(program_scenario.SOURCE)
    subprocess.run(["gcc", "-g", "-O1", "-fPIE", "-pie", "-Wl,--build-id", "-o", elf, source], check=True)
    return elf


def test_elements_of_a_global_array_and_objects_on_the_heap_are_named(server: Path, data: Path) -> None:
    done = linesmith("hot", server, data)
    assert done.returncode == 0, done.stderr
    assert "memory   global per_thread[2]" in done.stdout
    assert "connection" in done.stdout
    assert "count_request" in done.stdout


def test_every_sample_ends_in_one_outcome(server: Path, data: Path) -> None:
    """5,000 of memory, 300 of cycles, 200 of a guest, 22 that were lost."""
    words = " ".join(linesmith("hot", server, data).stdout.split())
    ended = words.partition("5,522 samples in = 5,522 out: ")[2]
    for part in ("300 no memory access", "200 in a guest", "22 lost while recording"):
        assert part in ended


def test_another_build_is_refused_with_what_to_say(other_build: Path, data: Path) -> None:
    done = linesmith("hot", other_build, data)
    assert (done.returncode, done.stdout) == (2, "")
    assert "say --assume-same-layout (trust addresses) or --by-symbol (trust names only)" in done.stderr
    assert done.stderr.count("\n") == 1


def test_by_symbol_perf_names_the_functions(other_build: Path, data: Path) -> None:
    needed("perf")
    done = linesmith("hot", "--by-symbol", other_build, data)
    assert done.returncode == 0, done.stderr
    assert "counters" in done.stdout
    assert "count_request" in done.stdout
    assert "global per_thread" not in done.stdout


def test_out_of_a_pipe(server: Path) -> None:
    path = server.with_name("piped.data")
    write(path, program_recording(Program(server), INTEL, 2000)[0], Form.PIPE)
    done = subprocess.run([LINESMITH, "hot", server, "-"], input=path.read_bytes(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert b"2,000 samples in = 2,000 out" in done.stdout
