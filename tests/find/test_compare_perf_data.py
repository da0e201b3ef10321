# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith compare`` on two perf.data of one program: what only chance parts has not changed."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest
from linesmith_command import linesmith
from perf_data import program_scenario
from perf_data.hardware import INTEL
from perf_data.program import Program
from perf_data.recording import write
from perf_data.write import program_recording


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    return program_scenario.compiled(tmp_path_factory.mktemp("server"))


def recorded(server: Path, samples: int, seed: int) -> Path:
    path = server.with_name(f"perf-{seed}.data")
    write(path, program_recording(Program(server), INTEL, samples, seed)[0])
    return path


def test_two_recordings_of_one_program(server: Path) -> None:
    done = linesmith("compare", server, recorded(server, 4000, 1), recorded(server, 6000, 2), "--format", "json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["exposure"] == {"unit": "samples", "before": 4000.0, "after": 6000.0, "scatter": 0.0}
    members = {(one["type"], one["member"]): one["change"]["fate"] for one in document["members"] if one["member"]}
    assert {("counters", "requests"), ("counters", "state"), ("connection", "references")} <= members.keys()
    assert Counter(members.values()) == {"stayed": len(members)}
