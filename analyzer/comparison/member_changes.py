# SPDX-License-Identifier: GPL-2.0-or-later
"""What became of each member between two groups of lines, and of each function where the member is not known."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from linesmith.analyzer.comparison.line_groups import NAMELESS, NO_MEMBER, Key, LineGroup
from linesmith.analyzer.model import Change, Exposure, Fate, MemberChange
from linesmith.analyzer.sharing.interval import ratio_of, widened

# Two-sided 99 % of the normal distribution: many members are compared at once.
Z = 2.575829
MOST_FUNCTIONS = 6
NOTHING: Counter[str] = Counter()

# A member's type and name, or a function where they are not known.
_Row = tuple[str, str, str]


def member_changes(
    before: LineGroup | None, after: LineGroup | None, looked: Exposure, *, by_function: bool = False
) -> list[MemberChange]:
    """Every member that anybody waited for, most samples first; functions where a side does not know the member.

    ``by_function`` compares functions throughout: one side does not know the object at all.
    """
    old, new = (_rows(group, by_function) if group else {} for group in (before, after))
    found = [_member_change(row, old.get(row, NOTHING), new.get(row, NOTHING), looked) for row in {**old, **new}]
    told = [
        _named(one, before, after) if by_function else _doubted(one, before, after) for one in found if one.functions
    ]
    return sorted(told, key=lambda one: (-max(one.change.before, one.change.after), one.type, one.member))


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


def _named(one: MemberChange, before: LineGroup | None, after: LineGroup | None) -> MemberChange:
    """A function with the member that it waits for, as the side has it that knows."""
    keys = [key for group in (before, after) if group for key in _members_of(one.functions[0], group)]
    known = next((key for key in keys if key != NO_MEMBER), NO_MEMBER)
    return replace(one, type=known[0], member=known[1])


def _members_of(function: str, group: LineGroup) -> list[Key]:
    """The members that a function waits for, most samples first."""
    counts = Counter({key: waits[function] for key, waits in group.waits.items() if waits[function]})
    return [key for key, _ in counts.most_common()]


def _doubted(one: MemberChange, before: LineGroup | None, after: LineGroup | None) -> MemberChange:
    """Nothing vanished or is new for sure whose functions the other side has where it knows no object."""
    other = {Fate.VANISHED: after, Fate.NEW: before}.get(one.change.fate)
    unknown = other.waits.get(NO_MEMBER, NOTHING) if other else NOTHING
    if not one.member or not any(unknown[function] for function in one.functions):
        return one
    return replace(one, change=replace(one.change, fate=Fate.UNSEEN))
