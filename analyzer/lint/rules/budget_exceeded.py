# SPDX-License-Identifier: GPL-2.0-or-later
"""``budget-exceeded``: a record is larger, or fits less often into a slab, than ``linesmith.toml`` allows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from linesmith.analyzer.layouts.gaps import lines
from linesmith.analyzer.lint.growth import growth, in_words
from linesmith.analyzer.lint.rules.rule import LintedRecord, RecordVersion, Rule
from linesmith.analyzer.model import Figure, Severity, TypeIntent, Violation
from linesmith.analyzer.slab.allocation import own_cache
from linesmith.analyzer.slab.starts import slab_places


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


def _check(record: LintedRecord) -> Iterator[Violation]:
    for intent in record.intents:
        before = {one.name: one for one in _spent(intent, record.before)} if record.before else {}
        for now in _spent(intent, record.now):
            if not now.exceeded:
                continue
            was, grown = before.get(now.name), growth(record)
            known = was is not None and was.exceeded and not now.worse(was)
            cause = f"; what grew: {in_words(grown)}" if grown and not known else ""
            yield RULE.broken(
                record.layout,
                f"{now} ({intent.place or 'an intent'}){', as before' if known else ''}",
                subject=now.name,
                advice=f"make room, or raise the budget with a reason{cause}; its reason: {intent.reason}",
                figures=(Figure(now.name, was.amount if was else None, now.amount, now.name.partition(" per ")[0]),),
                severity=Severity.NOTE if known else RULE.severity,
            )


def _spent(intent: TypeIntent, version: RecordVersion) -> Iterator[_Spent]:
    budget, layout, build = intent.budget, version.layout, version.build
    if budget.bytes is not None:
        yield _Spent("bytes", budget.bytes, layout.size)
    if budget.lines is not None:
        yield _Spent("cache lines", budget.lines, lines(layout))
    if budget.objects_per_slab is not None and build.slabs:
        # The record's own cache, or else those that hold it; kmalloc() where none is known.
        places = slab_places(layout, build.containment, build.kernel)
        own = [one for one in places if not one.path]
        place = min(own or places, key=lambda one: one.cache.geometry.objects)
        where = f" of {place.cache.name}"
        if place.path:
            where += f", as {place.outer}.{place.path},"
        elif own_cache(layout, build.kernel) is None:
            where += ", if kmalloc() allocates it,"
        yield _Spent(OBJECTS, budget.objects_per_slab, place.cache.geometry.objects, where)


RULE = Rule(
    name="budget-exceeded",
    summary="a record is larger, or has fewer objects per slab, than linesmith.toml allows",
    severity=Severity.WARNING,
    check=_check,
    pair=False,
    of_intent=True,
)
