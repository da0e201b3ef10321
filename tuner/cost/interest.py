# SPDX-License-Identifier: GPL-2.0-or-later
"""How much each member is probably read where no sample tells: by the code, else by its place in the declaration."""

from __future__ import annotations

from collections import defaultdict
from math import sqrt

from linesmith.analyzer.model import TypeAccesses
from linesmith.tuner.cost.uses import Scope

# Functions that read a member which is then taken to be read all the time.
MANY = 32
# What the first member of a declaration counts for where nothing is known of the code.
BY_PLACE = 1 / 3


def interest(scope: Scope, code: TypeAccesses | None) -> tuple[float, ...]:
    """From 0 to 1 for each member of the scope, by position.

    Many functions that read a member are taken for many reads, but not in proportion. Where the code is not known,
    members declared early count for more: authors put first what most code reads.
    """
    count = len(scope.starts)
    readers: dict[int, set[str]] = defaultdict(set)
    for member in code.members if code is not None else ():
        use = scope.use(member.offset)
        if use.position is not None:
            readers[use.position].update(member.readers)
    if not readers:
        return tuple(BY_PLACE * (1 - position / count) for position in range(count))
    return tuple(min(1.0, sqrt(len(readers[position]) / MANY)) for position in range(count))
