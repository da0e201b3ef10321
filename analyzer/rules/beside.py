# SPDX-License-Identifier: GPL-2.0-or-later
"""A member together with those that it can share a line with, and in how many of the objects."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from linesmith.analyzer.geometry import Named
from linesmith.analyzer.model import Figure, Layout, Severity, Violation
from linesmith.analyzer.rules.rule import Rule, declared_on
from linesmith.analyzer.rules.starts import Meeting, Starts, meeting


@dataclass(frozen=True, slots=True)
class Beside:
    """``member`` can meet each of the ``others`` (names); ``worst`` is the meeting that most objects have."""

    member: Named
    others: tuple[str, ...]
    worst: Meeting

    @property
    def key(self) -> tuple[str, str]:
        """Who meets whom, whatever the figures are."""
        return self.member.path, ", ".join(self.others)

    @property
    def meetings(self) -> frozenset[frozenset[str]]:
        """The pairs that meet, whichever of both is looked from."""
        return frozenset(frozenset((self.member.path, other)) for other in self.others)

    def with_(self, other: Beside) -> Beside:
        """What two elements of an array meet, each once, the worse of their meetings first."""
        worse, better = sorted((self, other), key=lambda one: -one.worst.share)
        return replace(worse, others=tuple(dict.fromkeys((*worse.others, *better.others))))


def beside(member: Named, others: Iterable[Named], every: tuple[Starts, ...], allowed: float = 0.0) -> Beside | None:
    """Those that meet the member in more than the ``allowed`` share of objects; names of its own bytes do not count."""
    apart = (one for one in others if one.end <= member.offset or member.end <= one.offset)
    met = [(one.path, meeting(every, member.span, one.span)) for one in apart]
    many = [(path, worst) for path, worst in met if worst.share > allowed]
    if not many:
        return None
    return Beside(member, tuple(path for path, _ in many), max((one for _, one in many), key=lambda one: one.share))


def told(rule: Rule, layout: Layout, found: Beside, message: str, advice: str, share: float | None = None) -> Violation:
    """The violation by those who meet: a note where the base had it in as many of its objects (``share``)."""
    known = share is not None and share >= found.worst.share
    return rule.broken(
        layout,
        f"{message}, as before" if known else message,
        member=found.member.path,
        subject=found.key[1],
        advice=advice,
        figures=(Figure("objects", None if share is None else 100 * share, 100 * found.worst.share, "percent"),),
        severity=Severity.NOTE if known else rule.severity,
        line=declared_on(found.member, layout),
    )


def shares(known: Iterable[Beside]) -> dict[tuple[str, str], float]:
    """The share of objects by who meets whom."""
    return {one.key: one.worst.share for one in known}
