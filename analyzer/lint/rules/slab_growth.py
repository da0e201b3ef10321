# SPDX-License-Identifier: GPL-2.0-or-later
"""``slab-growth``: objects of a record take more memory, or more cache lines or pages each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from linesmith.analyzer.layouts.alignment import record_alignment
from linesmith.analyzer.layouts.gaps import lines
from linesmith.analyzer.lint.growth import cause, holders
from linesmith.analyzer.lint.rules.rule import Rule, Side, Subject
from linesmith.analyzer.model import Figure, Layout, Member, Severity, SlabBasis, SlabCache, SlabGeometry, Violation
from linesmith.analyzer.slab.allocation import cache_of, own_cache
from linesmith.analyzer.slab.geometry import bytes_for, pages_for
from linesmith.analyzer.slab.possible import slab_places

MANY = 100_000
THOUSAND = 1000
# Slabs and kmalloc() take at most 8 pages in the usual way; a line more of a larger record is no news.
MOST_PAGES = 8
# Steps of a word in which the size is looked for that would cost what the old one did.
MOST_STEPS = 256
WORD = 8
# The memory map seen as what a page is used for, and what a module brings in its file.
NOT_ALLOCATED = frozenset({"page", "folio", "slab", "ptdesc", "zpdesc", "module"})


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
    def told(self) -> str:
        """``a slab of filp holds 21 objects instead of 25``."""
        old, new = self.old.geometry, self.new.geometry
        about = "about " if self.assumed else ""
        where = f", as {self.place}" if self.place else ""
        if old.order == new.order:
            return f"a slab of {self.new.name} holds {about}{new.objects} objects instead of {old.objects}{where}"
        held = f"{about}{new.objects} objects in {_pages(new)} instead of {old.objects} in {_pages(old)}"
        return f"a slab of {self.new.name} holds {held}{where}"


def _check(subject: Subject) -> Iterator[Violation]:
    old, new = subject.old, subject.new
    if old is None or subject.base is None or (new.size <= old.size and record_alignment(new) <= record_alignment(old)):
        return
    costlier = tuple(_costlier(subject, old, subject.base))
    if costlier:
        yield _slabs(subject, old, costlier)
    elif subject.tuned:
        yield from _lines(subject, old)


def _costlier(subject: Subject, old: Layout, base: Side) -> Iterator[_Costlier]:
    """The caches in which objects cost more than before; those that hold the record only for one that is tuned."""
    now = dict(_caches(subject.new, subject.head, subject.tuned))
    for place, before in _caches(old, base, subject.tuned):
        after = now.get(place)
        if after and bytes_for(MANY, after.geometry) > bytes_for(MANY, before.geometry):
            yield _Costlier(place, before, after)


def _caches(layout: Layout, side: Side, tuned: str) -> Iterator[tuple[str, SlabCache]]:
    """Caches that are known to serve the record or what holds it, by the place of the record in the objects."""
    own = own_cache(layout, side.kernel) if side.slabs else None
    if own is not None:
        yield "", own
    elif tuned and side.slabs:
        for place in slab_places(layout, side.containment, side.kernel):
            if place.path:
                yield f"{place.outer}.{place.path}", place.cache


def _slabs(subject: Subject, old: Layout, costlier: tuple[_Costlier, ...]) -> Violation:
    first, *others = sorted(costlier, key=lambda one: (-_share(one), one.place))
    more = f", and in {len(others)} other cache{'s' * (len(others) > 1)}" if others else ""
    figures = [figure for one in (first, *others) for figure in _memory(one, f" of {one.new.name}" if others else "")]
    return RULE.broken(
        subject.new,
        f"{_grew(old, subject.new)}: {first.told}{more}",
        subject=first.new.name,
        advice=_advice(subject, first),
        figures=(*_sizes(old, subject.new), *figures),
    )


def _share(one: _Costlier) -> float:
    return bytes_for(MANY, one.new.geometry) / bytes_for(MANY, one.old.geometry)


def _memory(one: _Costlier, of: str) -> Iterator[Figure]:
    """Figures of one cache; ``of`` tells it from others."""
    old, new = one.old.geometry, one.new.geometry
    yield Figure(f"objects per slab{of}", old.objects, new.objects, "objects")
    yield Figure(f"pages per 1,000 objects{of}", pages_for(THOUSAND, old), pages_for(THOUSAND, new), "pages")
    yield Figure(f"memory per 100,000 objects{of}", bytes_for(MANY, old), bytes_for(MANY, new))


def _advice(subject: Subject, one: _Costlier) -> str:
    if one.assumed:
        return f"{cause(subject)}; {one.new.reason}"
    fitting = None if one.place else _fitting(subject, bytes_for(MANY, one.old.geometry))
    if fitting is None or fitting <= (subject.old or subject.new).size:
        return cause(subject)
    return f"{cause(subject)}; with {fitting} bytes or fewer they would cost no more than before"


def _fitting(subject: Subject, cost: int) -> int | None:
    """The largest size in bytes at which objects of the record's own cache cost no more than ``cost``."""
    size = subject.new.size
    for smaller in range(size - WORD, max(size - MOST_STEPS * WORD, 0), -WORD):
        cache = own_cache(replace(subject.new, size=smaller), subject.head.kernel)
        if cache is not None and bytes_for(MANY, cache.geometry) <= cost:
            return smaller
    return None


