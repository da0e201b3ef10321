# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel's map of all memory: pages by their ``struct page``, slab pages by their objects."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import drgn
from drgn.helpers.linux.mm import compound_head, follow_phys, page_size, pfn_to_page, phys_to_virt

from linesmith.analyzer.model import ObjectArea, ObjectKind
from linesmith.plugins.snapshots.page_kinds import FrameLayout, PageKind, PageTypes, PageWords
from linesmith.plugins.snapshots.slabs import Slabs
from linesmith.plugins.snapshots.variables import Variables, image_range

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
