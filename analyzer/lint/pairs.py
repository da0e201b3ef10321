# SPDX-License-Identifier: GPL-2.0-or-later
"""The records of two builds that are worth a look: those that differ, and those that somebody asks for."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from linesmith.analyzer.diff import changes, paired
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Layout
from linesmith.analyzer.selection import select, select_both
from linesmith.analyzer.store import IndexedLayouts

Pair = tuple[Layout | None, Layout | None]


@dataclass(frozen=True, slots=True)
class Pairs:
    """``pairs`` to look at; ``compared`` counts layouts of the new build, ``changed`` those of them that differ."""

    pairs: tuple[Pair, ...]
    compared: int
    changed: int = 0


def of_one(new: Layouts, types: tuple[str, ...]) -> Pairs:
    """Every record of one build that has a name, if only by a typedef, or those of ``types``.

    Raises ``TypeNotFound`` for one that is not there.
    """
    layouts = select(new, types) if types else tuple(one for name in new.names() for one in new.variants(name))
    return Pairs(tuple((None, one) for one in layouts), len(layouts))


def of_two(old: Layouts, new: Layouts, types: tuple[str, ...], asked_for: Collection[str] = ()) -> Pairs:
    """Pairs of records that differ between two builds, and those called ``asked_for`` even where they do not.

    With ``types`` these records alone are looked at, changed or not; raises ``TypeNotFound`` for one that neither build
    has. Records that two indices tell to be alike are never decoded.
    """
    if types:
        pairs = tuple(paired(*select_both(old, new, types)))
        return Pairs(pairs, len(pairs), sum(_differ(pair, old, new) for pair in pairs))
    names = new.names()
    differing = {name for name in names if _digests(old, name) != _digests(new, name) or not _digests(new, name)}
    looked_at = sorted(differing.union(asked_for))
    found = {name: tuple(paired(old.variants(name), new.variants(name))) for name in looked_at}
    changed = sum(_differ(pair, old, new) for name in differing for pair in found[name])
    compared = sum(_count(new, name) for name in names)
    return Pairs(tuple(pair for pairs in found.values() for pair in pairs), compared, changed)


def _digests(layouts: Layouts, name: str) -> list[bytes]:
    """Of every layout called so, sorted; none where the layouts come from no index."""
    if not isinstance(layouts, IndexedLayouts):
        return []
    return sorted(layouts.digest(one) for one in layouts.head.names.get(name, ()))


def _count(layouts: Layouts, name: str) -> int:
    """Of the layouts called so, none of which need be decoded where there is an index."""
    return len(_digests(layouts, name)) or len(layouts.variants(name))


def _differ(pair: Pair, old: Layouts, new: Layouts) -> bool:
    """Whether both builds have the record, and not alike."""
    before, after = pair
    if before is None or after is None:
        return False
    if isinstance(old, IndexedLayouts) and isinstance(new, IndexedLayouts):
        return old.digest(before.id) != new.digest(after.id)
    return bool(changes(old, new, iter([pair])))
