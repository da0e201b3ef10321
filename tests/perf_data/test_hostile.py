# SPDX-License-Identifier: GPL-2.0-or-later
"""Damaged and hostile perf.data files: a profile or one sentence, quickly, and nothing that a terminal would obey."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from linesmith_command import linesmith
from perf_data import damage, records
from perf_data.hand_made import recording, with_more
from perf_data.hardware import INTEL
from perf_data.recording import Form, compressed, write
from perf_data.records import Kind, Mapping
from profiles.conformance import Example, breaches

from linesmith.analyzer.base.errors import LinesmithError
from linesmith.analyzer.model import Profile
from linesmith.plugins.profiles.formats import PerfData

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


@pytest.mark.parametrize("form", [Form.COMPRESSED, Form.PIPE])
def test_streams_that_are_cut_or_scattered(form: Form, tmp_path: Path) -> None:
    """The plain file is an example in ``profiles/test_conformance.py``."""
    write(tmp_path / "perf.data", with_more(recording(INTEL, 120)[0]), form)
    assert list(breaches(PerfData(), Example(tmp_path / "perf.data"))) == []


@pytest.mark.parametrize(
    ("form", "kind"),
    [
        (Form.FILE, damage.lying_header),
        (Form.FILE, damage.lying_features),
        (Form.FILE, damage.lying_records),
        (Form.COMPRESSED, damage.lying_records),
    ],
    ids=lambda one: getattr(one, "__name__", str(one)),
)
def test_every_damage_is_told_or_read_around(
    form: Form, kind: Callable[[bytes], damage.Damaged], tmp_path: Path
) -> None:
    write(tmp_path / "perf.data", with_more(recording(INTEL, 120)[0]), form)
    for name, content in kind((tmp_path / "perf.data").read_bytes()):
        begin = time.process_time()
        found = outcome(tmp_path / "hostile.data", content)
        assert time.process_time() - begin < _SECONDS, name
        if isinstance(found, str):
            assert found.isprintable(), name
            assert "given.data" in found, name


def test_a_compressed_record_that_would_fill_the_memory_is_given_up(tmp_path: Path) -> None:
    packed = compressed(bytes(1 << 28))
    parts = (packed[begin : begin + 60_000] for begin in range(0, len(packed), 60_000))
    bomb = b"".join(struct.pack("<IHH", Kind.COMPRESSED, 0, 8 + len(part)) + part for part in parts)
    path = tmp_path / "bomb.data"
    write(path, replace(recording(INTEL, 300)[0], tail=bomb), Form.COMPRESSED)
    assert isinstance(outcome(path, path.read_bytes()), Profile | str)


def test_names_with_terminal_escapes_do_not_reach_the_terminal(tmp_path: Path) -> None:
    what, evil = recording(INTEL, 300)[0], f"/opt/{damage.ESCAPES}"
    named = records.comm(100, 100, damage.ESCAPES) + Mapping(100, 4096, 4096, 0, evil).record()
    hostile = replace(
        what,
        events=tuple(replace(one, name=one.name + damage.ESCAPES) for one in what.events),
        head=what.head + named,
        computer=replace(what.computer, hostname=damage.ESCAPES, release=damage.ESCAPES),
        builds=what.builds + records.build_id(records.Mode.USER, evil, bytes(20)),
        command=("perf", damage.ESCAPES),
    )
    path = tmp_path / "escapes.data"
    write(path, hostile)
    done = linesmith("hot", path)
    assert "Traceback" not in done.stderr
    assert not set(damage.ESCAPES) & set(done.stdout + done.stderr) - set("\n01;2Jmowned][evil3")
