# SPDX-License-Identifier: GPL-2.0-or-later
"""The locks of a record, each with the members that it probably protects: those named alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from linesmith.analyzer.attribution.lock import purpose, words_of
from linesmith.analyzer.geometry import Named, nameable
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Layout
from linesmith.analyzer.rules.watched import locks

# A word in more of the members' names than this share of them, and than so many, tells nothing: i_ of an inode.
COMMON_SHARE = 1 / 3
COMMON_LEAST = 4


@dataclass(frozen=True, slots=True)
class LockData:
    """A lock and the ``data`` it probably protects, by place; none where names do not tell."""

    lock: Named
    data: tuple[Named, ...]


def locks_with_data(layout: Layout, layouts: Layouts) -> dict[str, LockData]:
    """The locks of the record by name; none of a record that is a lock itself."""
    found = tuple(locks(layout, layouts))
    others = (one for one in nameable(layout, layouts) if one.span.size) if found else ()
    words = {one: words_of(one.path) for one in others}
    return {lock.path: LockData(lock, _named_alike(lock, found, words)) for lock in found}


def _named_alike(lock: Named, others: Sequence[Named], words: Mapping[Named, frozenset[str]]) -> tuple[Named, ...]:
    """Members whose names hold all words that say what the lock is for."""
    stem = purpose(lock.path)
    common = max(COMMON_LEAST, COMMON_SHARE * len(words))
    if not any(len(word) > 1 and sum(word in name for name in words.values()) <= common for word in stem):
        return ()
    alike = (one for one, name in words.items() if stem <= name and one not in others)
    return tuple(sorted(alike, key=lambda one: (one.offset, one.path)))
