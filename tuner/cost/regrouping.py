# SPDX-License-Identifier: GPL-2.0-or-later
"""Which hot members part and which come together between two layouts, phase by phase."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from linesmith.tuner.cost.heat import Contact
from linesmith.tuner.cost.line_heat import Names
from linesmith.tuner.cost.placed import Placed


@dataclass(frozen=True, slots=True)
class Regrouped:
    """Pairs of members on one line ``before`` and ``after``, those that ``parted``, and those that ``joined``.

    ``members`` are those of such pairs, ``contacts`` the contacts between two of a pair, in the order of the heat.
    """

    before: frozenset[Names]
    after: frozenset[Names]
    parted: frozenset[Names]
    joined: frozenset[Names]
    members: Names
    contacts: tuple[Contact, ...]


class Regroupings:
    """What differs between two layouts of a record; many lines of a profile ask for the same phases."""

    def __init__(self, before: Placed, after: Placed) -> None:
        self._before = before
        self._after = after
        self._numbered: dict[Names, list[int]] = {}
        for number, contact in enumerate(before.heat.contacts):
            self._numbered.setdefault(contact.names, []).append(number)
        self.between = lru_cache(maxsize=None)(self._between)

    def _between(self, phase: int, then: int) -> Regrouped:
        """Objects that begin in ``phase`` before, and in ``then`` after."""
        before, after = self._before.met(phase), self._after.met(then)
        changed = before ^ after
        numbers = sorted(number for names in changed for number in self._numbered.get(names, ()))
        contacts = tuple(self._before.heat.contacts[number] for number in numbers)
        return Regrouped(before, after, before - after, after - before, Names().union(*changed), contacts)
