# SPDX-License-Identifier: GPL-2.0-or-later
"""All samples as ``{variant: {metric: [samples]}}``, in the order in which they were taken."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import msgspec

from linesmith.analyzer.model import Result, Sample

Matrix = dict[str, dict[str, list[float]]]


def matrix(result: Result) -> Matrix:
    """The samples of each variant by metric, as ``exec-storm.ops_per_second``.

    A benchmark that ran with several numbers of threads has them in the name: ``exec-storm.8_threads.ops_per_second``.
    """
    several = _several(result.samples)
    found: Matrix = {}
    for sample in sorted(result.samples, key=lambda one: (one.block, one.position)):
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
