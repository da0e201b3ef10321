# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs perf on files.

``perf`` of the search path, and those that LINESMITH_TEST_PERFS names (paths with colons between), so that releases
can be tried beside each other.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

PERFS = tuple(dict.fromkeys(("perf", *filter(None, os.environ.get("LINESMITH_TEST_PERFS", "").split(":")))))
each_perf = pytest.mark.parametrize("perf", PERFS)


class Line(NamedTuple):
    """A row of perf's table of shared cache lines (perf 5.19 and later, sorted by HITM or by peers).

    Its columns ``records`` and ``loads`` are left out: perf adds up others for them, where some accesses are twice.
    """

    address: int
    remote: int
    local: int
    stores: int
    stores_hit: int
    stores_miss: int
    stores_unknown: int


def needed(perf: str) -> str:
    """The perf, or a skip that says what is missing."""
    if shutil.which(perf) is None:
        pytest.skip(f"{perf} is not installed (Debian: linux-perf)")
    return perf


def output(perf: str, *words: str | Path) -> str:
    """What ``perf`` prints on its standard output; its complaints end the test."""
    argv = [needed(perf), *map(str, words)]
    done = subprocess.run(argv, capture_output=True, timeout=600, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode(errors="replace")


def shared_lines(perf: str, file: Path) -> list[Line]:
    """The table of ``perf c2c report``, which leaves lines out that have few of the HITM."""
    text = output(perf, "c2c", "report", "--stdio", "--no-source", "-i", file)
    table = text.partition("Shared Data Cache Line Table")[2].partition("Shared Cache Line Distribution")[0]
    return [_line(row.split()) for row in table.splitlines() if re.match(r"\s+\d+\s+0x", row)]


def _line(row: list[str]) -> Line:
    """Number, address, node, physical addresses, share; then counts: all, local, remote; records and so on."""
    local, remote, _, _, stores, hit, miss, unknown = (int(word) for word in row[6:14])
    return Line(int(row[1], 16), remote, local, stores, hit, miss, unknown)
