# SPDX-License-Identifier: GPL-2.0-or-later
"""A cache whose request is known from the kernel's source."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Flag, auto

Release = tuple[int, int]


class CacheFlags(Flag):
    """What decides where objects begin. ``OWN_ALIGNMENT``: that of the record; ``GROWS``: larger than the record."""

    NONE = 0
    OWN_ALIGNMENT = auto()
    SIZE_ALIGNMENT = auto()
    LINE_ALIGNMENT = auto()
    HWCACHE_ALIGN = auto()
    TYPESAFE_BY_RCU = auto()
    CONSTRUCTOR = auto()
    INNER_FREE_POINTER = auto()
    GROWS = auto()


@dataclass(frozen=True, slots=True)
class KnownCache:
    """The cache ``name`` of objects of ``record``, made by ``function`` from release ``since`` to before ``until``."""

    record: str
    name: str
    function: str
    flags: CacheFlags
    since: Release = (0, 0)
    until: Release = (99, 0)


def made_by(function: str, flags: CacheFlags, *caches: str) -> Iterable[KnownCache]:
    """Caches that one function makes alike: ``record:name``, or ``record`` where both are one word."""
    for cache in caches:
        record, _, name = cache.partition(":")
        yield KnownCache(record, name or record, function, flags)
