# SPDX-License-Identifier: GPL-2.0-or-later
"""What a source parted by lines, and whether it still is: members alone on a line, and walls or padding between some.

A wall is where a member begins that asks for a line, where one ends whose record does, and an empty member aligned to
a line (CACHELINE_PADDING()). A member that no longer asks for its line is for ``alignment-lost`` to tell.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from linesmith.analyzer.geometry import Named, lines_touched, nameable
from linesmith.analyzer.geometry.naming import MOST_MEMBERS
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import CACHE_LINE_BYTES, Layout, Member
from linesmith.analyzer.rules.beside import Beside, beside
from linesmith.analyzer.rules.pads import pads
from linesmith.analyzer.rules.rule import Side, Subject
from linesmith.analyzer.rules.starts import Starts

_LEVELS = 16


@dataclass(frozen=True, slots=True)
class Joined:
    """Members that were kept apart ``by`` something and can meet now; ``alone``: the first had a line to itself."""

    found: Beside
    alone: bool
    by: str = "alignment"


def joined(subject: Subject) -> Iterator[Joined]:
    """Members of both builds that were parted in the old one and are not in the new one."""
    if subject.old is None or subject.base is None:
        return
    before = _Version(subject.old, subject.base)
    after = _Version(subject.new, subject.head)
    now = after.members()
    fallen = {wall for wall, owners in before.walls().items() if not _stand(owners, now)}
    kept = {0} if _is_aligned(subject.old) and _is_aligned(subject.new) else set()
    both = _both(before, after, now)
    parted = tuple(_meeting(both, set(before.walls()) - fallen | kept, fallen))
    yield from parted
    yield from _over_pads(both, {name for one in parted for name in (one.found.member.path, *one.found.others)})


def newly_parted(subject: Subject) -> Iterator[Joined]:
    """Members of both builds that alignment parts in the new one, and that could meet in the old one."""
    if subject.old is None or subject.base is None:
        return
    was, now = _Version(subject.old, subject.base), _Version(subject.new, subject.head)
    walls = set(now.walls()) | ({0} if _is_aligned(subject.new) else set())
    left = now.members()
    met = {path: one for path, one in was.members().items() if path in left}
    yield from _meeting(_both(now, was, met), walls, set())


@dataclass(frozen=True, slots=True)
class _Version:
    """A record in one of the builds."""

    layout: Layout
    side: Side

    def members(self) -> dict[str, Named]:
        """Those that have bytes, by path."""
        return {one.path: one for one in nameable(self.layout, self.side.layouts) if one.span.size}

    def walls(self) -> dict[int, set[str]]:
        """Offsets at which lines are parted, each with the members that ask for it, ``""`` for no named member."""
        found: dict[int, set[str]] = {}
        for wall, owner in islice(_asked(self.layout, self.side.layouts, 0, _LEVELS), MOST_MEMBERS):
            found.setdefault(wall, set()).add(owner)
        return found


def _meeting(both: _Both, walls: set[int], fallen: set[int]) -> Iterator[Joined]:
    """Members that ``walls`` keep apart in the one version and that can meet in the other."""
    told: set[str] = set()
    for one in _alone(tuple(both.before.values()), walls, fallen):
        found = both.newly_beside(one.path, both.now.values()) if one.path in both.now else None
        if found is not None and not told.issuperset(found.others):
            told.add(one.path)
            yield Joined(found, alone=True)
    for wall in sorted(walls - {0}):
        yield from _through(wall, both, told)


@dataclass(frozen=True, slots=True)
class _Both:
    """The members of a version that parts them (``before``) and of one in which they can meet (``now``), by path."""

    parted: _Version
    before: dict[str, Named]
    now: dict[str, Named]
    every: tuple[Starts, ...]

    def newly_beside(self, path: str, others: Collection[Named]) -> Beside | None:
        """Those that the member can meet and could not: a wall parts nothing in objects that begin off a line."""
        found = beside(self.now[path], others, self.every)
        if found is None:
            return None
        known = beside(self.before[path], self.before.values(), self.parted.side.starts.of(self.parted.layout))
        new = set(found.others).difference(() if known is None else known.others)
        return beside(self.now[path], (one for one in others if one.path in new), self.every)


def _both(parted: _Version, met: _Version, members: dict[str, Named]) -> _Both:
    """The two versions, with ``members`` of the one that lets them meet."""
    return _Both(parted, parted.members(), members, met.side.starts.of(met.layout))


def _is_aligned(layout: Layout) -> bool:
    """Whether objects begin at lines because somebody asked for it, not for the data behind them."""
    asked = layout.alignment or 0
    return asked >= CACHE_LINE_BYTES and not any(
        asked == one.alignment for one in layout.members if _is_data(one, layout)
    )


def _is_data(member: Member, layout: Layout) -> bool:
    """Whether it is an array of open length that ends the record: a device wants its alignment (ARCH_DMA_MINALIGN)."""
    return member is layout.members[-1] and not member.size and member.record is None


def _stand(owners: set[str], now: dict[str, Named]) -> bool:
    aligned = (now[one].member.alignment or 0 for one in owners if one in now)
    return "" in owners or any(one >= CACHE_LINE_BYTES for one in aligned)


def _asked(layout: Layout, layouts: Layouts, base: int, levels: int) -> Iterator[tuple[int, str]]:
    for member in layout.members:
        start, inner = base + member.offset, layouts.by_id(member.record) if member.record is not None else None
        if _is_data(member, layout):
            continue
        if (member.alignment or 0) >= CACHE_LINE_BYTES and start % CACHE_LINE_BYTES == 0:
            yield start, member.name if member.size else ""
            if inner is not None and (inner.alignment or 0) >= CACHE_LINE_BYTES:
                yield start + member.size, member.name
        if inner is not None and not member.name and levels:
            yield from _asked(inner, layouts, start, levels - 1)


def _alone(members: Sequence[Named], walls: set[int], fallen: set[int]) -> Iterator[Named]:
    """Members between walls that stand, or a wall and the end, that share their lines, not all full, with no other."""
    for one in members:
        mine = lines_touched(one.offset, one.span.size)
        behind = min((wall for wall in walls | fallen if wall >= one.end), default=-1)
        parted = one.offset in walls and behind not in fallen and one.span.size % CACHE_LINE_BYTES
        if parted and not any(other is not one and _share(mine, other) for other in members):
            yield one


def _share(mine: range, other: Named) -> bool:
    theirs = lines_touched(other.offset, other.span.size)
    return max(mine.start, theirs.start) < min(mine.stop, theirs.stop)


def _through(wall: int, both: _Both, told: set[str]) -> Iterator[Joined]:
    """The members of the line before the wall that now meet members of the line behind it."""
    last, first = wall // CACHE_LINE_BYTES - 1, wall // CACHE_LINE_BYTES
    common = [one for one in both.before.values() if one.path in both.now]
    left = [both.now[one.path] for one in common if one.end <= wall and last in _lines(one)]
    right = [one.path for one in common if one.offset >= wall and first in _lines(one)]
    for path in right:
        found = None if path in told else both.newly_beside(path, left)
        if found is not None and told.isdisjoint(found.others):
            told.add(path)
            yield Joined(found, alone=False)
            return


def _over_pads(both: _Both, told: set[str]) -> Iterator[Joined]:
    """The members around a padding that now can meet, but those that are ``told`` already."""
    padding = {one.name for one in pads(both.parted.layout)}
    common = [one for one in both.before.values() if one.path in both.now and one.path not in padding]
    for pad in pads(both.parted.layout):
        left = [both.now[one.path] for one in common if pad.offset - CACHE_LINE_BYTES < one.end <= pad.offset]
        right = [one.path for one in common if pad.end <= one.offset < pad.end + CACHE_LINE_BYTES]
        met = (found for path in right if path not in told and (found := both.newly_beside(path, left)))
        first = next((found for found in met if told.isdisjoint(found.others)), None)
        if first is not None:
            told.add(first.member.path)
            yield Joined(first, alone=False, by=pad.name)


def _lines(one: Named) -> range:
    return lines_touched(one.offset, one.span.size)
