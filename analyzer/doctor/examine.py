# SPDX-License-Identifier: GPL-2.0-or-later
"""All checks in the order in which they are shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.doctor import emulation, libraries, places, programs, recorders, sampling
from linesmith.analyzer.doctor.distribution import Distribution, this_distribution
from linesmith.analyzer.model import Check


@dataclass(frozen=True, slots=True)
class Place:
    """What is at hand to work on: the source tree, and the ``O=`` directory of its build where that is another."""

    tree: Path
    build: Path | None = None


def examine(place: Place, tell: Callable[[str], None]) -> tuple[Check, ...]:
    """Try every part; takes some seconds, for perf and KVM are tried by running them, within a time limit."""
    distribution = this_distribution()
    tell("trying perf")
    perf = tuple(sampling.checks(distribution))
    tell("trying KVM")
    emulated = tuple(emulation.checks(distribution))
    tell("looking for programs")
    rest = _rest(distribution, place)
    return (recorders.check((*perf, *emulated)), *perf, *emulated, *rest)


def _rest(distribution: Distribution, place: Place) -> tuple[Check, ...]:
    return (
        *programs.checks(distribution),
        *libraries.checks(),
        *places.checks(distribution, place.tree, place.build),
    )
