# SPDX-License-Identifier: GPL-2.0-or-later
"""The perf programs that must read what the writer writes, and what they print.

``perf`` of the search path, and those that LINESMITH_TEST_PERFS names (paths with colons between), so that releases
can be tried beside each other.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

PERFS = tuple(dict.fromkeys(("perf", *filter(None, os.environ.get("LINESMITH_TEST_PERFS", "").split(":")))))
_SECONDS = 600
_SCRIPT_ROW = re.compile(
    r"\s*(?P<comm>\S+)\s+(?P<pid>\d+)/(?P<tid>\d+)\s+\[(?P<cpu>\d+)\]\s+(?P<seconds>\d+)\.(?P<nanoseconds>\d{9}):"
    r"\s+(?P<period>\d+)\s+(?P<event>\S+):\s+(?P<addr>[0-9a-f]+)\s+(?P<source>[0-9a-f]+) \|OP .*?"
    r"\s(?P<weight>\d+)(?:\s+(?P<ip>[0-9a-f]{16}))?\s+(?P<phys>[0-9a-f]+)\s*$"
)
_SCRIPT_FIELDS = "comm,pid,tid,cpu,time,event,period,ip,addr,data_src,weight,phys_addr"


@dataclass(frozen=True, slots=True)
class Line:
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
    done = subprocess.run(
        [needed(perf), *map(str, words)],
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
        errors="replace",
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def scripted(perf: str, file: Path) -> list[dict[str, str]]:
    """``perf script`` of every sample with every field, in the order of time."""
    rows = output(perf, "script", "--ns", "-i", file, "-F", _SCRIPT_FIELDS).splitlines()
    found = [_SCRIPT_ROW.fullmatch(row) for row in rows if row.strip()]
    assert all(found), next(row for row, match in zip(rows, found, strict=False) if not match)
    return [match.groupdict() for match in found if match]


def shared_lines(perf: str, file: Path) -> list[Line]:
    """The table of ``perf c2c report``, which leaves lines out that have few of the HITM."""
    text = output(perf, "c2c", "report", "--stdio", "--no-source", "-i", file)
    table = text.partition("Shared Data Cache Line Table")[2].partition("Shared Cache Line Distribution")[0]
    rows = (row.split() for row in table.splitlines() if re.match(r"\s+\d+\s+0x", row))
    return [_line(row) for row in rows]


def _line(row: list[str]) -> Line:
    """Number, address, node, physical addresses, share; then counts: all, local, remote; records and so on."""
    local, remote, _, _, stores, hit, miss, unknown = (int(word) for word in row[6:14])
    return Line(int(row[1], 16), remote, local, stores, hit, miss, unknown)


def totals(perf: str, file: Path) -> dict[str, int]:
    """The counts that ``perf c2c report`` begins with, by their words."""
    text = output(perf, "c2c", "report", "--stdio", "--no-source", "-i", file).partition("Global Shared Cache Line")[0]
    found = (re.fullmatch(r"  (.*?) *: +(\d+)", row) for row in text.splitlines())
    return {match[1]: int(match[2]) for match in found if match}
