# SPDX-License-Identifier: GPL-2.0-or-later
"""Measured blocks in the journal of a run: all samples of a block are there, or none."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from linesmith.analyzer.model import Failure, Fidelity, Sample
from linesmith.tuner.tuning.encoding import decoded, encoded
from linesmith.tuner.tuning.journal import Journal, Row

_INSERT_BLOCK = (
    "INSERT INTO blocks (number, fidelity, purpose, variant, ordinal, seconds, failure) VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_SELECT_BLOCKS = "SELECT number, fidelity, purpose, variant, ordinal, seconds, failure FROM blocks ORDER BY number"
_INSERT_SAMPLE = (
    "INSERT INTO samples (variant, benchmark, metric, threads, value, block, boot, position) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
_SELECT_SAMPLES = (
    "SELECT variant, benchmark, metric, threads, value, block, boot, position FROM samples "
    "ORDER BY block, position, rowid"
)


class Purpose(StrEnum):
    """What blocks are measured for; samples of one purpose never serve another."""

    NOISE = "noise"
    SEARCH = "search"
    CONFIRMATION = "confirmation"


@dataclass(frozen=True, slots=True)
class Stage:
    """Blocks that belong together: how they were measured (simulated or on a machine), and for what."""

    fidelity: Fidelity
    purpose: Purpose


@dataclass(frozen=True, slots=True)
class Block:
    """A block of a variant beside the baseline; it has samples or the variant's failure.

    ``number`` is unique in the run, ``ordinal`` counts from 0 the blocks of this variant in this stage.
    """

    number: int
    stage: Stage
    variant: str
    ordinal: int
    seconds: float
    samples: tuple[Sample, ...] = ()
    failure: Failure | None = None


def keep_block(journal: Journal, block: Block) -> None:
    """Within a transaction: keep a block with its samples; a second one in its place cannot be kept."""
    failure = None if block.failure is None else encoded(block.failure)
    stage = block.stage.fidelity, block.stage.purpose
    journal.write(_INSERT_BLOCK, (block.number, *stage, block.variant, block.ordinal, block.seconds, failure))
    for one in block.samples:
        row = (one.variant, one.benchmark, one.metric, one.threads, one.value, one.block, one.boot, one.position)
        journal.write(_INSERT_SAMPLE, row)


def blocks(journal: Journal) -> tuple[Block, ...]:
    """All blocks in the order of their numbers."""
    samples: dict[int, list[Sample]] = {}
    for row in journal.rows(_SELECT_SAMPLES):
        sample = _sample(row)
        samples.setdefault(sample.block, []).append(sample)
    return tuple(_block(row, samples) for row in journal.rows(_SELECT_BLOCKS))


def _block(row: Row, samples: dict[int, list[Sample]]) -> Block:
    number, fidelity, purpose, variant, ordinal, seconds, failure = row
    stage = Stage(Fidelity(str(fidelity)), Purpose(str(purpose)))
    why = None if failure is None else decoded(failure, Failure)
    own = tuple(samples.get(int(number or 0), ()))
    return Block(int(number or 0), stage, str(variant), int(ordinal or 0), float(seconds or 0), own, why)


def _sample(row: Row) -> Sample:
    variant, benchmark, metric, threads, value, block, boot, position = row
    place = (int(block or 0), int(boot or 0), int(position or 0))
    return Sample(str(variant), str(benchmark), str(metric), int(threads or 0), float(value or 0.0), *place)
