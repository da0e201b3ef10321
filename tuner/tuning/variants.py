# SPDX-License-Identifier: GPL-2.0-or-later
"""The variants of a run in its journal: each source is one variant, by whatever way it was come to."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from linesmith.analyzer.errors import PlanError
from linesmith.analyzer.model import Variant
from linesmith.tuner.tuning.encoding import decoded, encoded
from linesmith.tuner.tuning.journal import Journal, Row

BASELINE = Variant("baseline")
PLACEBO = "placebo"


def keep_variant(journal: Journal, variant: Variant, moves: Sequence[str] = ()) -> Variant:
    """Within a transaction: the variant with the same source that is there already, else this one, now there.

    Raises ``PlanError`` when another source has its name.
    """
    patches = _bytes_of(variant.patches)
    digest = sha256(encoded((patches, variant.salt)).encode()).hexdigest()
    known = journal.rows("SELECT name, patches, salt FROM variants WHERE digest = ?", (digest,))
    if known:
        return _variant(known[0])
    if journal.rows("SELECT 1 FROM variants WHERE name = ?", (variant.name,)):
        raise PlanError(f"the run has another variant called {variant.name}; rename the patch, or begin another run")
    values = (variant.name, digest, variant.salt, encoded(patches), encoded(tuple(moves)))
    journal.write("INSERT INTO variants (name, digest, salt, patches, moves) VALUES (?, ?, ?, ?, ?)", values)
    return variant


def variants(journal: Journal) -> tuple[Variant, ...]:
    """All variants in the order in which they were first met."""
    return tuple(_variant(row) for row in journal.rows("SELECT name, patches, salt FROM variants ORDER BY rowid"))


def moves_of(journal: Journal) -> dict[str, tuple[str, ...]]:
    """What makes each variant, in words."""
    rows = journal.rows("SELECT name, moves FROM variants")
    return {str(name): decoded(moves, tuple[str, ...]) for name, moves in rows}


def _variant(row: Row) -> Variant:
    name, kept, salt = row
    patches = (one.encode("latin-1").decode("utf-8", "surrogateescape") for one in decoded(kept, tuple[str, ...]))
    return Variant(str(name), tuple(patches), int(salt or 0))


def _bytes_of(patches: Sequence[str]) -> tuple[str, ...]:
    """Each byte of the patches as a character: those that are no UTF-8 are lone surrogates, which JSON has not."""
    return tuple(one.encode("utf-8", "surrogateescape").decode("latin-1") for one in patches)


def efforts_of(journal: Journal) -> dict[str, int]:
    """How many moves each variant makes, by its name."""
    return {name: len(moves) for name, moves in moves_of(journal).items()}
