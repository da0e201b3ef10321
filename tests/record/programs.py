# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that tests record, compiled on the spot, and what a recording left in its file."""

from __future__ import annotations

import subprocess
from pathlib import Path

from linesmith.analyzer.model import Profile, Recording
from linesmith.plugins.registry import read_profiles

SOURCES = Path(__file__).with_name("sources")
TWO_THREADS = (SOURCES / "two_threads.c").read_text()


def compile_c(source: str, executable: Path, *options: str) -> Path:
    """The program made of ``source`` with debug information."""
    file = executable.with_suffix(".c")
    file.write_text(source)
    subprocess.run(["gcc", "-g", "-O1", "-pthread", "-o", executable, file, *options], check=True)
    return executable


def profile_of(file: Path) -> Profile:
    (profile,) = read_profiles(file)
    return profile


def recording_of(file: Path) -> Recording:
    recording = profile_of(file).recording
    assert recording
    return recording


def functions_of(file: Path) -> set[str | None]:
    return {access.function for line in profile_of(file).lines for access in line.accesses}
