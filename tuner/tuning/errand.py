# SPDX-License-Identifier: GPL-2.0-or-later
"""What a run directory was begun for: whoever goes on with it must want the same."""

from __future__ import annotations

from collections.abc import Sequence

from linesmith.analyzer.errors import JournalError
from linesmith.analyzer.model import Variant
from linesmith.tuner.tuning.journal import Journal

SEARCH = "a search"
_NOTE = "errand"


def bench_of(variants: Sequence[Variant]) -> str:
    """The errand of measuring these, in words."""
    return f"a bench of {', '.join(sorted(one.name for one in variants))}"


def keep_errand(journal: Journal, errand: str) -> None:
    """Note what the run is for; raises ``JournalError`` when it was begun for something else."""
    known = journal.note(_NOTE)
    if known not in (None, errand):
        raise JournalError(f"this run was begun as {known} and is not {errand}; choose another --run for that")
    with journal.transaction():
        journal.keep_note(_NOTE, errand)
