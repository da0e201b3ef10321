# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines of a profile by what lies on them: the same place of objects of one type is one group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from linesmith.analyzer.model import Finding, LineMember, LineObject, Outcome

# A member's type and name; both empty where only the function is known.
Key = tuple[str, str]
NO_MEMBER = ("", "")
# The function where the profile has no name for it.
NAMELESS = "[unknown]"


@dataclass(frozen=True, slots=True)
class LineGroup:
    """Lines of which each begins ``start`` bytes into an object of ``type``; those without a known object by functions.

    ``waits`` counts contended accesses by member and function, ``members`` and ``functions`` by either of them alone.
    ``touched`` holds every member met, also those that were only stored to; ``containers`` are records that hold the
    type.
    """

    type: str
    start: int | None
    ranks: tuple[int, ...]
    contended: int
    waits: Mapping[Key, Counter[str]]
    touched: frozenset[Key]
    members: Counter[Key]
    functions: Counter[str]
    containers: frozenset[str] = frozenset()

    @property
    def recognisable(self) -> bool:
        """Whether anything is known by which the group could be told in another profile."""
        return bool(self.waits) and bool(self.type or self.functions.keys() - {NAMELESS})


def line_groups(found: Iterable[Finding]) -> tuple[LineGroup, ...]:
    """The groups of all findings, most contended first."""
    grouped: dict[tuple[str, int | None, frozenset[str]], list[Finding]] = {}
    for finding in found:
        owner = _owner(finding)
        key = (_type(owner), -owner.start, frozenset[str]()) if owner else ("", None, _waiting(finding))
        grouped.setdefault(key, []).append(finding)
    groups = (_group(type_, start, lines) for (type_, start, _), lines in grouped.items())
    return tuple(sorted(groups, key=lambda one: (-one.contended, one.ranks)))


def _waiting(finding: Finding) -> frozenset[str]:
    """The functions that wait on a line."""
    return frozenset(one.name for member in finding.members for one in member.functions if one.contended)


def _owner(finding: Finding) -> LineObject | None:
    """The line's first object, if it is known by type or as a variable."""
    first = finding.objects[0] if finding.objects else None
    return first if first and _is_known(first) else None


def _is_known(one: LineObject) -> bool:
    """Whether it says what the object is: that something holds a lock does not."""
    return bool(one.variable) or (one.layout is not None and one.outcome is Outcome.RESOLVED)


def _type(one: LineObject) -> str:
    return one.type or one.variable


def _group(type_: str, start: int | None, lines: Sequence[Finding]) -> LineGroup:
    waits: dict[Key, Counter[str]] = {}
    touched: set[Key] = set()
    for finding in lines:
        for member in finding.members:
            key = _key(member, finding.objects)
            touched.add(key)
            counts = waits.setdefault(key, Counter())
            for function in member.functions:
                counts[function.name] += function.contended
    ranks = tuple(sorted(finding.rank for finding in lines))
    contended = sum(finding.contended for finding in lines)
    held = frozenset(name for finding in lines for one in finding.objects[:1] for name in one.containers)
    return LineGroup(type_, start, ranks, contended, waits, frozenset(touched), *_summed(waits), held)


def loosened(groups: Iterable[LineGroup], others: Iterable[LineGroup]) -> tuple[LineGroup, ...]:
    """The groups, without the object where the other profile may know it as part of a larger one.

    Of a lock that is alone on its line now, the code may only tell that it is a lock.
    """
    known = {other.type for other in others}
    return tuple(_without_object(one) if one.containers & known and one.type not in known else one for one in groups)


def _without_object(one: LineGroup) -> LineGroup:
    waits = {NO_MEMBER: one.functions} if one.functions else {}
    return LineGroup("", None, one.ranks, one.contended, waits, frozenset(waits), *_summed(waits))


def _summed(waits: Mapping[Key, Counter[str]]) -> tuple[Counter[Key], Counter[str]]:
    functions: Counter[str] = Counter()
    for counts in waits.values():
        functions.update(counts)
    return Counter({key: counts.total() for key, counts in waits.items()}), functions


def together(groups: Iterable[LineGroup]) -> LineGroup:
    """All lines of a profile as one group."""
    waits: dict[Key, Counter[str]] = {}
    for group in groups:
        for key, counts in group.waits.items():
            waits.setdefault(key, Counter()).update(counts)
    contended = sum(counts.total() for counts in waits.values())
    return LineGroup("", None, (), contended, waits, frozenset(waits), *_summed(waits))


def _key(member: LineMember, objects: Sequence[LineObject]) -> Key:
    """Which member of what; an offset of nothing known means nothing in another profile."""
    if member.object_offset is None:
        return NO_MEMBER
    begin = member.offset - member.object_offset
    owner = next((one for one in objects if one.start == begin and _is_known(one)), None)
    return (_type(owner), member.top) if owner else NO_MEMBER
