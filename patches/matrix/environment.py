# SPDX-License-Identifier: GPL-2.0-or-later
"""One configuration ready to compile with: its flags, its units, and what its machine makes of records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from linesmith.analyzer.model import CACHE_LINE_BYTES, SlabMachine
from linesmith.patches.kbuild import Build
from linesmith.patches.matrix.units import Units
from linesmith.patches.preparation import Progress

UnitsFound = Callable[[Progress], Units]


@dataclass(frozen=True, slots=True)
class Environment:
    """What a reader knows as ``title``; ``units`` are found when they are asked for.

    ``slabs`` is the machine as its slab allocator sees it, ``None`` where there is none whose rules are known;
    ``folder`` is the directory below ``arch/`` of a kernel.
    """

    title: str
    build: Build
    units: UnitsFound
    slabs: SlabMachine | None = None
    line_bytes: int = CACHE_LINE_BYTES
    folder: str = ""
