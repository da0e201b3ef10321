# SPDX-License-Identifier: GPL-2.0-or-later
"""Hot members that go together: those that do not disturb each other, such as a lock and what it protects.

What is used together costs a line less when it is on one; and each member moved alone leaves the rest of its company
where it disturbs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from linesmith.analyzer.model import Strategy
from linesmith.tuner.arrangement import Arrangement, gathered, placed
from linesmith.tuner.subject import Subject

# How many hot atoms move together.
MOST_TOGETHER = 4
# What of its own contention an atom may have with the others of its company.
HARMLESS = 0.3

# What an atom costs together with others, ``None`` for all there are.
Hostility = Callable[[int, Sequence[int] | None], float]


def companies(ranked: Sequence[int], hostility: Hostility) -> list[list[int]]:
    """The atoms of ``ranked`` in companies of those that hardly disturb each other, in the same order."""
    found: list[list[int]] = []
    for atom in ranked:
        whole = hostility(atom, None)
        open_to = [one for one in found if len(one) < MOST_TOGETHER and hostility(atom, one) <= HARMLESS * whole]
        if whole and open_to:
            min(open_to, key=lambda one: hostility(atom, one)).append(atom)
        else:
            found.append([atom])
    return found


def grouped(subject: Subject, start: Arrangement, ranked: Sequence[int]) -> Iterator[Arrangement]:
    """Each company of several atoms at every place, the first of the declaration in front."""
    for company in companies(ranked, _hostility(subject)):
        first, *rest = sorted(company)
        if not rest:
            continue
        for place in subject.freedom.places(first):
            moved = placed(subject, start, first, place)
            together = gathered(subject, moved, (first, *rest)) if moved is not None else None
            if together is not None and together.order != start.order:
                yield replace(together, purpose=Strategy.GROUP)


def _hostility(subject: Subject) -> Hostility:
    """What the sampled contacts say that atoms cost each other."""
    costs: dict[frozenset[int], float] = {}
    for contact in subject.heat.sampled:
        pair = frozenset((subject.owners[contact.first.member], subject.owners[contact.second.member]))
        costs[pair] = costs.get(pair, 0.0) + contact.weight

    def hostility(atom: int, others: Sequence[int] | None) -> float:
        met = (pair for pair in costs if atom in pair and (others is None or pair - {atom} <= set(others)))
        return sum(costs[pair] for pair in met)

    return hostility
