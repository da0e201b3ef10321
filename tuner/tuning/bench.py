# SPDX-License-Identifier: GPL-2.0-or-later
"""``bench``: given patches against the tree as it is, without a search."""

from __future__ import annotations

from collections.abc import Sequence

from linesmith.analyzer.model import Result, TunePlan, Variant
from linesmith.plugins.api import Pool
from linesmith.tuner.tuning.progress import TellProgress
from linesmith.tuner.tuning.run_directory import RunDirectory


def bench(plan: TunePlan, variants: Sequence[Variant], run: RunDirectory, pool: Pool, tell: TellProgress) -> Result:
    """Measure ``variants`` against the baseline until the judge has seen enough of each.

    What an earlier process finished in the same run directory is not done again. Raises ``BaselineFailed``,
    ``DiskFull`` or ``PlanError``.
    """
    raise NotImplementedError
