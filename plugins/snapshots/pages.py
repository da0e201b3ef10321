# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel's map of all memory: pages by their ``struct page``, slab pages by their objects.

Flags and page types say what the page allocator gave a page to (linux/page-flags.h). Page types were bits that are
cleared when set (until 6.9 named in the preprocessor only, then as ``PG_...`` in an enum) and are numbers in the top
byte since 6.12 (``PGTY_...``). ``PG_slab`` was a flag before 6.10. drgn tells slab pages only, since 6.10 only with the
kernel's own VMCOREINFO, and takes some microseconds a page; here an array of descriptors is searched at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import drgn
from drgn.helpers.linux.mm import compound_head, follow_phys, page_flags, page_size, pfn_to_page, phys_to_virt
from drgn.helpers.linux.slab import get_slab_cache_aliases

from linesmith.analyzer.model import ObjectArea, ObjectKind
from linesmith.plugins.snapshots.pointers import RecordSize, types_of
from linesmith.plugins.snapshots.variables import Variables, image_range

_PREPROCESSOR_BITS = {"buddy": 0x80, "table": 0x200}
_PREPROCESSOR_BASE = 0xF000_0000
_MAPPED_ANONYMOUS = 1
# The description of 64 MiB of memory in pages of 4 KiB.
_PIECE_BYTES = 1 << 20


class Slabs:
    """The slab caches of a kernel, read as their pages are met."""

    def __init__(self, program: drgn.Program, size_of: RecordSize) -> None:
        """Reads which caches were merged, as far as the kernel has kept their names (CONFIG_SYSFS)."""
        self._program = program
        self._size_of = size_of
        try:
            self._page = program.type("struct slab")
        except LookupError:
            self._page = program.type("struct page")
        try:
            aliases = get_slab_cache_aliases(program)
        except (LookupError, AttributeError, drgn.FaultError):
            aliases = {}
        self._merged: dict[str, tuple[str, ...]] = {}
        for name, target in sorted(aliases.items()):
            self._merged[target] = (*self._merged.get(target, ()), name)
        # The SLUB allocator; the older SLAB and SLOB are not read.
        self.readable = bool(program.type("struct kmem_cache").has_member("oo"))
        self._caches: dict[int, ObjectArea] = {}

    def area(self, head: int, start: int) -> ObjectArea | None:
        """All objects of the slab page whose first ``struct page`` lies at ``head`` and whose memory at ``start``."""
        if not self.readable:
            return None
        page = drgn.Object(self._program, self._page, address=head)
        pointer = page.slab_cache.value_()
        if pointer not in self._caches:
            self._caches[pointer] = self._cache(page.slab_cache)
        first = self._caches[pointer]
        return replace(first, address=start + first.address, count=page.objects.value_())

    def _cache(self, cache: drgn.Object) -> ObjectArea:
        """The area of a slab page at 0: objects begin behind a debugging red zone."""
        name, size = str(cache.name.string_(), "utf-8", "backslashreplace"), cache.object_size.value_()
        others = self._merged.get(name, ())
        lead = cache.red_left_pad.value_() if cache.type_.type.has_member("red_left_pad") else 0
        unnamed = cache.refcount.value_() - 1 - len(others)
        detail = f"serves {unnamed} more caches without known names" if unnamed > 0 else ""
        types = types_of((name, *others), size, self._size_of)
        return ObjectArea(
            ObjectKind.SLAB, name, lead, size, cache.size.value_(), types=types, merged=others, detail=detail
        )


# Who holds a page, and what it is called.
PageKind = tuple[ObjectKind, str]
SLAB_PAGE: PageKind = (ObjectKind.SLAB, "slab")
FREE_PAGE: PageKind = (ObjectKind.PAGES, "free page")
PAGE_TABLE: PageKind = (ObjectKind.PAGE_TABLE, "page table")
BOOT_PAGE: PageKind = (ObjectKind.BOOT, "boot memory")
ANONYMOUS_PAGE: PageKind = (ObjectKind.PAGES, "anonymous memory")
CACHE_PAGE: PageKind = (ObjectKind.PAGE_CACHE, "page cache")
OTHER_PAGE: PageKind = (ObjectKind.PAGES, "pages")


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

    @classmethod
    def of(cls, program: drgn.Program) -> PageTypes:
        """As the kernel's enumerations have them."""
        types: drgn.Type | None = None
        for name in ("PG_buddy", "PGTY_buddy"):
            try:
                types = program.constant(name).type_
            except LookupError:
                continue
        kinds = (program.type("enum pageflags"), types)
        return cls(*({one.name: one.value for one in (kind and kind.enumerators) or ()} for kind in kinds))

    def kind(self, page: PageWords) -> PageKind:
        """The kind of a page that is the first of its allocation."""
        for name, kind in (("slab", SLAB_PAGE), ("buddy", FREE_PAGE), ("table", PAGE_TABLE)):
            if self._has_flag(page, name) or self._is_type(page.page_type, name):
                return kind
        if self._has_flag(page, "reserved"):
            return BOOT_PAGE
        if page.references == 0:
            return FREE_PAGE
        if page.mapping:
            return ANONYMOUS_PAGE if page.mapping & _MAPPED_ANONYMOUS else CACHE_PAGE
        return OTHER_PAGE

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


