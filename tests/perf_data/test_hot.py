# SPDX-License-Identifier: GPL-2.0-or-later
"""From a perf.data to what lies on its lines; a damaged or hostile one ends in a profile or one sentence, quickly.

Damage is: cut off, numbers that lie, bytes replaced.
"""

from __future__ import annotations

import re
import struct
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from linesmith_command import linesmith
from perf_data import program_scenario, records
from perf_data.hand_made import recording, with_more
from perf_data.hardware import INTEL
from perf_data.image import Program
from perf_data.perfs import each_perf, needed, output
from perf_data.recording import write
from perf_data.records import Mapping
from perf_data.write import program_recording

from linesmith.analyzer.base.errors import LinesmithError, ProfileError
from linesmith.analyzer.model import Profile
from linesmith.plugins.profiles.formats import PerfData
from linesmith.plugins.registry import read_profiles

ESCAPES = "\x1b]0;owned\x07\x1b[2Jevil\r\n\x9b31m\u202e"
_U64 = (1 << 64) - 1
# Where the header has its own size, then the size of an attribute, the attributes' and the data's offset and size.
_HEADER = (8, 16, 24, 32, 40, 48)
_NUMBERS = (0, 1, 7, 103, 1 << 31, 1 << 40, _U64 - 7, _U64)
Damaged = Iterator[tuple[str, bytes]]


def lying_header(whole: bytes) -> Damaged:
    for at in _HEADER:
        for number in _NUMBERS:
            yield f"{number:#x} at byte {at} of the header", _with(whole, at, "<Q", number)


def lying_features(whole: bytes) -> Damaged:
    """Feature sections of wrong offsets, sizes and counts; also ones that hold themselves."""
    table = sum(struct.unpack_from("<QQ", whole, 40))
    for number in range(int.from_bytes(whole[72:104], "little").bit_count()):
        at = table + number * 16
        for value in (0, table, len(whole), _U64):
            yield f"section {number} at {value:#x}", _with(whole, at, "<Q", value)
        for value in (0, 3, len(whole), _U64):
            yield f"section {number} of {value:#x} bytes", _with(whole, at + 8, "<Q", value)
        offset = struct.unpack_from("<Q", whole, at)[0]
        yield f"section {number} begins with a count of 4 billion", _with(whole, offset, "<I", 0xFFFFFFFF)
    yield "every feature there is", whole[:72] + b"\xff" * 32 + whole[104:]


def lying_records(whole: bytes) -> Damaged:
    begin, size = struct.unpack_from("<QQ", whole, 40)
    places, at = [], begin
    while at + 8 <= begin + size:
        places.append(at)
        at += max(8, struct.unpack_from("<H", whole, at + 6)[0])
    for at in np.random.default_rng(1).choice(places, min(6, len(places)), replace=False).tolist():
        for value in (0, 1, 7, 8, 9, 16, 0xFFF8, 0xFFFF):
            yield f"record at {at} of {value} bytes", _with(whole, at + 6, "<H", value)
        for kind in (0, 2, 9, 10, 64, 66, 67, 71, 80, 81, 83, 255, 0xFFFFFFFF):
            yield f"record at {at} of kind {kind}", _with(whole, at, "<I", kind)
        yield f"record at {at} full of ones", whole[: at + 8] + b"\xff" * 64 + whole[at + 72 :]


def _with(whole: bytes, at: int, form: str, value: int) -> bytes:
    packed = struct.pack(form, value)
    return whole[:at] + packed + whole[at + len(packed) :]


_HEAD_BYTES = 1 << 16
_SECONDS = 20.0  # of CPU, far more than any takes: a loop without an end is meant


def outcome(path: Path, content: bytes) -> Profile | str | None:
    """What comes of it: a profile, an error's sentence, or nothing where it is not even taken for a perf.data."""
    path.write_bytes(content)
    source = PerfData()
    if not source.recognises(content[:_HEAD_BYTES]):
        return None
    try:
        return source.read(path, "given.data")[0]
    except LinesmithError as error:
        return str(error)


@pytest.mark.parametrize("kind", [lying_header, lying_features, lying_records], ids=lambda one: one.__name__)
def test_every_damage_is_told_or_read_around(kind: Callable[[bytes], Damaged], tmp_path: Path) -> None:
    write(tmp_path / "perf.data", with_more(recording(INTEL, 120)[0]))
    for name, content in kind((tmp_path / "perf.data").read_bytes()):
        begin = time.process_time()
        found = outcome(tmp_path / "hostile.data", content)
        assert time.process_time() - begin < _SECONDS, name
        if isinstance(found, str):
            assert found.isprintable(), name
            assert "given.data" in found, name


def test_names_with_terminal_escapes_do_not_reach_the_terminal(tmp_path: Path) -> None:
    what, evil = recording(INTEL, 300)[0], f"/opt/{ESCAPES}"
    named = records.comm(100, 100, ESCAPES) + Mapping(100, 4096, 4096, 0, evil).record()
    hostile = replace(
        what,
        events=tuple(replace(one, name=one.name + ESCAPES) for one in what.events),
        head=what.head + named,
        computer=replace(what.computer, hostname=ESCAPES, release=ESCAPES),
        builds=what.builds + records.build_id(records.Mode.USER, evil, bytes(20)),
        command=("perf", ESCAPES),
    )
    path = tmp_path / "escapes.data"
    write(path, hostile)
    done = linesmith("hot", path)
    assert "Traceback" not in done.stderr
    assert not set(ESCAPES) & set(done.stdout + done.stderr) - set("\n01;2Jmowned][evil3")


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
