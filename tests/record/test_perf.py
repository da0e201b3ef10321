# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith record --on perf``: a profile where the PMU samples data addresses, one sentence elsewhere."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from linesmith_command import linesmith
from perf_data import hand_made
from perf_data.hardware import INTEL
from perf_data.recording import write

from linesmith.plugins.registry import read_profiles


def test_perf_records_or_says_why_it_cannot(tmp_path: Path) -> None:
    done = linesmith("record", "--on", "perf", "-o", tmp_path / "profile", "--", "true")
    if done.returncode == 0:
        assert "samples: " in done.stderr
    else:
        reason = r"(perf is not installed \(package linux-perf\)|the PMU samples no data addresses here \(.*\))"
        remedy = "; record with --on qemu or --on qemu-user, which need no PMU\n"
        assert re.fullmatch(f"linesmith: {reason}{remedy}", done.stderr)


def test_a_trace_is_not_perf_s(tmp_path: Path) -> None:
    words = ("--trace", tmp_path / "trace", "-o", tmp_path / "profile")
    done = linesmith("record", "--on", "perf", *words, "--", "true")
    assert done.stderr.startswith("linesmith: perf keeps no trace of all accesses, so there is no --trace; record with")


def test_a_region_is_not_perf_s(tmp_path: Path) -> None:
    done = linesmith("record", "--on", "perf", "--from", "main", "-o", tmp_path / "profile", "--", "true")
    assert done.stderr.startswith("linesmith: perf samples the whole command, so there is no --from; record with")


# What a perf on a machine with a PMU would do: it writes a recording where it is told to.
_PERF = """#!/bin/sh
[ "$4" = /dev/null ] || cp {recording} "$4"
"""


def test_what_perf_sampled_becomes_a_profile_of_our_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording = tmp_path / "perf.data"
    write(recording, hand_made.recording(INTEL)[0])
    stand_in = tmp_path / "bin" / "perf"
    stand_in.parent.mkdir()
    stand_in.write_text(_PERF.format(recording=recording))
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", f"{stand_in.parent}:{os.environ['PATH']}")
    kept = tmp_path / "profile"

    done = linesmith("record", "--on", "perf", "-o", kept, "--", "true")

    assert done.returncode == 0
    assert "2 contended lines, " in done.stderr
    assert "2000 samples: " in done.stderr
    (given,), (found,) = read_profiles(recording), read_profiles(kept)
    assert (found.lines, found.sampling) == (given.lines, given.sampling)
