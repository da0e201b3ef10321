# SPDX-License-Identifier: GPL-2.0-or-later
"""``slab-growth``: objects of a record take more memory, or more cache lines or pages each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from linesmith.analyzer.layouts.gaps import lines, record_alignment
from linesmith.analyzer.layouts.placement import PAGE_OVERLAYS
from linesmith.analyzer.lint.growth import cause, holders
from linesmith.analyzer.lint.rules.rule import LintedRecord, RecordVersion, Rule
from linesmith.analyzer.model import Figure, Layout, Severity, SlabBasis, SlabCache, SlabGeometry, Violation
from linesmith.analyzer.slab.allocation import bytes_for, cache_of, own_cache, pages_for
from linesmith.analyzer.slab.starts import slab_places

MANY = 100_000
THOUSAND = 1000
# Slabs and kmalloc() take at most 8 pages in the usual way; a line more of a larger record is no news.
MOST_PAGES = 8
# Steps of a word in which the size is looked for that would cost what the old one did.
MOST_STEPS = 256
WORD = 8
# The memory map seen as what a page is used for, and what a module brings in its file.
NOT_ALLOCATED = frozenset({*PAGE_OVERLAYS, "module"})


@dataclass(frozen=True, slots=True)
class _Costlier:
    """A cache whose objects are the record, or hold it as ``place`` (``ext4_inode_info.vfs_inode``), before and now."""

    place: str
    old: SlabCache
    new: SlabCache

    @property
    def assumed(self) -> bool:
        """Whether the objects have more than the record, so that a slab may hold fewer of them."""
        return self.new.basis is SlabBasis.ASSUMED

    @property
    def clause(self) -> str:
        """``a slab of filp holds 21 objects instead of 25``."""
        old, new = self.old.geometry, self.new.geometry
        about = "about " if self.assumed else ""
        where = f", as {self.place}" if self.place else ""
        if old.order == new.order:
            return f"a slab of {self.new.name} holds {about}{new.objects} objects instead of {old.objects}{where}"
        held = f"{about}{new.objects} objects in {_pages(new)} instead of {old.objects} in {_pages(old)}"
        return f"a slab of {self.new.name} holds {held}{where}"


def _check(record: LintedRecord) -> Iterator[Violation]:
    before, new = record.before, record.layout
    if before is None:
        return
    old = before.layout
    if new.size <= old.size and record_alignment(new) <= record_alignment(old):
        return
    # Those that hold the record only for one that is tuned.
    now = dict(_caches(record.now, record.tuned))
    costlier = []
    for place, was in _caches(before, record.tuned):
        after = now.get(place)
        if after and bytes_for(MANY, after.geometry) > bytes_for(MANY, was.geometry):
            costlier.append(_Costlier(place, was, after))
    if costlier:
        yield _slabs(record, old, costlier)
    elif record.tuned:
        yield from _lines(record, old)


def _caches(version: RecordVersion, tuned: str) -> Iterator[tuple[str, SlabCache]]:
    """Caches that are known to serve the record or what holds it, by the place of the record in the objects."""
    layout, build = version.layout, version.build
    own = own_cache(layout, build.kernel) if build.slabs else None
    if own is not None:
        yield "", own
    elif tuned and build.slabs:
        for place in slab_places(layout, build.containment, build.kernel):
            if place.path:
                yield f"{place.outer}.{place.path}", place.cache


def _slabs(record: LintedRecord, old: Layout, costlier: list[_Costlier]) -> Violation:
    def share(one: _Costlier) -> float:
        return bytes_for(MANY, one.new.geometry) / bytes_for(MANY, one.old.geometry)

    first, *others = sorted(costlier, key=lambda one: (-share(one), one.place))
    more = f", and in {len(others)} other cache{'s' * (len(others) > 1)}" if others else ""
    figures = list(_sizes(old, record.layout))
    for one in (first, *others):
        of, was, now = f" of {one.new.name}" if others else "", one.old.geometry, one.new.geometry
        figures += [
            Figure(f"objects per slab{of}", was.objects, now.objects, "objects"),
            Figure(f"pages per 1,000 objects{of}", pages_for(THOUSAND, was), pages_for(THOUSAND, now), "pages"),
            Figure(f"memory per 100,000 objects{of}", bytes_for(MANY, was), bytes_for(MANY, now)),
        ]
    advice = cause(record)
    if first.assumed:
        advice = f"{advice}; {first.new.reason}"
    elif not first.place:
        fitting = _fitting(record, bytes_for(MANY, first.old.geometry))
        if fitting is not None and fitting > old.size:
            advice = f"{advice}; with {fitting} bytes or fewer they would cost no more than before"
    message = f"{_grew(old, record.layout)}: {first.clause}{more}"
    return RULE.broken(record.layout, message, subject=first.new.name, advice=advice, figures=tuple(figures))


def _fitting(record: LintedRecord, cost: int) -> int | None:
    """The largest size in bytes at which objects of the record's own cache cost no more than ``cost``."""
    size = record.layout.size
    for smaller in range(size - WORD, max(size - MOST_STEPS * WORD, 0), -WORD):
        cache = own_cache(replace(record.layout, size=smaller), record.now.build.kernel)
        if cache is not None and bytes_for(MANY, cache.geometry) <= cost:
            return smaller
    return None


