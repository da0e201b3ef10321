# SPDX-License-Identifier: GPL-2.0-or-later
"""``tune``: from a plan to the best layout that was confirmed on fresh measurements."""

from __future__ import annotations

from linesmith.analyzer.model import Result, TunePlan
from linesmith.plugins.api import Pool
from linesmith.tuner.tuning.doors import Doors
from linesmith.tuner.tuning.progress import TellProgress
from linesmith.tuner.tuning.run_directory import RunDirectory


def tune(plan: TunePlan, run: RunDirectory, pool: Pool, tell: TellProgress, doors: Doors) -> Result:
    """Search as the plan says; what an earlier process finished in the same run directory is not done again.

    An exception in the middle, ``KeyboardInterrupt`` included, leaves a run directory that can be gone on with. Raises
    ``BaselineFailed`` when the tree as it is does not build, boot or run, ``DiskFull``, ``PlanError``, and what
    ``doors.analyse`` raises.
    """
    raise NotImplementedError
