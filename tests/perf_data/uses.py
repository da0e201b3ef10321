# SPDX-License-Identifier: GPL-2.0-or-later
"""How functions use the members of objects, as the access map has it, made into touches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from perf_data.hardware import Served
from perf_data.image import Image
from perf_data.records import Mode
from perf_data.scenario import Place, Task, Touch

from linesmith.analyzer.model import AccessKind

READ, WRITE, UPDATE, ATOMIC = AccessKind.READ, AccessKind.WRITE, AccessKind.READ_WRITE, AccessKind.ATOMIC

# How loads and stores of contended members are served; of memory that one CPU has for itself; of memory seldom used.
CONTENDED: Mapping[Served, float] = {
    Served.MODIFIED_HERE: 25, Served.MODIFIED_AWAY: 35, Served.L3: 15, Served.L1: 15, Served.CLEAN_AWAY: 10,
}  # fmt: skip
CONTENDED_STORES: Mapping[Served, float] = {Served.STORE_HIT: 55, Served.STORE_MISS: 45}
QUIET: Mapping[Served, float] = {Served.L1: 90, Served.L2: 8, Served.L3: 2}
QUIET_STORES: Mapping[Served, float] = {Served.STORE_HIT: 98, Served.STORE_MISS: 2}
FROM_MEMORY: Mapping[Served, float] = {Served.L1: 50, Served.RAM: 35, Served.RAM_AWAY: 15}


@dataclass(frozen=True, slots=True)
class Use:
    """A function that touches a member of an object, by the words of the access map.

    The code knows the member as ``path`` of ``via``, which lies at ``at`` in the object (``""``: it is the object).
    """

    share: float
    function: str
    via: str
    path: str
    at: str
    kinds: tuple[AccessKind, ...]


@dataclass(frozen=True, slots=True)
class Objects:
    """Objects of one type, the threads that use them, and on which CPUs; ``name`` ``""`` is a bare global.

    ``owned`` says that each is used by one thread on one CPU, the one of its number.
    """

    name: str
    places: tuple[Place, ...]
    cpus: tuple[int, ...]
    tasks: tuple[Task, ...]
    mode: Mode = Mode.KERNEL
    owned: bool = False


def contended(image: Image, use: Use, objects: Objects) -> Iterator[Touch]:
    """One use as touches, one for each byte that it begins at; loads and stores of an update are apart."""
    found = image.touching(use.function, f"struct {use.via}", use.path, use.kinds)
    base = image.offset(objects.name, use.at) if use.at else 0
    for offset, kind in sorted({(one.offset or 0, one.kind) for one in found}):
        here = tuple(one.address + image.slide for one in found if one.offset == offset and one.kind is kind)
        share = use.share * len(here) / len(found)
        places = tuple(one.plus(base + offset) for one in objects.places)
        load = replace(_touch(use, objects, here, places), atomic=kind is ATOMIC)
        load = replace(load, share=share / 2 if kind in (ATOMIC, UPDATE) else share)
        if kind is not WRITE:
            yield load
        if kind is not READ:
            yield replace(load, served=CONTENDED_STORES)


def alone(image: Image, use: Use, objects: Objects, served: Mapping[Served, float]) -> Touch:
    """One use of memory that belongs to one CPU each; the places lie where the member is."""
    found = image.touching(use.function, f"struct {use.via}", use.path, use.kinds)
    code = tuple(one.address + image.slide for one in found)
    touch = replace(_touch(use, objects, code, objects.places), served=served, skewed=False)
    return touch if objects.name else replace(touch, member="")


def _touch(use: Use, objects: Objects, code: tuple[int, ...], places: tuple[Place, ...]) -> Touch:
    """Contended loads of the whole use."""
    member = f"{use.at}.{use.path}".strip(".")
    named = objects.name, member, use.function, code, places, use.share, CONTENDED
    return Touch(*named, objects.cpus, objects.tasks, owner=objects.owned, mode=objects.mode)
