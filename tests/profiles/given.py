# SPDX-License-Identifier: GPL-2.0-or-later
"""Gives the bytes of a profile to the sources as a file."""

from __future__ import annotations

import tempfile
from pathlib import Path

from linesmith.analyzer.model import Profile
from linesmith.plugins.registry import profiles_in


def profiles_of(data: bytes, name: str) -> tuple[Profile, ...]:
    """Every report in ``data``, read by the source that knows it; messages call it ``name``."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        return profiles_in(Path(file.name), name)
