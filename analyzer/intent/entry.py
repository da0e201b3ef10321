# SPDX-License-Identifier: GPL-2.0-or-later
"""What a profile and a change that helped say should stay so: the intent of one record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from linesmith.analyzer.geometry.placement import round_up
from linesmith.analyzer.intent.parting import Parted, isolations
from linesmith.analyzer.intent.usage import told_path, usage
from linesmith.analyzer.intent.writing import one_line
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import (
    CACHE_LINE_BYTES,
    ConflictPair,
    Finding,
    Layout,
    MemberGroup,
    SizeBudget,
    SlabBasis,
    TypeIntent,
)
from linesmith.analyzer.sharing.triage import doubted
from linesmith.analyzer.slab import Kernel, own_cache

# A record may grow by this part of its size, rounded up to whole lines, before its budget tells.
MARGIN = 16
# Steps in which the largest size is looked for of which a slab holds as many.
WORD = 8
_MOST_PAIRS = 3
# Of the contention on the record's lines; less is no reason for its layout.
_LEAST_SHARE = 0.01


@dataclass(frozen=True, slots=True)
class Grounds:
    """What an intent rests on: ``lines`` whose first objects are of the record, and what became of the ``parted``.

    ``profile`` and ``change`` are told in the reason: the profile's name, and in a clause what parts the members and
    what was measured of it. ``kernel`` is ``None`` for a program. ``nominal`` tells that the profile has shares only.
    """

    layout: Layout
    layouts: Layouts
    lines: Sequence[Finding]
    profile: str
    parted: Sequence[Parted] = ()
    groups: Sequence[MemberGroup] = ()
    change: str = ""
    kernel: Kernel | None = None
    nominal: bool = False


def entry(grounds: Grounds, *, largest: int = 0) -> TypeIntent:
    """The intent of the record; ``largest`` is the size in bytes that a change gives it, where it grows."""
    seen = usage(grounds.lines, grounds.layout, grounds.layouts)
    return TypeIntent(
        record=grounds.layout.name,
        reason=one_line(_reason(grounds)),
        groups=tuple(grounds.groups),
        isolations=isolations(_named_apart(grounds)),
        budget=budget(grounds.layout, grounds.kernel, largest),
        hot=seen.hot,
        read_mostly=seen.read_mostly,
        write_hot=seen.write_hot,
    )


def budget(layout: Layout, kernel: Kernel | None, largest: int = 0) -> SizeBudget:
    """Room for the record to grow, in whole lines, and as many objects in a slab as now where its cache is known.

    Of that room only as much as leaves a slab these objects: of two limits that differ one would never count.
    """
    size = max(layout.size, largest)
    room = round_up(size + size // MARGIN, CACHE_LINE_BYTES)
    cache = own_cache(layout, kernel) if kernel else None
    if kernel is None or cache is None or cache.basis is SlabBasis.ASSUMED or size != layout.size:
        return SizeBudget(room)
    objects = cache.geometry.objects
    return SizeBudget(_fitting(layout, kernel, objects, room), None, objects)


def _fitting(layout: Layout, kernel: Kernel, objects: int, room: int) -> int:
    """The largest size up to ``room``, in whole words, of which as many ``objects`` fit into a slab; else its own."""
    for size in range(room, layout.size, -WORD):
        cache = own_cache(replace(layout, size=size), kernel)
        if cache is not None and cache.geometry.objects >= objects:
            return size
    return layout.size


def _named_apart(grounds: Grounds) -> list[Parted]:
    """The parted members that C code can name, not those of an object beside, and that surely were sampled."""
    perhaps = frozenset[str]().union(*map(doubted, grounds.lines))
    sure = (one for one in grounds.parted if not perhaps & {one.first, one.second})
    return [one for one in sure if _are_named(grounds, one.first, one.second)]


def _are_named(grounds: Grounds, *names: str) -> bool:
    return all(told_path(name, grounds.layout, grounds.layouts) for name in names)


def _reason(grounds: Grounds) -> str:
    contended = sum(line.cost.contended if line.cost.exact else line.contended for line in grounds.lines)
    count = len(grounds.lines)
    held = "1 line holds" if count == 1 else f"{count:,} lines hold"
    weight = "" if grounds.nominal else f", with {contended:,} contended accesses"
    said = [f"{grounds.profile}: {held} a {grounds.layout.title}{weight}"]
    if contended:
        pairs = [one for one in _heaviest(grounds) if one.weight >= contended * _LEAST_SHARE]
        said += [f"{_meeting(one)} (in {min(one.weight / contended, 1):.0%} of its contention)" for one in pairs]
    return "; ".join(filter(None, (*said, _in_doubt(grounds.lines), grounds.change)))


def _in_doubt(lines: Sequence[Finding]) -> str:
    """What `hot` doubts of the first line of which it doubts something, and of how many others it does."""
    doubts = [one.doubt for line in lines for one in line.objects[:1] if one.doubt]
    more = len(doubts) - 1
    held = "line" if more == 1 else "lines"
    others = f" (and more of {more:,} other {held}, as `linesmith hot` tells)" if more > 0 else ""
    return f"in doubt: {doubts[0]}{others}" if doubts else ""


def _heaviest(grounds: Grounds) -> list[ConflictPair]:
    """The pairs that cost most over all lines, of members that C code can name."""
    weights: dict[tuple[str, str, str], int] = {}
    for pair in (pair for line in grounds.lines for pair in line.triage.pairs):
        key = pair.first, pair.second, pair.writer
        if _are_named(grounds, pair.first, pair.second):
            weights[key] = weights.get(key, 0) + pair.weight
    ranked = sorted(weights.items(), key=lambda item: -item[1])[:_MOST_PAIRS]
    return [ConflictPair(*names, weight) for names, weight in ranked]


def _meeting(pair: ConflictPair) -> str:
    other = pair.second if pair.writer == pair.first else pair.first
    return f"{pair.writer} is written beside {other}"
