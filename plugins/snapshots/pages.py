# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel's map of all memory: pages by their ``struct page``, slab pages by their objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache

import drgn
from drgn.helpers.linux.mm import compound_head, follow_phys, page_size, pfn_to_page, phys_to_virt
from drgn.helpers.linux.slab import get_slab_cache_aliases

from linesmith.analyzer.model import ObjectArea, ObjectKind
from linesmith.plugins.snapshots.cache_types import RecordSize, types_of
from linesmith.plugins.snapshots.variables import Variables, image_range

# Slab pages of the SLUB allocator: the cache they belong to and where their objects begin (mm/slub.c).


@dataclass(frozen=True, slots=True)
class SlabCache:
    """One cache; sizes in bytes. Objects begin ``lead`` bytes into each stride, behind a debugging red zone."""

    name: str
    stride: int
    object_bytes: int
    lead: int
    merged: tuple[str, ...]
    types: tuple[str, ...]
    detail: str


class Slabs:
    """The slab caches of a kernel, read as their pages are met."""

    def __init__(self, program: drgn.Program, size_of: RecordSize) -> None:
        """Reads which caches were merged, as far as the kernel has kept their names (CONFIG_SYSFS)."""
        self._size_of = size_of
        self._page = _slab_page(program)
        self._program = program
        self._others = _merged(program)
        self._caches: dict[int, SlabCache] = {}

    @property
    def readable(self) -> bool:
        """Whether the kernel has the SLUB allocator; the older SLAB and SLOB are not read."""
        return bool(self._program.type("struct kmem_cache").has_member("oo"))

    def area(self, head: int, start: int) -> ObjectArea | None:
        """All objects of the slab page whose first ``struct page`` lies at ``head`` and whose memory at ``start``."""
        if not self.readable:
            return None
        page = drgn.Object(self._program, self._page, address=head)
        pointer = page.slab_cache.value_()
        if pointer not in self._caches:
            self._caches[pointer] = self._cache(page.slab_cache)
        cache = self._caches[pointer]
        return ObjectArea(
            ObjectKind.SLAB,
            cache.name,
            start + cache.lead,
            cache.object_bytes,
            cache.stride,
            page.objects.value_(),
            cache.types,
            cache.merged,
            detail=cache.detail,
        )

    def _cache(self, cache: drgn.Object) -> SlabCache:
        name, size = _text(cache.name), cache.object_size.value_()
        others = self._others.get(name, ())
        lead = cache.red_left_pad.value_() if cache.type_.type.has_member("red_left_pad") else 0
        unnamed = cache.refcount.value_() - 1 - len(others)
        detail = f"serves {unnamed} more caches without known names" if unnamed > 0 else ""
        types = types_of((name, *others), size, self._size_of)
        return SlabCache(name, cache.size.value_(), size, lead, others, types, detail)


def _slab_page(program: drgn.Program) -> drgn.Type:
    try:
        return program.type("struct slab")
    except LookupError:
        return program.type("struct page")


def _merged(program: drgn.Program) -> dict[str, tuple[str, ...]]:
    """Names of the caches merged into each cache."""
    try:
        aliases = get_slab_cache_aliases(program)
    except (LookupError, AttributeError, drgn.FaultError):
        return {}
    merged: dict[str, tuple[str, ...]] = {}
    for name, target in sorted(aliases.items()):
        merged[target] = (*merged.get(target, ()), name)
    return merged


def _text(pointer: drgn.Object) -> str:
    return str(pointer.string_(), "utf-8", "backslashreplace")


# What the page allocator gave a page to: flags and page types of ``struct page`` (linux/page-flags.h).
#
# Page types were bits that are cleared when set (until 6.9 named in the preprocessor only, then as ``PG_...`` in an
# enum) and are numbers in the top byte since 6.12 (``PGTY_...``). ``PG_slab`` was a flag before 6.10.

_PREPROCESSOR_BITS = {"buddy": 0x80, "table": 0x200}
_PREPROCESSOR_BASE = 0xF000_0000
_MAPPED_ANONYMOUS = 1


class PageKind(Enum):
    """Who holds a page."""

    SLAB = auto()
    FREE = auto()
    TABLE = auto()
    BOOT = auto()
    ANONYMOUS = auto()
    CACHE = auto()
    OTHER = auto()


