# SPDX-License-Identifier: GPL-2.0-or-later
"""The sources that are to be changed, and how they are built."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Tree:
    """The sources to patch. ``build`` is the directory of an ``O=`` build, ``cflags`` are options for a plain tree."""

    root: Path
    build: Path | None = None
    cflags: str = ""
