# SPDX-License-Identifier: GPL-2.0-or-later
"""What a reviewer wants to know of the computer that measured: read from /proc and /sys, never guessed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

_CPUS = Path("/sys/devices/system/cpu")


def host_facts() -> tuple[tuple[str, str], ...]:
    """CPU model, usable CPUs, SMT, frequency governor, memory and load average; what is not told is left out."""
    return tuple((name, value) for name, value in _facts() if value)


def _facts() -> Iterator[tuple[str, str]]:
    yield "cpu", _field(Path("/proc/cpuinfo"), "model name")
    yield "cpus", " ".join(map(str, sorted(os.sched_getaffinity(0))))
    yield "smt", {"1": "on", "0": "off"}.get(_text(_CPUS / "smt/active"), "")
    yield "governor", ", ".join(sorted({_text(path) for path in _CPUS.glob("cpu[0-9]*/cpufreq/scaling_governor")}))
    yield "memory", _field(Path("/proc/meminfo"), "MemTotal")
    yield "load before", " ".join(_text(Path("/proc/loadavg")).split()[:3])


def _field(path: Path, name: str) -> str:
    """The first value that a file of the form ``name : value`` gives."""
    for line in _text(path).splitlines():
        found, colon, value = line.partition(":")
        if colon and found.strip() == name:
            return value.strip()
    return ""


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace").strip()
    except OSError:
        return ""
