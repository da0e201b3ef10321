# SPDX-License-Identifier: GPL-2.0-or-later
"""What the users of a member do with it: the reports of a census, put together by place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from linesmith.patches.encapsulation.form import Form
from linesmith.patches.encapsulation.member import DeclaredMember, Shape
from linesmith.patches.encapsulation.rules import Use
from linesmith.patches.semantic.spatch import Site

_OWN = frozenset((Use.POINTER, Use.OBJECT))
# A use that only an object in memory can serve.
_IN_MEMORY = frozenset((Use.ADDRESS, Use.HANDED))
_SPECIAL = frozenset((Use.ADDRESS, Use.PART, Use.ASSIGNED))
_RECORDS = ("struct ", "union ")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a member of the name is used; ``line`` counts from 1, ``column`` from 0.

    ``holder`` is what stands in front of ``->``, ``type`` that of the record, each empty where it is not known.
    """

    file: str
    line: int
    column: int
    function: str
    uses: frozenset[Use]
    holder: str = ""
    type: str = ""

    @property
    def is_own(self) -> bool:
        """Whether the record is known to be the one that is asked for."""
        return bool(self.uses & _OWN)

    @property
    def is_foreign(self) -> bool:
        """Whether the record is known to be another one; a typedef that is not resolved may be any."""
        return not self.is_own and self.type.removeprefix("const ").startswith(_RECORDS)

    @property
    def may_be_own(self) -> bool:
        """Whether this is an access by an expression whose type is not known."""
        return Use.SEEN in self.uses and not self.is_foreign


def gathered(sites: Iterable[Site]) -> tuple[Place, ...]:
    """One place for all that rules say of it, in the order of files and lines."""
    by_place: dict[tuple[str, int, int], list[Site]] = {}
    for site in sites:
        by_place.setdefault((site.file, site.line, site.column), []).append(site)
    return tuple(_place(key, found) for key, found in sorted(by_place.items()))


def _place(key: tuple[str, int, int], found: Sequence[Site]) -> Place:
    bound = {name: text for site in found for name, text in site.bindings}
    uses = frozenset(Use(site.rule) for site in found)
    return Place(*key, found[0].function, uses, bound.get("P", ""), bound.get("TT", ""))


def form_for(declared: DeclaredMember, places: Collection[Place]) -> Form:
    """What the accessor has to give so that it serves most uses."""
    if declared.shape is Shape.ARRAY:
        return Form.ELEMENTS
    if declared.shape is Shape.RECORD or any(Use.PART in place.uses for place in places):
        return Form.ADDRESS
    if declared.shape is Shape.BIT_FIELD:
        return Form.VALUE
    in_memory = sum(bool(place.uses & _IN_MEMORY) for place in places)
    changing = sum(bool(place.uses & {Use.ASSIGNED, Use.UPDATED}) for place in places)
    reads = len(places) - in_memory - changing
    return Form.VALUE if reads > in_memory else Form.ADDRESS


def parameter_for(declared: DeclaredMember, places: Iterable[Place]) -> str:
    """What most users call the record."""
    names = Counter(place.holder for place in places if place.holder.isidentifier())
    usual = names.most_common(1)
    return usual[0][0] if usual and usual[0][0] != declared.name else declared.record.name[:1]


def all_uses(places: Iterable[Place]) -> frozenset[Use]:
    """Every use that there is; ``OBJECT`` only where no pointer leads to the record, ``SEEN`` where no other fits."""
    found: set[Use] = set()
    for place in places:
        special = place.uses - {Use.SEEN, *({Use.OBJECT} if Use.POINTER in place.uses else set())}
        found |= special if special & _SPECIAL else special | {Use.SEEN}
    return frozenset(found)
