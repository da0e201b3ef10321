# SPDX-License-Identifier: GPL-2.0-or-later
"""Records that only got another name: what guarded them is to go on guarding them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from linesmith.analyzer.geometry import nameable
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.lint.pairs import Pair
from linesmith.analyzer.model import Layout

# A record of fewer members is like too many others.
_LEAST_ALIKE = 4
# So many pairs of records are compared; a change that gives thousands of records other names is not followed.
_MOST_COMPARED = 1 << 20
# Of all members of both so many must be alike, by name and type, for one to be the other.
_ALIKE = 0.75

Described = frozenset[tuple[str, str]]
Like = Callable[[Layout, Layout], int]


@dataclass(frozen=True, slots=True)
class Renamed:
    """``old``, whose name is gone, is taken for ``new``, whose name is new and which has ``alike`` of its members."""

    old: Layout
    new: Layout
    alike: int
    among: int

    @property
    def told(self) -> str:
        """``struct session, which is new, has 11 of its 12 members``."""
        return f"{self.new.title}, which is new, has {self.alike} of its {self.among} members"


def renamed(
    pairs: Sequence[Pair], sides: tuple[Layouts, Layouts], matters: Callable[[Layout], bool]
) -> tuple[Renamed, ...]:
    """Of the old records without a partner those that ``matters`` says, each with the one new record that is like it.

    Where a second record of either build is like it at all, nothing is taken for a renaming; nor are names in both.
    """
    old, new = sides
    gone = [one for one, other in pairs if one and not other and not new.variants(one.name)]
    fresh = [one for other, one in pairs if one and not other and not old.variants(one.name)]
    described = lru_cache(maxsize=None)(lambda build, layout: _members(layout, sides[build]))

    def like(one: Layout, other: Layout) -> int:
        return _alike(described(0, one), described(1, other), (one, other))

    looked_at = islice(filter(matters, gone), _MOST_COMPARED // max(len(fresh), len(gone), 1))
    found = (_one(one, (gone, fresh), like) for one in looked_at)
    return tuple(Renamed(*each, like(*each), len(described(0, each[0]))) for each in found if each)


def _one(one: Layout, builds: tuple[Sequence[Layout], Sequence[Layout]], like: Like) -> tuple[Layout, Layout] | None:
    """A record and the only one that is like it, and like no other."""
    gone, fresh = builds
    found = [other for other in _near(one, fresh) if like(one, other)]
    if len(found) != 1 or any(like(each, found[0]) for each in _near(found[0], gone) if each is not one):
        return None
    return one, found[0]


def joined(pairs: Iterable[Pair], found: Sequence[Renamed]) -> tuple[Pair, ...]:
    """The pairs, those of what is ``found`` being one instead of two without a partner."""
    partners = {one.new.id: one.old for one in found}
    parted = {one.old.id for one in found}
    kept = ((old, new) for old, new in pairs if new or not old or old.id not in parted)
    return tuple((partners.get(new.id), new) if new and not old else (old, new) for old, new in kept)


def _members(layout: Layout, layouts: Layouts) -> Described:
    """The members that C code can name, each with its type."""
    return frozenset((one.path, one.member.type) for one in nameable(layout, layouts))


def _near(one: Layout, others: Collection[Layout]) -> Iterator[Layout]:
    """Those of the same kind, and half of whose own members are called alike; to see that takes no look inside."""
    names = {member.name for member in one.members}
    for other in others:
        theirs = {member.name for member in other.members}
        if other.kind is one.kind and 2 * len(names & theirs) >= len(names | theirs):
            yield other


def _alike(mine: Described, theirs: Described, records: tuple[Layout, Layout]) -> int:
    """How many members both have, 0 for too few; a pointer to the record's own kind got another name with it."""
    old, new = records
    own = re.compile(rf"\b{re.escape(old.title)}\b")
    common = len({(name, own.sub(lambda _: new.title, type_)) for name, type_ in mine} & theirs)
    enough = common >= _LEAST_ALIKE and common >= _ALIKE * (len(mine) + len(theirs) - common)
    return common if enough else 0