def _lines(record: LintedRecord, old: Layout) -> Iterator[Violation]:
    """What a tuned record costs more where its slabs tell nothing: pages, lines, the class of kmalloc()."""
    new, page = record.layout, record.now.build.kernel.machine.page_bytes
    (near, nearer), (far, farther) = (lines(old), lines(new)), (lines(old, page), lines(new, page))
    classes = _classes(record.now, old)
    paged = farther > far
    if far > MOST_PAGES or not (paged or nearer > near or classes):
        return
    if paged:
        amount = f"{farther} pages instead of {far}"
    elif nearer > near:
        amount = f"{nearer} cache lines instead of {near}"
    else:
        amount = f"within {nearer} cache line{'s' * (nearer != 1)}"
    message, figures = f"{_grew(old, new)}, {amount}", _sizes(old, new)
    if classes is not None:
        message += f"; where kmalloc() allocates it, that takes {classes[1]} bytes instead of {classes[0]}"
        figures += (Figure("allocated by kmalloc()", *classes),)
    severity = Severity.WARNING if paged else Severity.NOTE
    about = "pages" if paged else "lines"
    yield RULE.broken(new, message, subject=about, advice=cause(record), figures=figures, severity=severity)


def _classes(now: RecordVersion, old: Layout) -> tuple[int, int] | None:
    """Bytes of the general caches that would serve the record before and now, where its own cache is not known.

    None where objects are known to come from no kmalloc(): others hold the record, it is of open length, or a table of
    functions, which is a constant of the image.
    """
    new, kernel = now.layout, now.build.kernel
    last = [one.members[-1] for one in (old, new) if one.members]
    if not now.build.slabs or any(one.flexible or one.size == 0 for one in last) or new.name in NOT_ALLOCATED:
        return None
    table = bool(new.members) and all("(*" in one.declarator for one in new.members if one.size)
    if table or any(True for _ in holders(now)) or any(own_cache(layout, kernel) for layout in (old, new)):
        return None
    was, is_ = (cache_of(layout, kernel).geometry.stride for layout in (old, new))
    return (was, is_) if is_ > was else None


def _sizes(old: Layout, new: Layout) -> tuple[Figure, ...]:
    return (Figure("size", old.size, new.size), Figure("cache lines", lines(old), lines(new), "lines"))


def _grew(old: Layout, new: Layout) -> str:
    if new.size > old.size:
        return f"grew from {old.size} to {new.size} bytes"
    return f"is aligned to {record_alignment(new)} bytes instead of {record_alignment(old)}"


def _pages(geometry: SlabGeometry) -> str:
    pages = 1 << geometry.order
    return f"{pages} page{'s' * (pages != 1)}"


RULE = Rule(
    name="slab-growth",
    summary="objects of a record need more slab memory, or more cache lines or pages each",
    severity=Severity.WARNING,
    check=_check,
    untuned=True,
)
