# SPDX-License-Identifier: GPL-2.0-or-later
"""Facts of a record as they bind the part of it whose members move."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import ConflictPair, FactKind, Layout, SourceFact
from linesmith.tuner.atoms import visible_places


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
    if fact.kind is FactKind.SIZE or not places or not inside:
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
    """``facts`` with each range opened in which a pair meets.

    A range stays what it is when the members between its ends change places, and nothing crosses the ends.
    """
    met = tuple((pair.first, pair.second) for pair in pairs)
    return tuple(one for fact in facts for one in _opened(fact, met, layout, layouts))


def _opened(
    fact: SourceFact, met: tuple[tuple[str, str], ...], layout: Layout, layouts: Layouts
) -> tuple[SourceFact, ...]:
    if fact.kind is not FactKind.RANGE:
        return (fact,)
    places = {name: place.member for name, place in visible_places(layout, layouts).items()}
    ends = sorted((name for name in fact.members if name in places), key=places.__getitem__)
    inside = {name for name, at in places.items() if ends and places[ends[0]] <= at <= places[ends[-1]]}
    if not any(inside.issuperset(pair) for pair in met):
        return (fact,)
    return tuple(replace(fact, kind=FactKind.WALL, members=(end,)) for end in (ends[0], ends[-1]))