class DirectMap:
    """The addresses of the direct map, and the array of ``struct page`` that describes it."""

    def __init__(self, program: drgn.Program, slabs: Slabs, variables: Variables) -> None:
        """Reads the bounds of the map and how this kernel encodes page types."""
        self._program = program
        self._slabs = slabs
        self._variables = variables
        self._types = PageTypes.of(program)
        self.page_bytes = program["PAGE_SIZE"].value_()
        pages = program["max_pfn"].value_()
        start = phys_to_virt(program, 0).value_()
        self.addresses = range(start, start + pages * self.page_bytes)
        first = pfn_to_page(program, 0)
        frame = first.type_.type
        self._layout = FrameLayout(frame.size, drgn.offsetof(frame, "flags"), drgn.offsetof(frame, "_mapcount"))
        self._frames = range(first.value_(), first.value_() + pages * frame.size)
        self._page = lru_cache(maxsize=1)(self._read_page)
        # Physical memory of the image: its addresses in the direct map are aliases.
        self._image = _image_alias(program, start)

    def area(self, address: int) -> ObjectArea | None:
        """What lies at ``address`` of the direct map; none outside it, and where the memory has no page."""
        page = self._page_of(address)
        if page is None:
            return None
        kind, head = page
        start = self._start_of(head.value_())
        if kind == SLAB_PAGE:
            return self._slabs.area(head.value_(), start)
        # Parts of the image that only the start needed were given back and may be anything.
        if kind == BOOT_PAGE and self._image and address in self._image[0]:
            return self._variables.alias(address, address + self._image[1])
        size = page_size(head).value_()
        return ObjectArea(*kind, start, size, size)

    def is_boot_memory(self, address: int) -> bool:
        """Whether the page at ``address`` was never given to the page allocator."""
        page = self._page_of(address)
        return page is not None and page[0] == BOOT_PAGE

    def frame(self, address: int) -> ObjectArea | None:
        """The array of ``struct page``, when ``address`` lies within it."""
        if address not in self._frames:
            return None
        size = self._layout.size
        count = len(self._frames) // size
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
                head = piece.start + index * self._layout.size
                area = self._slabs.area(head, self._start_of(head))
                if area is not None:
                    yield area

    def _start_of(self, head: int) -> int:
        """The address of the page that the ``struct page`` at ``head`` describes."""
        return int(self.addresses.start + (head - self._frames.start) // self._layout.size * self.page_bytes)

    def _page_of(self, address: int) -> tuple[PageKind, drgn.Object] | None:
        """The kind of the page at ``address``, and the first ``struct page`` of its allocation."""
        try:
            number = (address - self.addresses.start) // self.page_bytes
            return self._page(number) if address in self.addresses else None
        except drgn.FaultError:
            return None

    def _read_page(self, number: int) -> tuple[PageKind, drgn.Object]:
        head = compound_head(pfn_to_page(self._program, number))
        page = head[0].read_()
        words = PageWords(
            flags=page_flags(page).value_(),
            mapping=page.mapping.value_(),
            page_type=page._mapcount.counter.value_() & 0xFFFF_FFFF,
            references=page._refcount.counter.value_(),
        )
        return self._types.kind(words), head


def _image_alias(program: drgn.Program, start: int) -> tuple[range, int] | None:
    """The image within the direct map, and what leads from an address there to the linked one."""
    image = image_range(program)
    try:
        physical = follow_phys(program["init_mm"].address_of_(), image.start).value_()
    except (LookupError, drgn.FaultError, NotImplementedError):
        return None
    return range(start + physical, start + physical + len(image)), image.start - start - physical
