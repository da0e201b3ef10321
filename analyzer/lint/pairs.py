# SPDX-License-Identifier: GPL-2.0-or-later
"""The records of two builds that are worth a look: those that differ, and those that somebody asks for.

``located`` turns places of a compiler into places of a tree, so that they can be shown beside the source.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from posixpath import normpath

from linesmith.analyzer.base.errors import TypeNotFound
from linesmith.analyzer.layouts.collection import Layouts, select, select_both
from linesmith.analyzer.layouts.diff import changes, paired
from linesmith.analyzer.layouts.store import IndexedLayouts
from linesmith.analyzer.lint.tuned import is_restated
from linesmith.analyzer.model import Layout, LintReport, Violation

Pair = tuple[Layout | None, Layout | None]

_NOTHING_IN_COMMON = (
    "the build with the change has none of the records of the base; give two builds of the same sources"
)


@dataclass(frozen=True, slots=True)
class RecordPairs:
    """``pairs`` to look at; ``compared`` counts layouts of the new build, ``changed`` those of them that differ."""

    pairs: tuple[Pair, ...]
    compared: int
    changed: int = 0


def of_one(new: Layouts, types: tuple[str, ...]) -> RecordPairs:
    """Every record of one build that has a name, if only by a typedef, or those of ``types``.

    What Rust states of C's records is only looked at where it is named. Raises ``TypeNotFound`` for one that is not
    there.
    """
    layouts = select(new, types) if types else tuple(one for name in new.names() for one in new.variants(name))
    pairs: Iterator[Pair] = ((None, one) for one in layouts)
    return RecordPairs(tuple(pairs) if types else _own(pairs, new, new), len(layouts))


def of_two(old: Layouts, new: Layouts, types: tuple[str, ...], asked_for: Collection[str] = ()) -> RecordPairs:
    """Pairs of records that differ between two builds, and those called ``asked_for`` even where they do not.

    With ``types`` these records alone are looked at, changed or not. A record whose name is gone has no partner.
    Records that two indices tell to be alike are never decoded. Raises ``TypeNotFound`` for a type that neither build
    has, and where the builds have no record in common.
    """
    if types:
        pairs = tuple(paired(*select_both(old, new, types)))
        return RecordPairs(pairs, len(pairs), sum(_differ(pair, old, new) for pair in pairs))
    names = new.names()
    gone = set(old.names()).difference(names)
    if gone and len(gone) == len(old.names()):
        raise TypeNotFound(_NOTHING_IN_COMMON)
    differing = set()
    for name in names:
        was, now = _digests(old, name), _digests(new, name)
        if not now or (was != now and sorted(was) != sorted(now)):  # in whatever order they come
            differing.add(name)
    looked_at = sorted(differing.union(asked_for) - gone)
    found = {name: tuple(_partners(old.variants(name), new.variants(name))) for name in looked_at}
    changed = sum(_differ(pair, old, new) for name in differing for pair in found[name])
    # Where there is an index, none need be decoded to be counted.
    by_name = new.head.names if isinstance(new, IndexedLayouts) else None
    compared = sum(len(new.variants(name) if by_name is None else by_name.get(name, ())) for name in names)
    lost = ((layout, None) for name in sorted(gone) for layout in old.variants(name))
    kept = (pair for pairs in found.values() for pair in pairs)
    return RecordPairs(_own((*kept, *lost), old, new), compared, changed)


def _own(pairs: Iterable[Pair], old: Layouts, new: Layouts) -> tuple[Pair, ...]:
    """Without the records that Rust states of C's."""
    return tuple(
        (before, after)
        for before, after in pairs
        if not (is_restated(after, new) if after else before and is_restated(before, old))
    )


def _partners(old: tuple[Layout, ...], new: tuple[Layout, ...]) -> Iterator[Pair]:
    """Pairs of the records of one name; a tag that became a typedef, or a struct that became a union, is the same."""
    pairs = tuple(paired(old, new))
    yield from (pair for pair in pairs if None not in pair)
    left = [before for before, after in pairs if before and not after]
    right = [after for before, after in pairs if after and not before]
    yield from zip_longest(left, right)


def _digests(layouts: Layouts, name: str) -> list[bytes]:
    """Of every layout called so; none where the layouts come from no index."""
    if not isinstance(layouts, IndexedLayouts):
        return []
    return [layouts.digest(one) for one in layouts.head.names.get(name, ())]


def _differ(pair: Pair, old: Layouts, new: Layouts) -> bool:
    """Whether both builds have the record, and not alike."""
    before, after = pair
    if before is None or after is None:
        return False
    if isinstance(old, IndexedLayouts) and isinstance(new, IndexedLayouts):
        return old.digest(before.id) != new.digest(after.id)
    return bool(changes(old, new, iter([pair])))


def located(report: LintReport, tree: Path) -> LintReport:
    """The report with each file named as it is in ``tree``; what is not there keeps the name it had.

    A build may have been made elsewhere, so the longest end of the path that names a file of the tree counts.
    """
    every = (*report.violations, *(one.violation for one in report.accepted))
    names = {one.file: _inside(one.file, tree) for one in every if one.file}

    def moved(one: Violation) -> Violation:
        return replace(one, file=names[one.file]) if one.file else one

    accepted = (replace(one, violation=moved(one.violation)) for one in report.accepted)
    return replace(
        report,
        violations=tuple(sorted(map(moved, report.violations), key=lambda one: one.order)),
        accepted=tuple(sorted(accepted, key=lambda one: one.violation.order)),
    )


def _inside(file: str, tree: Path) -> str:
    parts = [part for part in normpath(file).split("/") if part not in ("", "..", ".")]
    for first in range(len(parts)):
        end = "/".join(parts[first:])
        with suppress(OSError, ValueError):  # a name that no file can have
            if (tree / end).is_file():
                return end
    return file
