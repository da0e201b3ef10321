# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines of a profile by what lies on them, and what became of each member between two groups of lines.

The same place of objects of one type is one group.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from linesmith.analyzer.model import Change, Exposure, Fate, Finding, LineMember, LineObject, MemberChange, Outcome
from linesmith.analyzer.sharing.statistics import ratio_of, widened

# A member's type and name; both empty where only the function is known.
Key = tuple[str, str]
NO_MEMBER = ("", "")
# The function where the profile has no name for it.
NAMELESS = "[unknown]"
# Two-sided 99 % of the normal distribution: many members are compared at once.
Z = 2.575829
MOST_FUNCTIONS = 6
NOTHING: Counter[str] = Counter()
# A member's type and name, or a function where they are not known.
_Row = tuple[str, str, str]


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
        """Whether anything is known by which the group could be recognised in another profile."""
        return bool(self.waits) and bool(self.type or self.functions.keys() - {NAMELESS})


def line_groups(found: Iterable[Finding]) -> tuple[LineGroup, ...]:
    """The groups of all findings, most contended first."""
    grouped: dict[tuple[str, int | None, frozenset[str]], list[Finding]] = {}
    for finding in found:
        first = finding.objects[0] if finding.objects else None
        key: tuple[str, int | None, frozenset[str]]
        if first and _is_known(first):
            key = (_type(first), -first.start, frozenset())
        else:
            waiting = (one.name for member in finding.members for one in member.functions if one.contended)
            key = ("", None, frozenset(waiting))
        grouped.setdefault(key, []).append(finding)
    groups = (_group(type_, start, lines) for (type_, start, _), lines in grouped.items())
    return tuple(sorted(groups, key=lambda one: (-one.contended, one.ranks)))


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
    found = []
    for one in groups:
        waits = {NO_MEMBER: one.functions} if one.functions else {}
        loose = LineGroup("", None, one.ranks, one.contended, waits, frozenset(waits), *_summed(waits))
        found.append(loose if one.containers & known and one.type not in known else one)
    return tuple(found)


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
    owner = next((one for one in objects if one.start == member.begin and _is_known(one)), None)
    return (_type(owner), member.top) if owner else NO_MEMBER


def member_changes(
    before: LineGroup | None, after: LineGroup | None, looked: Exposure, *, by_function: bool = False
) -> list[MemberChange]:
    """Every member that anybody waited for, most samples first; functions where a side does not know the member.

    ``by_function`` compares functions throughout: one side does not know the object at all.
    """
    old, new = (_rows(group, by_function) if group else {} for group in (before, after))
    found = [_member_change(row, old.get(row, NOTHING), new.get(row, NOTHING), looked) for row in {**old, **new}]
    changes = [
        _with_member(one, before, after) if by_function else _doubted(one, before, after)
        for one in found
        if one.functions
    ]
    return sorted(changes, key=lambda one: (-max(one.change.before, one.change.after), one.type, one.member))


def change_of(before: int, after: int, looked: Exposure) -> Change:
    """A change of counts with what it means."""
    counted = ratio_of(before, after, looked.before, looked.after, Z)
    middle = (after * looked.before) / (before * looked.after) if before else 0.0
    ratio = widened(counted, middle, looked.scatter, Z)
    if ratio.least <= 1 <= ratio.most:
        fate = Fate.STAYED if before and after else Fate.UNCLEAR
    elif not before or not after:
        fate = Fate.NEW if after else Fate.VANISHED
    else:
        fate = Fate.FELL if ratio.most < 1 else Fate.ROSE
    return Change(before, after, ratio, fate)


def _rows(group: LineGroup, by_function: bool) -> dict[_Row, Counter[str]]:
    """Samples by function of each member; where no member is known each function has a row of its own."""
    rows: dict[_Row, Counter[str]] = {}
    for key, counts in group.waits.items():
        for function, count in counts.items():
            row = ("", "", function) if by_function or key == NO_MEMBER else (*key, "")
            rows.setdefault(row, Counter())[function] += count
    return rows


def _member_change(row: _Row, before: Counter[str], after: Counter[str], looked: Exposure) -> MemberChange:
    waited = [{name for name, count in counts.items() if count} for counts in (before, after)]
    change = change_of(before.total(), after.total(), looked)
    if row[2] == NAMELESS and change.fate in (Fate.VANISHED, Fate.NEW):
        change = replace(change, fate=Fate.UNSEEN)
    functions = _most(before if change.before else after, waited[0] | waited[1])
    gone, come = _most(before, waited[0] - waited[1]), _most(after, waited[1] - waited[0])
    return MemberChange(row[0], row[1], change, functions, gone, come)


def _most(counts: Counter[str], names: set[str]) -> tuple[str, ...]:
    return tuple(name for name, count in counts.most_common() if count and name in names)[:MOST_FUNCTIONS]


def _with_member(one: MemberChange, before: LineGroup | None, after: LineGroup | None) -> MemberChange:
    """A function with the member that it waits for most, as the side has it that knows."""
    function, known = one.functions[0], NO_MEMBER
    for group in (before, after):
        counts = Counter({key: waits[function] for key, waits in group.waits.items()} if group else {})
        keys = (key for key, count in counts.most_common() if count and key != NO_MEMBER)
        known = known if known != NO_MEMBER else next(keys, NO_MEMBER)
    return replace(one, type=known[0], member=known[1])


def _doubted(one: MemberChange, before: LineGroup | None, after: LineGroup | None) -> MemberChange:
    """Nothing vanished or is new for sure whose functions the other side has where it knows no object."""
    other = {Fate.VANISHED: after, Fate.NEW: before}.get(one.change.fate)
    unknown = other.waits.get(NO_MEMBER, NOTHING) if other else NOTHING
    if not one.member or not any(unknown[function] for function in one.functions):
        return one
    return replace(one, change=replace(one.change, fate=Fate.UNSEEN))
