# SPDX-License-Identifier: GPL-2.0-or-later
"""What ``-q`` keeps quiet and ``-v`` tells, whichever command it is."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from c_source import compiled
from linesmith_command import linesmith


@pytest.fixture
def program(tmp_path: Path) -> Path:
    return compiled(tmp_path, "struct pair { int a, b; } pair;")


def without_a_cache(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """The command where nothing can be kept, which it remarks on."""
    return linesmith(*words, cache=Path("/dev/null/cache"))


def test_quiet_leaves_remarks_out_and_the_result_as_it_is(program: Path) -> None:
    plain = without_a_cache("layout", program)
    said = "reads everything again: the cache directory /dev/null/cache cannot be used (Not a directory); set "
    assert said in plain.stderr
    for words in (("-q", "layout", program), ("layout", "-q", program)):
        done = without_a_cache(*words)
        assert (done.returncode, done.stderr, done.stdout) == (0, "", plain.stdout)


def test_quiet_does_not_hide_an_error(tmp_path: Path) -> None:
    done = linesmith("layout", "-q", tmp_path / "absent")
    assert (done.returncode, "does not exist" in done.stderr) == (2, True)
    done = linesmith("layout", "-q", "-v", tmp_path)
    assert done.stderr == "linesmith layout: -v and -q contradict each other; give one of them\n"


def test_verbose_tells_the_time_it_took(program: Path) -> None:
    done = linesmith("layout", "-v", program)
    assert done.returncode == 0
    assert "done; processor time" in done.stderr.splitlines()[-1]


def test_verbose_tells_which_commands_are_run(tmp_path: Path) -> None:
    done = linesmith("record", "-v", "--on", "perf", "-o", tmp_path / "profile", "--", "true")
    runs = [line for line in done.stderr.splitlines() if ": runs " in line]
    assert any("perf c2c record" in line for line in runs) or "perf is not installed" in done.stderr