def _lines(subject: Subject, old: Layout) -> Iterator[Violation]:
    """What a tuned record costs more where its slabs tell nothing: pages, lines, the class of kmalloc()."""
    new, page = subject.new, subject.head.kernel.machine.page_bytes
    (near, nearer), (far, farther) = (lines(old), lines(new)), (lines(old, page), lines(new, page))
    classes = _classes(subject, old)
    paged = farther > far
    if far > MOST_PAGES or not (paged or nearer > near or classes):
        return
    message = f"{_grew(old, new)}, {f'{farther} pages instead of {far}' if paged else _line_clause(near, nearer)}"
    figures = _sizes(old, new)
    if classes is not None:
        message += f"; where kmalloc() allocates it, that takes {classes[1]} bytes instead of {classes[0]}"
        figures += (Figure("allocated by kmalloc()", *classes),)
    severity = Severity.WARNING if paged else Severity.NOTE
    about = "pages" if paged else "lines"
    yield RULE.broken(new, message, subject=about, advice=cause(subject), figures=figures, severity=severity)


def _line_clause(old: int, new: int) -> str:
    return f"{new} cache lines instead of {old}" if new > old else f"within {new} cache line{'s' * (new != 1)}"


def _classes(subject: Subject, old: Layout) -> tuple[int, int] | None:
    """Bytes of the general caches that would serve the record before and now, where its own cache is not known."""
    new, kernel = subject.new, subject.head.kernel
    if not subject.head.slabs or any(_is_open(one.members[-1]) for one in (old, new) if one.members):
        return None
    if _lives_elsewhere(subject) or any(own_cache(layout, kernel) for layout in (old, new)):
        return None
    was, now = (cache_of(layout, kernel).geometry.stride for layout in (old, new))
    return (was, now) if now > was else None


def _lives_elsewhere(subject: Subject) -> bool:
    """Whether objects of the record are known to come from no kmalloc(): others hold it, or it is a table of functions.

    Tables are constants of the image.
    """
    new = subject.new
    if new.name in NOT_ALLOCATED or next(iter(holders(new, subject.head)), None) is not None:
        return True
    return bool(new.members) and all("(*" in one.declarator for one in new.members if one.size)


def _is_open(member: Member) -> bool:
    return member.flexible or member.size == 0


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
    summary="objects of a record take more memory in slabs, or more cache lines or pages each",
    severity=Severity.WARNING,
    check=_check,
    untuned=True,
)