@dataclass(frozen=True, slots=True)
class PageWords:
    """The words of a ``struct page`` that tell its kind; ``page_type`` shares its place with the map count."""

    flags: int
    mapping: int
    page_type: int
    references: int


@dataclass(frozen=True, slots=True)
class FrameLayout:
    """Size of a ``struct page``, and the offsets of its words, in bytes."""

    size: int
    flags: int
    page_type: int


@dataclass(frozen=True, slots=True)
class PageTypes:
    """How one kernel encodes page types: ``flags`` are enumerators of ``enum pageflags``, ``types`` of pagetype."""

    flags: Mapping[str, int]
    types: Mapping[str, int]

    def kind(self, page: PageWords) -> PageKind:
        """The kind of a page that is the first of its allocation."""
        for name, kind in (("slab", PageKind.SLAB), ("buddy", PageKind.FREE), ("table", PageKind.TABLE)):
            if self._has_flag(page, name) or self._is_type(page.page_type, name):
                return kind
        if self._has_flag(page, "reserved"):
            return PageKind.BOOT
        if page.references == 0:
            return PageKind.FREE
        if page.mapping:
            return PageKind.ANONYMOUS if page.mapping & _MAPPED_ANONYMOUS else PageKind.CACHE
        return PageKind.OTHER

    def slabs(self, frames: bytes, layout: FrameLayout) -> list[int]:
        """Indexes of the first pages of slabs in an array of ``struct page``."""
        view = memoryview(frames)
        bit = self.flags.get("PG_slab")
        if bit is not None:
            words = view.cast("Q")[layout.flags // 8 :: layout.size // 8]
            return [index for index, word in enumerate(words) if word >> bit & 1]
        types = view.cast("I")[layout.page_type // 4 :: layout.size // 4]
        return [index for index, word in enumerate(types) if self._is_type(word, "slab")]

    def _has_flag(self, page: PageWords, name: str) -> bool:
        bit = self.flags.get(f"PG_{name}")
        return bit is not None and bool(page.flags >> bit & 1)

    def _is_type(self, page_type: int, name: str) -> bool:
        number = self.types.get(f"PGTY_{name}")
        if number is not None:
            return page_type >> 24 == number
        bit = self.types.get(f"PG_{name}", _PREPROCESSOR_BITS.get(name, 0))
        # The base tells a page type from a count of mappings.
        base = self.types.get("PAGE_TYPE_BASE", _PREPROCESSOR_BASE)
        return bool(bit) and page_type & (base | bit) == base


# The description of 64 MiB of memory in pages of 4 KiB.
_PIECE_BYTES = 1 << 20
_OBJECT_KINDS = {
    PageKind.FREE: (ObjectKind.PAGES, "free page"),
    PageKind.TABLE: (ObjectKind.PAGE_TABLE, "page table"),
    PageKind.BOOT: (ObjectKind.BOOT, "boot memory"),
    PageKind.ANONYMOUS: (ObjectKind.PAGES, "anonymous memory"),
    PageKind.CACHE: (ObjectKind.PAGE_CACHE, "page cache"),
    PageKind.OTHER: (ObjectKind.PAGES, "pages"),
}


class DirectMap:
    """Addresses of the direct map, and the array of ``struct page`` that describes it."""

    def __init__(self, program: drgn.Program, slabs: Slabs, variables: Variables) -> None:
        """Reads the bounds of the map and how this kernel encodes page types."""
        self._program = program
        self._slabs = slabs
        self._variables = variables
        self._types = _page_types(program)
        self.page_bytes = program["PAGE_SIZE"].value_()
        pages = program["max_pfn"].value_()
        start = phys_to_virt(program, 0).value_()
        self._map = range(start, start + pages * self.page_bytes)
        first = pfn_to_page(program, 0)
        self._frame_bytes = first.type_.type.size
        self._layout = _frame_layout(first.type_.type)
        self._frames = range(first.value_(), first.value_() + pages * self._frame_bytes)
        self._page = lru_cache(maxsize=1)(self._read_page)
        # Physical memory of the image: its addresses in the direct map are aliases.
        self._image = _image_alias(program, start)

    def area(self, address: int) -> ObjectArea | None:
        """What lies at ``address`` of the direct map; none outside it, and where the memory has no page."""
        if address not in self._map:
            return None
        number = (address - self._map.start) // self.page_bytes
        try:
            kind, head = self._page(number)
        except drgn.FaultError:
            return None
        return self._area(kind, head, address)

    @property
    def addresses(self) -> range:
        """All addresses of the map."""
        return self._map

    def is_boot_memory(self, address: int) -> bool:
        """Whether the page at ``address`` was never given to the page allocator."""
        if address not in self._map:
            return False
        try:
            return self._page((address - self._map.start) // self.page_bytes)[0] == PageKind.BOOT
        except drgn.FaultError:
            return False

    def frame(self, address: int) -> ObjectArea | None:
        """The array of ``struct page``, when ``address`` lies within it."""
        if address not in self._frames:
            return None
        size, count = self._frame_bytes, len(self._frames) // self._frame_bytes
        return ObjectArea(ObjectKind.STRUCT_PAGE, "struct page", self._frames.start, size, size, count, ("page",))

    def slab_areas(self) -> Iterator[ObjectArea]:
        """Every slab page of the memory."""
        for first in range(0, len(self._frames), _PIECE_BYTES):
            piece = self._frames[first : first + _PIECE_BYTES]
            try:
                content = self._program.read(piece.start, len(piece))
            except drgn.FaultError:
                # Memory has holes, and so has its description.
                continue
            for index in self._types.slabs(content, self._layout):
                head = piece.start + index * self._frame_bytes
                area = self._slabs.area(head, self._start_of(head))
                if area is not None:
                    yield area

    def _start_of(self, head: int) -> int:
        return int(self._map.start + (head - self._frames.start) // self._frame_bytes * self.page_bytes)

    def _read_page(self, number: int) -> tuple[PageKind, drgn.Object]:
        """The kind of a page, and the first ``struct page`` of its allocation."""
        head = compound_head(pfn_to_page(self._program, number))
        return self._types.kind(_words(head[0].read_())), head

    def _area(self, kind: PageKind, head: drgn.Object, address: int) -> ObjectArea | None:
        start = self._start_of(head.value_())
        if kind == PageKind.SLAB:
            return self._slabs.area(head.value_(), start)
        # Parts of the image that only the start needed were given back and may be anything.
        if kind == PageKind.BOOT and self._image and address in self._image[0]:
            return self._variables.alias(address, address + self._image[1])
        object_kind, name = _OBJECT_KINDS[kind]
        size = page_size(head).value_()
        return ObjectArea(object_kind, name, start, size, size)


def _page_types(program: drgn.Program) -> PageTypes:
    flags = _enumerators(program.type("enum pageflags"))
    for name in ("PGTY_buddy", "PG_buddy"):
        try:
            return PageTypes(flags, _enumerators(program.constant(name).type_))
        except LookupError:
            continue
    return PageTypes(flags, {})


def _frame_layout(frame: drgn.Type) -> FrameLayout:
    return FrameLayout(frame.size, drgn.offsetof(frame, "flags"), drgn.offsetof(frame, "_mapcount"))


def _enumerators(kind: drgn.Type) -> dict[str, int]:
    return {item.name: item.value for item in kind.enumerators or ()}


def _words(page: drgn.Object) -> PageWords:
    return PageWords(
        flags=_word(page.flags),
        mapping=page.mapping.value_(),
        page_type=page._mapcount.counter.value_() & 0xFFFF_FFFF,
        references=page._refcount.counter.value_(),
    )


def _word(flags: drgn.Object) -> int:
    # Since 6.18 the flags are a record of one word (memdesc_flags_t).
    value = flags.f if flags.type_.unaliased_kind() == drgn.TypeKind.STRUCT else flags
    return int(value.value_())


def _image_alias(program: drgn.Program, start: int) -> tuple[range, int] | None:
    """The image within the direct map, and what leads from an address there to the linked one."""
    image = image_range(program)
    try:
        physical = follow_phys(program["init_mm"].address_of_(), image.start).value_()
    except (LookupError, drgn.FaultError, NotImplementedError):
        return None
    return range(start + physical, start + physical + len(image)), image.start - start - physical
