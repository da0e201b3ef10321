# SPDX-License-Identifier: GPL-2.0-or-later
"""Damaged and hostile perf.data files: a profile or one sentence, quickly, and nothing that a terminal would obey."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from linesmith_command import linesmith
from perf_data import damage, records
from perf_data.hand_made import recording, with_more
from perf_data.hardware import INTEL
from perf_data.recording import write
from perf_data.records import Mapping

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


@pytest.mark.parametrize(
    "kind", [damage.lying_header, damage.lying_features, damage.lying_records], ids=lambda one: one.__name__
)
def test_every_damage_is_told_or_read_around(kind: Callable[[bytes], damage.Damaged], tmp_path: Path) -> None:
    write(tmp_path / "perf.data", with_more(recording(INTEL, 120)[0]))
    for name, content in kind((tmp_path / "perf.data").read_bytes()):
        begin = time.process_time()
        found = outcome(tmp_path / "hostile.data", content)
        assert time.process_time() - begin < _SECONDS, name
        if isinstance(found, str):
            assert found.isprintable(), name
            assert "given.data" in found, name


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
