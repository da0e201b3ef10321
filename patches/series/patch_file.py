# SPDX-License-Identifier: GPL-2.0-or-later
"""One file of a series."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PatchFile:
    """A file to write: ``name`` without a folder, numbered in the order in which the files apply."""

    name: str
    content: bytes
