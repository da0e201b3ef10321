# SPDX-License-Identifier: GPL-2.0-or-later
"""What a run of ``tune`` or ``bench`` found, as it is read back from its run directory."""

from __future__ import annotations

from dataclasses import dataclass

from linesmith.analyzer.model.failure import Failure
from linesmith.analyzer.model.measurement import Sample
from linesmith.analyzer.model.search import Fidelity, Point
from linesmith.analyzer.model.verdict import Comparison


@dataclass(frozen=True, slots=True)
class Trial:
    """One variant judged on one fidelity: a ratio to the baseline with half its interval's width, or a failure.

    ``moves`` says in words how the layout differs. A variant climbs the ladder in one trial for each fidelity.
    ``point`` is empty for a patch that the user gave.
    """

    number: int
    variant: str
    moves: tuple[str, ...]
    fidelity: Fidelity
    point: Point = ()
    cost: float | None = None
    spread: float = 0.0
    failure: Failure | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Build:
    """What was built for a variant: the key of its artifact, wall seconds, compiler, digest of the configuration."""

    variant: str
    key: str
    seconds: float
    compiler: str
    configuration: str


@dataclass(frozen=True, slots=True)
class Result:
    """A whole run so far. ``best`` is the variant that was confirmed better on fresh samples, ``None`` without one.

    ``confirmed`` are comparisons on samples taken after the search, ``explored`` those on which it went.
    ``patches`` holds the file below the run directory for each variant that has one. ``facts`` are what a reviewer
    asks of the machines: names and values. ``noise`` are the comparisons of baseline and placebos.
    ``confirming`` are the blocks whose samples are those of ``confirmed``. ``advice`` says what would decide where no
    verdict could be given.
    """

    title: str
    baseline: str
    trials: tuple[Trial, ...]
    confirmed: tuple[Comparison, ...] = ()
    explored: tuple[Comparison, ...] = ()
    noise: tuple[Comparison, ...] = ()
    best: str | None = None
    builds: tuple[Build, ...] = ()
    samples: tuple[Sample, ...] = ()
    patches: tuple[tuple[str, str], ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    remarks: tuple[str, ...] = ()
    finished: bool = False
    seconds: float = 0.0
    confirming: tuple[int, ...] = ()
    advice: tuple[str, ...] = ()
