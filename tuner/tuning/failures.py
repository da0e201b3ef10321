# SPDX-License-Identifier: GPL-2.0-or-later
"""At the border of a task, errors become data: which of them are results of a trial, and of what kind."""

from __future__ import annotations

import errno

from linesmith.analyzer.errors import (
    BenchmarkFailed,
    BenchmarkNonsense,
    BuildFailed,
    CompilerKilled,
    DeclarationNotFound,
    DiskFull,
    EditRefused,
    GuestFailed,
    GuestHung,
    GuestNotBooted,
    GuestOutOfMemory,
    GuestPanicked,
    KernelNotBootable,
    NothingToSuggest,
    NotRecorded,
    NotSimulated,
    PatchRefused,
    TraceError,
    VerificationFailed,
    WorkerLost,
)
from linesmith.analyzer.model import Failure, FailureKind

# The first class that an error is of tells; what is of none is no result, but ends the run.
_KINDS: tuple[tuple[type[Exception], FailureKind], ...] = (
    (NothingToSuggest, FailureKind.ILLEGAL),
    (EditRefused, FailureKind.ILLEGAL),
    (VerificationFailed, FailureKind.ILLEGAL),
    (DeclarationNotFound, FailureKind.ILLEGAL),
    (NotSimulated, FailureKind.ILLEGAL),
    (PatchRefused, FailureKind.PATCH),
    (CompilerKilled, FailureKind.KILLED),
    (BuildFailed, FailureKind.BUILD),
    (DiskFull, FailureKind.DISK_FULL),
    (KernelNotBootable, FailureKind.BOOT),
    (GuestNotBooted, FailureKind.BOOT),
    (GuestPanicked, FailureKind.PANIC),
    (GuestHung, FailureKind.HANG),
    (GuestOutOfMemory, FailureKind.OUT_OF_MEMORY),
    (MemoryError, FailureKind.OUT_OF_MEMORY),
    (GuestFailed, FailureKind.OTHER),
    (BenchmarkFailed, FailureKind.BENCHMARK),
    (BenchmarkNonsense, FailureKind.NONSENSE),
    (NotRecorded, FailureKind.RECORDING),
    (TraceError, FailureKind.RECORDING),
    (WorkerLost, FailureKind.WORKER),
)


class Interrupted(Exception):
    """What ran for one side of a block failed: ``error`` of ``variant``."""

    def __init__(self, variant: str, error: Exception) -> None:
        super().__init__(str(error))
        self.variant = variant
        self.error = error


def failure_of(error: Exception, log: str = "") -> Failure | None:
    """The failure that ``error`` is, with its ``log``; ``None`` for what says nothing about a variant."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return Failure(FailureKind.DISK_FULL, str(error), log)
    kind = next((kind for cls, kind in _KINDS if isinstance(error, cls)), None)
    return None if kind is None else Failure(kind, str(error), log)
