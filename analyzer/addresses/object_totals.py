# SPDX-License-Identifier: GPL-2.0-or-later
"""What a whole recording is about: contended accesses added up by slab cache and variable.

A type of which thousands of objects live (``vm_area_struct``, ``page``) never has a hot line, and may still be what
most CPUs meet on.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from linesmith.analyzer.addresses.object_map import ObjectMap
from linesmith.analyzer.model import Access, ObjectKind, Profile, SharedLine


@dataclass(frozen=True, slots=True)
class ObjectTotal:
    """All objects of one slab cache, or one variable; ``share`` is of all contended accesses of the profile.

    ``types`` are the record types that the snapshot gives them; ``kind`` is empty where it knows nothing.
    """

    kind: ObjectKind | None
    name: str
    types: tuple[str, ...]
    lines: int
    contended: int
    share: float


_Key = tuple[ObjectKind | None, str, tuple[str, ...]]


def object_totals(profile: Profile) -> tuple[ObjectTotal, ...]:
    """One total for each cache or variable met, most contended first; lines set apart are left out."""
    known = ObjectMap(profile.areas)
    contended: Counter[_Key] = Counter()
    lines: Counter[_Key] = Counter()
    for line in profile.lines:
        if not line.apart:
            met = _of_line(line, known)
            contended.update(met)
            lines.update(met.keys())
    total = sum(line.contended for line in profile.lines) or 1
    found = (ObjectTotal(*key, lines[key], count, count / total) for key, count in contended.items())
    return tuple(sorted(found, key=lambda one: (-one.contended, one.name)))


def _of_line(line: SharedLine, known: ObjectMap) -> Counter[_Key]:
    met: Counter[_Key] = Counter()
    for access in line.accesses:
        if access.contended:
            met[_key(access, line, known)] += access.contended
    return met


def _key(access: Access, line: SharedLine, known: ObjectMap) -> _Key:
    if line.address is None or access.offset is None:
        return None, "", ()
    place = known.at(line.address + access.offset)
    return (None, "", ()) if place is None else (place.area.kind, place.area.name, place.area.types)
