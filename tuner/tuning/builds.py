# SPDX-License-Identifier: GPL-2.0-or-later
"""What was built, in the journal of a run: products of a variant, or why there are none."""

from __future__ import annotations

from pathlib import Path

from linesmith.analyzer.model import Build, Built, Failure
from linesmith.tuner.tuning.encoding import decoded, encoded
from linesmith.tuner.tuning.journal import Journal
from linesmith.tuner.tuning.run_directory import journal_of


def keep_build(journal: Journal, variant: str, outcome: Built | Failure) -> None:
    """Within a transaction: note what building the variant came to."""
    text = encoded(outcome)
    values = (variant, text, None) if isinstance(outcome, Built) else (variant, None, text)
    journal.write("INSERT OR REPLACE INTO builds (variant, built, failure) VALUES (?, ?, ?)", values)


def kept_build(journal: Journal, variant: str) -> Built | Failure | None:
    """What building the variant came to; ``None`` when it was not built, or its products are gone."""
    rows = journal.rows("SELECT built, failure FROM builds WHERE variant = ?", (variant,))
    if not rows:
        return None
    built, failure = rows[0]
    if built is None:
        return decoded(failure, Failure)
    found = decoded(built, Built)
    return found if all(path.exists() for _, path in found.products) else None


def builds(journal: Journal) -> tuple[Build, ...]:
    """All builds that succeeded, in the order of their variants."""
    rows = journal.rows("SELECT variant, built FROM builds WHERE built NOT NULL ORDER BY rowid")
    found = ((str(variant), decoded(built, Built)) for variant, built in rows)
    return tuple(Build(name, one.key, one.seconds, one.compiler, one.configuration) for name, one in found)


def read_build(path: Path, variant: str) -> Built | None:
    """What the run in the directory ``path`` built of a variant; ``None`` where it failed or its products are gone.

    Raises ``JournalError``.
    """
    journal = Journal.read(journal_of(path))
    try:
        found = kept_build(journal, variant)
    finally:
        journal.close()
    return found if isinstance(found, Built) else None
