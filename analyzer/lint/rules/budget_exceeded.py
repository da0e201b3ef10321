# SPDX-License-Identifier: GPL-2.0-or-later
"""``budget-exceeded``: a record is larger, or fits less often into a slab, than ``linesmith.toml`` allows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from linesmith.analyzer.layouts.gaps import lines
from linesmith.analyzer.lint.growth import growth, told
from linesmith.analyzer.lint.rules.rule import Rule, Side, Subject
from linesmith.analyzer.model import Figure, Layout, Severity, SlabPlace, TypeIntent, Violation
from linesmith.analyzer.slab.allocation import own_cache
from linesmith.analyzer.slab.possible import slab_places


@dataclass(frozen=True, slots=True)
class _Spent:
    """What a build takes of one ``limit``; ``where`` names the cache that an amount of objects is of."""

    name: str
    limit: int
    amount: int
    where: str = ""

    @property
    def exceeded(self) -> bool:
        """Objects per slab are wanted at least, all else at most."""
        return self.amount < self.limit if self.name == OBJECTS else self.amount > self.limit

    def worse(self, other: _Spent) -> bool:
        """Whether it is farther from its limit than ``other``."""
        return self.amount < other.amount if self.name == OBJECTS else self.amount > other.amount

    def __str__(self) -> str:
        """``has 640 bytes where the budget is 624``."""
        if self.name == OBJECTS:
            return f"fits {self.amount} times into a slab{self.where} where the budget is {self.limit} at least"
        return f"has {self.amount} {self.name} where the budget is {self.limit}"


OBJECTS = "objects per slab"


def _check(subject: Subject) -> Iterator[Violation]:
    for intent in subject.intents:
        before = _spent(intent, subject.old, subject.base) if subject.old and subject.base else ()
        was = {one.name: one for one in before}
        for one in _spent(intent, subject.new, subject.head):
            if one.exceeded:
                yield _violation(subject, intent, one, was.get(one.name))


def _spent(intent: TypeIntent, layout: Layout, side: Side) -> tuple[_Spent, ...]:
    budget, found = intent.budget, []
    if budget.bytes is not None:
        found.append(_Spent("bytes", budget.bytes, layout.size))
    if budget.lines is not None:
        found.append(_Spent("cache lines", budget.lines, lines(layout)))
    if budget.objects_per_slab is not None and side.slabs:
        place = min(_places(layout, side), key=lambda one: one.cache.geometry.objects)
        found.append(
            _Spent(OBJECTS, budget.objects_per_slab, place.cache.geometry.objects, _where(place, layout, side))
        )
    return tuple(found)


def _places(layout: Layout, side: Side) -> tuple[SlabPlace, ...]:
    """The record's own cache, or else those that hold it; kmalloc() where none is known."""
    places = slab_places(layout, side.containment, side.kernel)
    return tuple(one for one in places if not one.path) or places


def _where(place: SlabPlace, layout: Layout, side: Side) -> str:
    if place.path:
        return f" of {place.cache.name}, as {place.outer}.{place.path},"
    assumed = ", if kmalloc() allocates it," if own_cache(layout, side.kernel) is None else ""
    return f" of {place.cache.name}{assumed}"


def _violation(subject: Subject, intent: TypeIntent, now: _Spent, was: _Spent | None) -> Violation:
    known = was is not None and was.exceeded and not now.worse(was)
    grown = growth(subject)
    cause = f"; what grew: {told(grown)}" if grown and not known else ""
    return RULE.broken(
        subject.new,
        f"{now} ({intent.place or 'an intent'}){', as before' if known else ''}",
        subject=now.name,
        advice=f"make room, or raise the budget and say why{cause}; its reason: {intent.reason}",
        figures=(Figure(now.name, was.amount if was else None, now.amount, now.name.partition(" per ")[0]),),
        severity=Severity.NOTE if known else RULE.severity,
    )


RULE = Rule(
    name="budget-exceeded",
    summary="a record is larger, or fits less often into a slab, than linesmith.toml allows",
    severity=Severity.WARNING,
    check=_check,
    pair=False,
)
