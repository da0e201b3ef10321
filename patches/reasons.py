# SPDX-License-Identifier: GPL-2.0-or-later
"""Why a change helps, for a commit message: what two CPUs find on the line, before and after."""

from __future__ import annotations

from collections.abc import Sequence

from linesmith.analyzer.model import CoherenceStep, StepTable
from linesmith.patches.paragraph import paragraph

_HEAD = (
    "Why: CPU A writes a member, CPU B waits for another one that lies on the same line. What each access finds, "
    "before -> after (cycles are the profile's where it has them):"
)


def reasons(tables: Sequence[StepTable]) -> str:
    """The accesses that wait for nothing now and no longer then, as a paragraph and rows; empty where none do."""
    helped = [one for one in tables if any(step.needless for step in one.before) and one.cycles[1] < one.cycles[0]]
    pairs = [pair for one in helped for pair in zip(one.before, one.after, strict=True)]
    rows = [f"{now.cpu}: {_access(now)}: {_found(now)} -> {_found(then)}" for now, then in pairs]
    if not rows:
        return ""
    return (
        paragraph(_HEAD) + "\n\n" + "\n".join(paragraph(row, first="  ", then="      ") for row in dict.fromkeys(rows))
    )


def _access(step: CoherenceStep) -> str:
    return f"{step.function or 'somebody'} {'writes' if step.writes else 'reads'} {step.member}"


def _found(step: CoherenceStep) -> str:
    return f"{step.what}, {step.cycles} cycles" if step.cycles and not step.writes else step.what
