# SPDX-License-Identifier: GPL-2.0-or-later
"""What does not hold any more when a run is gone on with."""

from __future__ import annotations

from linesmith.analyzer.model import FailureKind
from linesmith.tuner.tuning.journal import Journal
from linesmith.tuner.tuning.result import BEST, FINISHED

# What befell a machine, and may not befall it again: there may be more memory now, or fewer workers.
_ACCIDENTS = (FailureKind.KILLED, FailureKind.WORKER)
_FORGET_ACCIDENTS = (
    "DELETE FROM trials WHERE json_extract(failure, '$.kind') IN (?, ?)",
    "DELETE FROM blocks WHERE json_extract(failure, '$.kind') IN (?, ?)",
    "DELETE FROM builds WHERE json_extract(failure, '$.kind') IN (?, ?)",
)


def reopen(journal: Journal) -> None:
    """Forget what came out of the run, what was remarked on it, and the accidents of machines."""
    with journal.transaction():
        journal.write("DELETE FROM notes WHERE name IN (?, ?)", (BEST, FINISHED))
        journal.write("DELETE FROM remarks")
        for statement in _FORGET_ACCIDENTS:
            journal.write(statement, _ACCIDENTS)
