# SPDX-License-Identifier: GPL-2.0-or-later
"""What a recording left in its file, for the tests of ``linesmith record``."""

from __future__ import annotations

from pathlib import Path

from linesmith.analyzer.model import Profile, Recording
from linesmith.plugins.registry import read_profiles


def profile_of(file: Path) -> Profile:
    """The one profile in ``file``."""
    (profile,) = read_profiles(file)
    return profile


def recording_of(file: Path) -> Recording:
    """How the profile in ``file`` was recorded."""
    recording = profile_of(file).recording
    assert recording
    return recording


def functions_of(file: Path) -> set[str | None]:
    """Every function that the profile names."""
    return {access.function for line in profile_of(file).lines for access in line.accesses}
