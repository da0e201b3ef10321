# SPDX-License-Identifier: GPL-2.0-or-later
"""What proposals rest on beside the profile and the layouts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from linesmith.analyzer.access import AccessMap
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import NO_FACTS, Finding, SourceFacts
from linesmith.analyzer.slab import Kernel


@dataclass(frozen=True, slots=True)
class Configuration:
    """Another build of the same source, in which other members are there; ``title`` is what a user knows it by."""

    title: str
    layouts: Layouts


@dataclass(frozen=True, slots=True)
class Premises:
    """``facts`` of the source; the ``kernel`` whose slab caches hold the objects, ``None`` for a program.

    ``growth`` is by how many bytes a record may grow; ``None`` lets it grow where nothing else helps. A change must be
    legal in all ``configurations``. ``accesses`` are what the code touches, ``None`` where that is not known.
    ``parsed`` says of records, by name, how many units of the source were parsed for the facts, where it was scanned.
    ``beside`` are findings on further lines of the same records, on which little waits: who uses them counts too.
    """

    facts: SourceFacts = field(default=NO_FACTS)
    kernel: Kernel | None = None
    growth: int | None = None
    configurations: tuple[Configuration, ...] = ()
    accesses: AccessMap | None = None
    beside: tuple[Finding, ...] = ()
    parsed: Mapping[str, int] = field(default_factory=dict)


NO_PREMISES = Premises()
