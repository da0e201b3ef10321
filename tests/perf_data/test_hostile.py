# SPDX-License-Identifier: GPL-2.0-or-later
"""Damaged and hostile perf.data files: a profile or one sentence, quickly, and nothing that a terminal would obey.

Damage is: cut off, numbers that lie, bytes replaced.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from linesmith_command import linesmith
from perf_data import records
from perf_data.hand_made import recording, with_more
from perf_data.hardware import INTEL
from perf_data.recording import write
from perf_data.records import Mapping

from linesmith.analyzer.base.errors import LinesmithError
from linesmith.analyzer.model import Profile
from linesmith.plugins.profiles.formats import PerfData

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
