# SPDX-License-Identifier: GPL-2.0-or-later
"""What proposals rest on beside the profile and the layouts."""

from __future__ import annotations

from dataclasses import dataclass, field

from linesmith.analyzer.model import NO_FACTS, SourceFacts
from linesmith.analyzer.slab import Kernel


@dataclass(frozen=True, slots=True)
class Premises:
    """``facts`` of the source; the ``kernel`` whose slab caches hold the objects, ``None`` for a program.

    ``growth`` is by how many bytes a record may grow; ``None`` lets it grow where nothing else helps.
    """

    facts: SourceFacts = field(default=NO_FACTS)
    kernel: Kernel | None = None
    growth: int | None = None


NO_PREMISES = Premises()
