# SPDX-License-Identifier: GPL-2.0-or-later
"""What the command line hands to a run, since its parts lie above the tuner."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from linesmith.analyzer.dwarf import Reading
from linesmith.analyzer.model import Finding, Profile
from linesmith.patches.message import Excerpt


class Analysed(Protocol):
    """A profile explained over the ELF file that it is of."""

    @property
    def reading(self) -> Reading:
        """The layouts of the ELF file."""

    @property
    def profile(self) -> Profile:
        """The report that was chosen of the profile's text."""

    @property
    def findings(self) -> Sequence[Finding]:
        """The lines that count, hottest first."""


# ELF file, profile, the report's number from 1 on, and the type or None; raises what ``linesmith suggest`` does.
Analyse = Callable[[Path, Path, int, str | None], Analysed]


@dataclass(frozen=True, slots=True)
class Doors:
    """``analyse`` explains a profile as ``linesmith hot`` does; ``excerpt`` renders layouts in a patch's message."""

    analyse: Analyse
    excerpt: Excerpt
