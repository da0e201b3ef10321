# SPDX-License-Identifier: GPL-2.0-or-later
"""What a machine can do, as ``linesmith doctor`` finds it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Readiness(Enum):
    """Whether a part can be used: wholly, less than it could be, or not at all."""

    READY = "ready"
    LIMITED = "limited"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Check:
    """One part of a machine: what was found, what it is for, and the command that would mend it (empty: none would).

    ``needed_by`` are the commands that do not work at all without it, ``worked_on_by`` those that work on what it is,
    but on others of its kind as well.
    """

    area: str
    name: str
    readiness: Readiness
    found: str
    purpose: str
    remedy: str = ""
    needed_by: tuple[str, ...] = ()
    worked_on_by: tuple[str, ...] = ()
