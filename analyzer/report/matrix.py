# SPDX-License-Identifier: GPL-2.0-or-later
"""The fresh samples as ``{variant: {metric: [samples]}}``, in the order in which they were taken."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import msgspec

from linesmith.analyzer.model import SIMULATED, Result, Sample

Matrix = dict[str, dict[str, list[float]]]


def matrix(result: Result) -> Matrix:
    """The fresh samples of each variant by metric, as ``exec-storm.ops_per_second``; none before the confirmation.

    A benchmark that ran with several numbers of threads has them in the name: ``exec-storm.8_threads.ops_per_second``.
    """
    fresh = [sample for sample in result.samples if sample.block in set(result.confirming)]
    repeated = _repeated(fresh, result.baseline)
    several = _several(fresh)
    found: Matrix = {}
    for sample in sorted(fresh, key=lambda one: (one.block, one.position)):
        if sample.benchmark == SIMULATED and (sample.variant, sample.block) in repeated:
            continue
        threads = f".{sample.threads}_threads" if sample.benchmark in several else ""
        name = f"{sample.benchmark}{threads}.{sample.metric}"
        found.setdefault(sample.variant, {}).setdefault(name, []).append(sample.value)
    return found


def render_json(result: Result) -> str:
    """The matrix as indented JSON that ends in a newline."""
    return msgspec.json.format(msgspec.json.encode(matrix(result)), indent=2).decode() + "\n"


def _several(samples: Iterable[Sample]) -> set[str]:
    threads: defaultdict[str, set[int]] = defaultdict(set)
    for sample in samples:
        threads[sample.benchmark].add(sample.threads)
    return {benchmark for benchmark, counts in threads.items() if len(counts) > 1}


def _repeated(samples: Iterable[Sample], baseline: str) -> set[tuple[str, int]]:
    """The baseline in the simulated blocks of all variants but the one with the most blocks.

    A seed gives one number, so what stands beside another variant is the same recordings once more.
    """
    blocks: defaultdict[str, set[int]] = defaultdict(set)
    for sample in samples:
        if sample.benchmark == SIMULATED and sample.variant != baseline:
            blocks[sample.variant].add(sample.block)
    once = max(blocks.values(), key=len, default=set())
    return {(baseline, block) for own in blocks.values() for block in own - once}
