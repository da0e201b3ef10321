# SPDX-License-Identifier: GPL-2.0-or-later
"""Damaged and hostile perf.data files: a profile or one sentence, quickly, and nothing that a terminal would obey."""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from linesmith_command import linesmith
from perf_data import compression, damage, records
from perf_data.hand_made import recording
from perf_data.hardware import INTEL
from perf_data.more_records import with_more
from perf_data.recording import Form, write
from perf_data.records import Kind, Mapping

from linesmith.analyzer.errors import LinesmithError
from linesmith.analyzer.model import Profile
from linesmith.plugins.profiles.perf_data.source import PerfData

_HEAD_BYTES = 1 << 16
_SECONDS = 20.0  # of CPU, far more than any takes: a loop without an end is meant


def whole(folder: Path, form: Form) -> bytes:
    path = folder / "perf.data"
    write(path, with_more(recording(INTEL, 120)[0]), form)
    return path.read_bytes()


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


def check(path: Path, kinds: Iterator[tuple[str, bytes]]) -> None:
    for name, content in kinds:
        begin = time.process_time()
        found = outcome(path, content)
        assert time.process_time() - begin < _SECONDS, name
        if isinstance(found, str):
            assert found.isprintable(), name
            assert "given.data" in found, name


def test_every_damage_of_a_file_is_told_or_read_around(tmp_path: Path) -> None:
    check(tmp_path / "hostile.data", damage.all_kinds(whole(tmp_path, Form.FILE)))


def test_every_damage_of_compressed_records_is_told_or_read_around(tmp_path: Path) -> None:
    if not compression.available():
        pytest.skip("libzstd is not installed")
    packed = whole(tmp_path, Form.COMPRESSED)

    check(tmp_path / "hostile.data", damage.lying_records(packed))
    check(tmp_path / "hostile.data", damage.scattered(packed, 60))


def test_every_damage_of_a_pipe_is_told_or_read_around(tmp_path: Path) -> None:
    pipe = whole(tmp_path, Form.PIPE)

    check(tmp_path / "hostile.data", damage.cut(pipe))
    check(tmp_path / "hostile.data", damage.scattered(pipe, 40))


def test_a_compressed_record_that_would_fill_the_memory_is_given_up(tmp_path: Path) -> None:
    if not compression.available():
        pytest.skip("libzstd is not installed")
    packed = compression.compressed(bytes(1 << 28))
    bomb = b"".join(
        struct.pack("<IHH", Kind.COMPRESSED, 0, 8 + len(part)) + part
        for part in (packed[begin : begin + 60_000] for begin in range(0, len(packed), 60_000))
    )
    path = tmp_path / "bomb.data"
    write(path, replace(recording(INTEL, 300)[0], tail=bomb), Form.COMPRESSED)

    found = outcome(path, path.read_bytes())

    assert isinstance(found, Profile | str)


def test_names_with_terminal_escapes_do_not_reach_the_terminal(tmp_path: Path) -> None:
    what = recording(INTEL, 300)[0]
    events = tuple(replace(one, name=one.name + damage.ESCAPES) for one in what.events)
    evil = records.comm(100, 100, damage.ESCAPES) + Mapping(100, 4096, 4096, 0, f"/opt/{damage.ESCAPES}").record()
    computer = replace(what.computer, hostname=damage.ESCAPES, release=damage.ESCAPES)
    builds = records.build_id(records.Mode.USER, f"/opt/{damage.ESCAPES}", bytes(20))
    path = tmp_path / "escapes.data"
    write(
        path,
        replace(
            what,
            events=events,
            head=what.head + evil,
            computer=computer,
            builds=what.builds + builds,
            command=("perf", damage.ESCAPES),
        ),
    )

    done = linesmith("hot", path)

    assert "Traceback" not in done.stderr
    assert not set(damage.ESCAPES) & set(done.stdout + done.stderr) - set("\n01;2Jmowned][evil3")
