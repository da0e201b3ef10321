# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith record --on perf``: a report where the PMU samples data addresses, one sentence elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

from linesmith_command import linesmith


def test_perf_records_or_says_why_it_cannot(tmp_path: Path) -> None:
    done = linesmith("record", "--on", "perf", "-o", tmp_path / "profile", "--", "true")
    if done.returncode == 0:
        assert "Shared Data Cache Line Table" in (tmp_path / "profile").read_text()
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
