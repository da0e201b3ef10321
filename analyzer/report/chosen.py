# SPDX-License-Identifier: GPL-2.0-or-later
"""Which part of a profile a report is about."""

from __future__ import annotations

from dataclasses import dataclass

from linesmith.analyzer.model import Profile, SharedLine


@dataclass(frozen=True, slots=True)
class Chosen:
    """A report of a profile text, the ``section``-th of ``sections``; lines ``left_out`` are counted, not shown."""

    profile: Profile
    section: int
    sections: int
    left_out: tuple[SharedLine, ...] = ()
