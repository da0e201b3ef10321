# SPDX-License-Identifier: GPL-2.0-or-later
"""What the page allocator gave a page to: flags and page types of ``struct page`` (linux/page-flags.h).

Page types were bits that are cleared when set (until 6.9 named in the preprocessor only, then as ``PG_...`` in an enum)
and are numbers in the top byte since 6.12 (``PGTY_...``). ``PG_slab`` was a flag before 6.10.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto

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
