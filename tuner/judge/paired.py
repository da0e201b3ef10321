# SPDX-License-Identifier: GPL-2.0-or-later
"""Samples of two variants side by side: means of boots first, then of the blocks in which both ran."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linesmith.analyzer.errors import BenchmarkNonsense
from linesmith.analyzer.model import Sample

Means = NDArray[np.float64]
Boots = Mapping[tuple[int, int], float]


@dataclass(frozen=True, slots=True)
class Paired:
    """``base_boots`` and ``head_boots`` are means of boots, oldest first; ``base`` and ``head`` are means of blocks.

    Only blocks in which both sides gave a number are there, and entry i of ``base`` and ``head`` is the same block.
    """

    base_boots: tuple[float, ...]
    head_boots: tuple[float, ...]
    base: Means
    head: Means

    @property
    def blocks(self) -> int:
        """How many blocks there are: the number of independent observations."""
        return len(self.base)


def paired(samples: Iterable[Sample], baseline: str, variant: str) -> Paired:
    """The two sides of one metric; ``samples`` are of that metric only, other variants are left out.

    Raises ``BenchmarkNonsense`` for a value that is negative or no number: such values have no ratio.
    """
    kept = [sample for sample in samples if sample.variant in (baseline, variant)]
    for sample in kept:
        if not math.isfinite(sample.value) or sample.value < 0:
            raise BenchmarkNonsense(
                f"{sample.benchmark} gave {sample.value} for {sample.metric} (variant {sample.variant}, block "
                f"{sample.block}); only numbers from zero on can be compared, so check the benchmark's pattern"
            )
    base, head = boot_means(kept, baseline), boot_means(kept, variant)
    both = sorted({block for block, _ in base} & {block for block, _ in head})
    return Paired(_of_blocks(base, both), _of_blocks(head, both), _block_means(base, both), _block_means(head, both))


def boot_means(samples: Iterable[Sample], variant: str) -> dict[tuple[int, int], float]:
    """The mean of each boot of a variant, by block and boot."""
    values: defaultdict[tuple[int, int], list[float]] = defaultdict(list)
    for sample in samples:
        if sample.variant == variant:
            values[sample.block, sample.boot].append(sample.value)
    return {place: math.fsum(taken) / len(taken) for place, taken in sorted(values.items())}


def _of_blocks(boots: Boots, blocks: Iterable[int]) -> tuple[float, ...]:
    wanted = set(blocks)
    return tuple(mean for (block, _), mean in boots.items() if block in wanted)


def _block_means(boots: Boots, blocks: Iterable[int]) -> Means:
    return np.array(
        [np.mean([mean for (of, _), mean in boots.items() if of == block]) for block in blocks], dtype=float
    )
