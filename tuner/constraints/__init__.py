# SPDX-License-Identifier: GPL-2.0-or-later
"""What no proposal may do to a record, each rule with its reason and its source; one file per rule or family."""

from linesmith.analyzer.geometry.unmovable import unmovable
from linesmith.tuner.constraints.constraint import Constraint, ConstraintKind
from linesmith.tuner.constraints.freedom import Apart, Below, Freedom, Limit, Pin, Stretch
from linesmith.tuner.constraints.memory import facts_of
from linesmith.tuner.constraints.rules import freedom
from linesmith.tuner.constraints.scoped import facts_within, opened

__all__ = [
    "Apart",
    "Below",
    "Constraint",
    "ConstraintKind",
    "Freedom",
    "Limit",
    "Pin",
    "Stretch",
    "facts_of",
    "facts_within",
    "freedom",
    "opened",
    "unmovable",
]
