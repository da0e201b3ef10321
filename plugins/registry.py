# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds plugins by entry point group and name."""

from __future__ import annotations

from importlib.metadata import entry_points

from linesmith.plugins.api import ProfileSource


def profile_sources() -> tuple[ProfileSource, ...]:
    """Every installed profile reader, by name (entry point group ``linesmith.profiles``)."""
    found = sorted(entry_points(group="linesmith.profiles"), key=lambda point: point.name)
    return tuple(point.load()() for point in found)
