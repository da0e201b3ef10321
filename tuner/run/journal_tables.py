# SPDX-License-Identifier: GPL-2.0-or-later
"""What a run measured, built, judged and tried, as rows of its journal: variants, builds, blocks with samples, trials.

``keep_*`` functions write within a transaction, the others read. All samples of a block are there, or none. Trials that
are told to a new search in their order bring it to where the last one was. Each source is one variant, however it was
come by.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from enum import StrEnum
from hashlib import sha256
from pathlib import Path

from linesmith.analyzer.base.errors import PlanError
from linesmith.analyzer.model import Build, Built, Comparison, Failure, Fidelity, Sample, Trial, Variant
from linesmith.tuner.judge.ranking import cost
from linesmith.tuner.run.journal import Journal, Row, decoded, encoded
from linesmith.tuner.run.run_directory import journal_of

BASELINE = Variant("baseline")
PLACEBO = "placebo"


class Purpose(StrEnum):
    """What blocks are measured for; samples of one purpose never serve another."""

    NOISE = "noise"
    SEARCH = "search"
    CONFIRMATION = "confirmation"


@dataclass(frozen=True, slots=True)
class BlockStage:
    """Blocks that belong together: how they were measured (simulated or on a machine), and for what."""

    fidelity: Fidelity
    purpose: Purpose


@dataclass(frozen=True, slots=True)
class MeasuredBlock:
    """A block of a variant beside the baseline; it has samples or the variant's failure.

    ``number`` is unique in the run, ``ordinal`` counts from 0 the blocks of this variant in this stage.
    """

    number: int
    stage: BlockStage
    variant: str
    ordinal: int
    seconds: float
    samples: tuple[Sample, ...] = ()
    failure: Failure | None = None


def keep_block(journal: Journal, block: MeasuredBlock) -> None:
    """Within a transaction: keep a block with its samples; a second one in its place cannot be kept."""
    place = (block.number, block.stage.fidelity, block.stage.purpose, block.variant, block.ordinal)
    journal.write("INSERT INTO blocks VALUES (?, ?, ?, ?, ?, ?)", (*place, encoded(block)))


def blocks(journal: Journal) -> tuple[MeasuredBlock, ...]:
    """All blocks in the order of their numbers."""
    return tuple(decoded(block, MeasuredBlock) for (block,) in journal.rows("SELECT block FROM blocks ORDER BY number"))


def keep_build(journal: Journal, variant: str, outcome: Built | Failure) -> None:
    """Within a transaction: note what building the variant came to."""
    text = encoded(outcome)
    values = (variant, text, None) if isinstance(outcome, Built) else (variant, None, text)
    journal.write("INSERT OR REPLACE INTO builds (variant, built, failure) VALUES (?, ?, ?)", values)


def build_of(journal: Journal, variant: str) -> Built | Failure | None:
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
    with closing(Journal.read(journal_of(path))) as journal:
        found = build_of(journal, variant)
    return found if isinstance(found, Built) else None


def keep_trial(journal: Journal, trial: Trial) -> None:
    """Within a transaction: number a trial and keep it; a second one of its point on its rung cannot be kept."""
    ((last,),) = journal.rows("SELECT coalesce(max(number), 0) FROM trials")
    numbered = replace(trial, number=int(last or 0) + 1)
    subject = encoded(trial.point) if trial.point else trial.variant
    row = (numbered.number, subject, trial.fidelity, encoded(numbered))
    journal.write("INSERT INTO trials VALUES (?, ?, ?, ?)", row)


def trial_of(trial: Trial, outcome: Sequence[Comparison] | Failure) -> Trial:
    """The trial with what the judge says of its variant, as a ratio to the baseline, or with its failure."""
    if isinstance(outcome, Failure):
        return replace(trial, failure=outcome)
    found, spread = cost(outcome)
    return replace(trial, cost=found, spread=spread)


def trials(journal: Journal) -> tuple[Trial, ...]:
    """All finished trials in the order in which they were told."""
    return tuple(decoded(trial, Trial) for (trial,) in journal.rows("SELECT trial FROM trials ORDER BY number"))


def keep_variant(journal: Journal, variant: Variant, moves: Sequence[str] = ()) -> Variant:
    """Within a transaction: the variant with the same source that is there already, else this one, now there.

    Raises ``PlanError`` when another source has its name.
    """
    # JSON has no lone surrogates, which stand for bytes that are no UTF-8: each byte is kept as a character.
    patches = tuple(one.encode("utf-8", "surrogateescape").decode("latin-1") for one in variant.patches)
    digest = sha256(encoded((patches, variant.salt)).encode()).hexdigest()
    known = journal.rows("SELECT name, patches, salt FROM variants WHERE digest = ?", (digest,))
    if known:
        return _variant(known[0])
    if journal.rows("SELECT 1 FROM variants WHERE name = ?", (variant.name,)):
        raise PlanError(f"the run has another variant named {variant.name}; rename the patch, or start another run")
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


def efforts_of(journal: Journal) -> dict[str, int]:
    """How many moves each variant makes, by its name."""
    return {name: len(moves) for name, moves in moves_of(journal).items()}
