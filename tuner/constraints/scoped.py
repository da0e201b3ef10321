# SPDX-License-Identifier: GPL-2.0-or-later
"""Facts of a record as they bind the part of it whose members move."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from linesmith.analyzer.geometry.atoms import GROUP_BEGIN, GROUP_END, visible_places
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import ConflictPair, FactKind, Layout, SourceFact

_ASSERTED = "include/linux/cache.h, CACHELINE_ASSERT_GROUP_MEMBER()"


def facts_within(
    facts: tuple[SourceFact, ...], outer: Layout, inner: Layout, layouts: Layouts
) -> tuple[SourceFact, ...]:
    """The ``facts`` of ``outer`` that bind ``inner``, the record itself or an anonymous struct inside it."""
    if outer.id == inner.id or not facts:
        return facts
    order = {name: place for place, name in enumerate(visible_places(outer, layouts))}
    inside = tuple(visible_places(inner, layouts))
    return tuple(one for fact in facts for one in _within(fact, order, inside))


def _within(fact: SourceFact, order: Mapping[str, int], inside: tuple[str, ...]) -> Iterator[SourceFact]:
    """The fact for the names ``inside``; ``order`` numbers all names of the outer record."""
    places = [order[name] for name in fact.members if name in order]
    if fact.kind is FactKind.SIZE:
        # Only a struct that is all of the record may change its size, and then both have one size.
        yield fact
    if not places or not inside:
        return
    first, last = order[inside[0]], order[inside[-1]]
    if fact.kind is FactKind.POSITIONAL:
        if max(places) >= first:
            yield replace(fact, members=tuple(name for name in inside if order[name] <= max(places)))
    elif fact.kind is FactKind.RANGE and (first <= min(places) <= last) != (first <= max(places) <= last):
        # The range begins or ends here: what is in it by now must stay in it.
        yield replace(fact, kind=FactKind.OFFSET, members=inside)
    else:
        yield replace(fact, members=tuple(name for name in fact.members if name in inside))


def opened(
    facts: tuple[SourceFact, ...], pairs: Iterable[ConflictPair], layout: Layout, layouts: Layouts
) -> tuple[SourceFact, ...]:
    """``facts`` with each range, and each cacheline group of ``layout``, opened in which a pair meets.

    Such a run stays what it is when the members between its ends change places, and nothing crosses the ends.
    """
    places = {name: place.member for name, place in visible_places(layout, layouts).items()}
    met = [(places[one.first], places[one.second]) for one in pairs if {one.first, one.second} <= places.keys()]
    told = tuple(one for fact in facts for one in _opened(fact, met, places))
    groups = ((names, range(places[names[0]], places[names[1]])) for names in _groups(layout))
    reason = "its group is asserted at compile time: what is in it stays in it"
    walls = (SourceFact(FactKind.WALL, names, reason, _ASSERTED) for names, run in groups if _meets(run, met))
    return (*told, *walls)


def _groups(layout: Layout) -> Iterator[tuple[str, str]]:
    """The markers of each cacheline group."""
    names = [member.name for member in layout.members]
    for name in names:
        end = GROUP_END + name.removeprefix(GROUP_BEGIN)
        if name.startswith(GROUP_BEGIN) and end in names:
            yield name, end


def _opened(fact: SourceFact, met: Sequence[tuple[int, int]], places: Mapping[str, int]) -> tuple[SourceFact, ...]:
    ends = sorted((name for name in fact.members if name in places), key=places.__getitem__)
    if fact.kind is not FactKind.RANGE or not ends or not _meets(range(places[ends[0]], places[ends[-1]] + 1), met):
        return (fact,)
    return tuple(replace(fact, kind=FactKind.WALL, members=(end,)) for end in (ends[0], ends[-1]))


def _meets(run: range, met: Iterable[tuple[int, int]]) -> bool:
    """Whether two different members at positions of ``run`` meet."""
    return any(one in run and other in run and one != other for one, other in met)
