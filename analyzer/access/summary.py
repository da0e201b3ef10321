# SPDX-License-Identifier: GPL-2.0-or-later
"""How the accesses of a file ended: every access is counted once."""

from __future__ import annotations

import numpy as np

from linesmith.analyzer.access.access_map import KINDS, OUTCOMES, AccessMap
from linesmith.analyzer.access.by_type import distinct
from linesmith.analyzer.model import AccessCounts, AccessSummary


def summary(accesses: AccessMap) -> AccessSummary:
    """Accesses by outcome and by kind, how many functions there are, and how many types are touched."""
    outcomes = np.bincount(accesses.outcome, minlength=len(OUTCOMES)).tolist()
    kinds = np.bincount(accesses.kind, minlength=len(KINDS)).tolist()
    return AccessSummary(
        accesses=len(accesses),
        functions=len(accesses.functions),
        types=len(distinct(accesses.place_type[1:])),
        kinds=AccessCounts(*kinds),
        outcomes=tuple(zip(OUTCOMES, outcomes, strict=True)),
    )
