# SPDX-License-Identifier: GPL-2.0-or-later
"""From a perf.data to what lies on its lines, and what perf itself says of it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from linesmith_command import linesmith
from perf_data import program_scenario
from perf_data.hand_made import with_more
from perf_data.hardware import INTEL
from perf_data.image import Program
from perf_data.perfs import each_perf, needed, output
from perf_data.recording import write
from perf_data.write import program_recording

from linesmith.analyzer.base.errors import ProfileError
from linesmith.plugins.registry import read_profiles


@pytest.fixture(scope="module")
def data(server: Path) -> Path:
    path = server.with_name("perf.data")
    write(path, with_more(program_recording(Program(server), INTEL, 5000)[0]))
    return path


def test_elements_of_a_global_array_and_objects_on_the_heap_are_named(server: Path, data: Path) -> None:
    """And every sample ends in one outcome: 5,000 of memory, 300 of cycles, 200 of a guest, 22 that were lost."""
    done = linesmith("hot", server, data, "--full")
    assert done.returncode == 0, done.stderr
    assert "memory    global per_thread[2]" in done.stdout
    assert "connection" in done.stdout
    assert "count_request" in done.stdout
    ended = " ".join(done.stdout.split()).partition("5,522 samples in = 5,522 out: ")[2]
    for part in ("300 no memory access", "200 in a guest", "22 lost while recording"):
        assert part in ended


def test_by_symbol_a_file_without_names_is_refused(data: Path, tmp_path: Path) -> None:
    other = program_scenario.compiled(tmp_path, "-O1")
    done = linesmith("hot", "--by-symbol", other, data)
    assert (done.returncode, done.stdout) == (2, "")
    assert "perf.data has no names of functions for --by-symbol; give the text of `perf script" in done.stderr


@each_perf
def test_perf_names_the_functions_and_addresses_that_were_drawn(perf: str, server: Path, tmp_path: Path) -> None:
    recording, rows = program_recording(Program(server), INTEL, 3000)
    write(tmp_path / "perf.data", recording)
    meant: Counter[tuple[str, str]] = Counter()
    for row in rows:
        meant[row.function, f"{row.address:x}"] += row.samples
    text = output(perf, "script", "-F", "addr,ip,sym", "-i", tmp_path / "perf.data")
    assert Counter((words[2], words[0]) for words in map(str.split, text.splitlines()) if words) == meant


@each_perf
@pytest.mark.parametrize("options", ["", "-g -a", "-z", "-z -o -"])
def test_what_perf_records_here_is_read(perf: str, options: str, tmp_path: Path) -> None:
    """Of an event that every machine has; its samples are of no memory."""
    path = recorded_here(perf, tmp_path, options)
    samples = len(re.findall(r"^\s*cpu-clock\S*:", output(perf, "script", "-i", path, "-F", "event"), re.MULTILINE))
    with pytest.raises(ProfileError, match=rf"\(samples: {samples} no memory access[,)]"):
        read_profiles(path)


def recorded_here(perf: str, folder: Path, options: str) -> Path:
    path = folder / "perf.data"
    work = (sys.executable, "-c", "sum(number * number for number in range(500_000))")
    words: tuple[str | Path, ...] = ("record", "-q", "-d", "-e", "cpu-clock", "-o", path, *options.split(), "--", *work)
    done = subprocess.run([needed(perf), *words], capture_output=True, timeout=300, check=False)
    if done.returncode:
        pytest.skip(f"perf cannot record here: {done.stderr.decode(errors='replace').strip()[:200]}")
    if not path.exists():
        path.write_bytes(done.stdout)
    return path
