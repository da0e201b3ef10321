# SPDX-License-Identifier: GPL-2.0-or-later
"""How a trial can end without a number: a failure is data that the search learns from, never an exception lost."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class FailureKind(StrEnum):
    """What ended a build, a boot or a benchmark."""

    ILLEGAL = "illegal layout"
    PATCH = "patch does not apply"
    BUILD = "build failed"
    KILLED = "compiler killed"
    DISK_FULL = "disk full"
    BOOT = "did not boot"
    PANIC = "panic"
    HANG = "hang"
    OUT_OF_MEMORY = "out of memory"
    BENCHMARK = "benchmark failed"
    NONSENSE = "no number in the output"
    RECORDING = "nothing recorded"
    WORKER = "worker lost"
    GUARD = "guard became worse"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no number: ``reason`` is a sentence, ``log`` a path relative to the run directory, or empty."""

    kind: FailureKind
    reason: str
    log: str = ""
