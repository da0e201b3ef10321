# SPDX-License-Identifier: GPL-2.0-or-later
"""Plans: where the objects of a scene and their bytes go under a candidate, for the replayer.

A slab cache whose objects change their size is filled anew: objects in their old order, as many per slab as the old
slab's bytes hold, the first at its beginning. So the mix of phases follows from the new stride.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from math import gcd

from linesmith.analyzer.base.errors import NotSimulated
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.placement import round_up
from linesmith.analyzer.model import CACHE_LINE_BYTES, Layout
from linesmith.tuner.replay.scene import MovedBytes, Relocation, SceneKind, TraceScene, relocation

PAGE_BYTES = 4096
# Sizes that kmalloc hands out; behind the last, powers of two go on. Source: include/linux/slab.h, kmalloc_info.
_KMALLOC_ODD = (96, 192)


@dataclass(frozen=True, slots=True)
class SlabPlacement:
    """New memory for a kind: slabs of ``slab_bytes``, ``per_slab`` objects each ``stride`` apart, from ``first`` on."""

    stride: int
    per_slab: int
    slab_bytes: int
    first: int = 0


@dataclass(frozen=True, slots=True)
class KindPlan:
    """What happens to the objects of one kind; without a placement they stay at their addresses.

    Bytes behind the last piece move by ``tail``. All objects are then moved by ``shift`` bytes, fewer than 256.
    """

    pieces: tuple[MovedBytes, ...] = ()
    tail: int = 0
    placement: SlabPlacement | None = None
    shift: int = 0


class ShardBy(StrEnum):
    """What decides which shard a CPU uses: its number, or that of its node, modulo the number of shards."""

    CPU = "cpu"
    NODE = "node"


@dataclass(frozen=True, slots=True)
class Sharding:
    """``members`` of the scene's record, a lock and what it protects, ``ways`` times, each set aligned to a line.

    ``spans`` are bytes of the record (offset, size) that go along: members of its anonymous records.

    Instructions at ``everywhere`` (ranges of code addresses, for example of functions that walk all of it) go
    through every shard; all others through one, which makes the answer a best case.
    """

    members: tuple[str, ...]
    ways: int
    by: ShardBy = ShardBy.CPU
    alignment: int = CACHE_LINE_BYTES
    everywhere: tuple[range, ...] = ()
    spans: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class ReplayPlan:
    """One plan for each kind of a scene, in order; a sharding may come on top."""

    kinds: tuple[KindPlan, ...]
    sharding: Sharding | None = None


def unchanged(scene: TraceScene) -> ReplayPlan:
    """The plan that leaves everything where the trace found it."""
    return ReplayPlan(tuple(KindPlan() for _ in scene.kinds))


def relaid(scene: TraceScene, after: Mapping[int, Layout], layouts: Layouts) -> ReplayPlan:
    """The plan under which each record whose id is a key of ``after`` has that layout.

    Raises ``NotSimulated`` where an object cannot have it.
    """
    outers = {kind.outer.id: kind.outer for kind in scene.kinds}
    moved = {number: relocation(outer, layouts, after) for number, outer in outers.items()}
    return ReplayPlan(tuple(_of_kind(kind, moved[kind.outer.id]) for kind in scene.kinds))


def aligned(scene: TraceScene, stride: int) -> ReplayPlan:
    """The plan under which objects of slab caches begin at multiples of ``stride`` bytes: another mix of phases.

    Raises ``NotSimulated`` where an object is larger than that.
    """
    if any(kind.outer.size > stride for kind in scene.kinds if kind.slab):
        raise NotSimulated(f"objects do not fit {stride} bytes; give a larger stride")
    return ReplayPlan(
        tuple(KindPlan(placement=_slabs(kind, stride)) if kind.slab else KindPlan() for kind in scene.kinds)
    )


def in_all_phases(plan: ReplayPlan, scene: TraceScene) -> tuple[ReplayPlan, ...]:
    """The plan with slab objects shifted to each phase that their stride lets an object have, neighbours kept.

    Which phase a hot object has is the allocator's choice at boot. A single plan where strides leave no choice.
    """
    pairs = tuple(zip(plan.kinds, scene.kinds, strict=True))
    strides = [kind.placement.stride if kind.placement else old.stride for kind, old in pairs if old.slab]
    step = min((gcd(stride, CACHE_LINE_BYTES) for stride in strides), default=CACHE_LINE_BYTES)
    return tuple(_shifted(plan, scene, shift) for shift in range(0, CACHE_LINE_BYTES, step))


def _shifted(plan: ReplayPlan, scene: TraceScene, shift: int) -> ReplayPlan:
    """Each slab kind moved by the multiple of its own step that is next to ``shift``."""
    kinds = []
    for kind, old in zip(plan.kinds, scene.kinds, strict=True):
        step = gcd(kind.placement.stride if kind.placement else old.stride, CACHE_LINE_BYTES)
        kinds.append(replace(kind, shift=shift // step * step) if old.slab else kind)
    return replace(plan, kinds=tuple(kinds))


def _of_kind(kind: SceneKind, moved: Relocation) -> KindPlan:
    if moved.stays:
        return KindPlan()
    placement = None
    if not moved.fits and kind.slab:
        placement = _slabs(kind, _slab_stride(kind, moved))
    elif not moved.fits:
        stride = round_up(moved.new_size, moved.new_alignment)
        phase = round_up(kind.areas[0].address % PAGE_BYTES, moved.new_alignment)
        count = sum(area.count for area in kind.areas)
        placement = SlabPlacement(stride, count, round_up(phase + stride * count, PAGE_BYTES), phase)
    return KindPlan(moved.pieces, moved.new_size - moved.old_size, placement)


def _slabs(kind: SceneKind, stride: int) -> SlabPlacement:
    """Slabs of the size they have, or of as many whole pages as one object needs."""
    used = max(area.stride * area.count for area in kind.areas)
    slab = _power(max(used, stride, PAGE_BYTES))
    return SlabPlacement(stride, slab // stride, slab)


def _slab_stride(kind: SceneKind, moved: Relocation) -> int:
    """Bytes between objects of the new size, with what the cache adds to them and aligns them to now."""
    if kind.name.startswith("kmalloc"):
        return min([_power(max(moved.new_size, 8)), *(odd for odd in _KMALLOC_ODD if odd >= moved.new_size)])
    granule = min(kind.stride & -kind.stride, CACHE_LINE_BYTES)
    added = kind.stride - moved.old_size
    if granule == CACHE_LINE_BYTES:
        added -= added % granule
    return round_up(moved.new_size + added, max(granule, moved.new_alignment))


def _power(value: int) -> int:
    """The smallest power of two that is not below ``value``."""
    return 1 << (value - 1).bit_length()
