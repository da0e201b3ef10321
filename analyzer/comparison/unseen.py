# SPDX-License-Identifier: GPL-2.0-or-later
"""What a profile may hold without saying so: nothing has vanished for sure that may be there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from linesmith.analyzer.comparison.line_groups import NAMELESS, LineGroup
from linesmith.analyzer.model import Change, Exposure, Fate, SharedLine
from linesmith.analyzer.sharing.waiting import unlisted


@dataclass(frozen=True, slots=True)
class Unseen:
    """Contended accesses that nobody can place: ``by_function`` on lines that were not looked at.

    ``nameless`` counts those on lines that were looked at of which neither object nor function is known.
    """

    by_function: Counter[str]
    nameless: int

    def may_hold(self, functions: Iterable[str]) -> int:
        """The most of these functions' contended accesses that may be among them."""
        return self.nameless + sum(self.by_function[name] for name in {NAMELESS, *functions})


def unseen(groups: Iterable[LineGroup], left_out: Iterable[SharedLine]) -> Unseen:
    """What one profile does not tell, by its groups of lines and the lines that were not looked at."""
    counts: Counter[str] = Counter()
    for line in left_out:
        if not line.apart:
            counts[NAMELESS] += unlisted(line)
            for access in line.accesses:
                counts[access.function or NAMELESS] += access.contended
    return Unseen(counts, sum(map(_nameless, groups)))


def _nameless(group: LineGroup) -> int:
    """Contended accesses of a group of which nothing is known; all of them, where the text has no rows."""
    if group.type:
        return 0
    return group.functions[NAMELESS] if group.functions else group.contended


def unless_unseen(change: Change, functions: Iterable[str], sides: tuple[Unseen, Unseen], looked: Exposure) -> Change:
    """The change; what may be unseen on the other side has neither vanished nor is it new for sure."""
    before, after = (side.may_hold(functions) for side in sides)
    hidden = {
        Fate.VANISHED: change.before * looked.after <= after * looked.before,
        Fate.NEW: change.after * looked.before <= before * looked.after,
    }
    return replace(change, fate=Fate.UNSEEN) if hidden.get(change.fate) else change
