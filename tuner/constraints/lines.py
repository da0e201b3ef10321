# SPDX-License-Identifier: GPL-2.0-or-later
"""Members that must not meet on a line."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from linesmith.analyzer.model import CACHE_LINE_BYTES, FactKind
from linesmith.tuner.constraints.constraint import Constraint, ConstraintKind
from linesmith.tuner.constraints.freedom import Apart, Stretch
from linesmith.tuner.constraints.record import Record, source_of


def asserted_apart(record: Record) -> Iterator[Apart]:
    """Members that an assertion has on different lines stay, or come, on different lines."""
    for fact in record.of(FactKind.APART):
        named = ((name, record.places[name]) for name in fact.members if name in record.places)
        stretches = [(name, Stretch(place.member, place.start, place.size)) for name, place in named]
        for (name, first), (_, second) in combinations(stretches, 2):
            why = Constraint(ConstraintKind.APART, name, fact.reason, source_of(fact))
            yield Apart(first, second, fact.bytes or CACHE_LINE_BYTES, why)
