# SPDX-License-Identifier: GPL-2.0-or-later
"""The layouts of one file, which refer to each other by id: what every stage behind the readers asks for.

Users choose among them by a name, ``struct name`` or a pattern. Those that come from elsewhere (a saved index, or what
the program that reads objects wrote) are checked before anything is asked of them: see ``flaw``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from linesmith.analyzer.base.errors import TypeNotFound
from linesmith.analyzer.base.text import did_you_mean
from linesmith.analyzer.model import Layout, RecordKind

# Damaged debug information can nest anonymous records without end.
MOST_LEVELS = 128
MOST_MEMBERS = 1 << 16
# Bytes, bits and elements beyond this are in no record.
MOST = 1 << 48
MOST_OFFERED, MOST_LISTED = 4, 12
_KINDS = frozenset(kind.value for kind in RecordKind)


class Layouts(Protocol):
    """Layouts of one file; ids are valid within this value only."""

    def by_id(self, layout_id: int) -> Layout:
        """The layout with this id; raises ``KeyError`` when there is none."""

    def variants(self, name: str) -> tuple[Layout, ...]:
        """Every layout of records called ``name`` (struct, union or typedef), most used first; may be empty."""

    def names(self) -> tuple[str, ...]:
        """Every record name once, sorted; anonymous records have none."""

    def __iter__(self) -> Iterator[Layout]:
        """Every layout, anonymous ones too, by id."""

    def __hash__(self) -> int:
        """By identity, so that what is computed from all layouts of a file can be kept."""


class LayoutTable:
    """Layouts held in memory."""

    def __init__(self, layouts: Iterable[Layout]) -> None:
        self._by_id = {layout.id: layout for layout in layouts}
        self._by_name: dict[str, list[Layout]] = {}
        for layout in self._by_id.values():
            if layout.name:
                self._by_name.setdefault(layout.name, []).append(layout)

    def by_id(self, layout_id: int) -> Layout:
        """The layout with this id; raises ``KeyError`` when there is none."""
        return self._by_id[layout_id]

    def variants(self, name: str) -> tuple[Layout, ...]:
        """Every layout of records called ``name``, the one used by most compile units first."""
        return tuple(sorted(self._by_name.get(name, ()), key=lambda layout: (-layout.units, layout.id)))

    def names(self) -> tuple[str, ...]:
        """Every record name once, sorted."""
        return tuple(sorted(self._by_name))

    def __iter__(self) -> Iterator[Layout]:
        """Every layout by id."""
        return iter(self._by_id.values())


class ChangedLayouts:
    """The layouts of a file with some of them changed; these have the ids that they had."""

    def __init__(self, layouts: Layouts, changed: Iterable[Layout]) -> None:
        self._layouts = layouts
        self._changed = {layout.id: layout for layout in changed}
        self.names = layouts.names

    def by_id(self, layout_id: int) -> Layout:
        """The layout with this id; raises ``KeyError`` when there is none."""
        return self._changed.get(layout_id) or self._layouts.by_id(layout_id)

    def variants(self, name: str) -> tuple[Layout, ...]:
        """Every layout of records called ``name``, in the order of the file."""
        return tuple(self._changed.get(one.id, one) for one in self._layouts.variants(name))

    def __iter__(self) -> Iterator[Layout]:
        """Every layout by id."""
        return (self._changed.get(one.id, one) for one in self._layouts)


def select(layouts: Layouts, names: tuple[str, ...]) -> tuple[Layout, ...]:
    """Every layout of each name or glob pattern, in that order; without any, every record that has a tag.

    ``struct foo`` leaves out unions and typedefs called ``foo``. Raises ``TypeNotFound`` with the nearest names.
    """
    for text in names:
        if not _called(layouts, text):
            raise TypeNotFound(_not_found(layouts, text))
    return _select_known(layouts, names)


def select_both(old: Layouts, new: Layouts, names: tuple[str, ...]) -> tuple[tuple[Layout, ...], tuple[Layout, ...]]:
    """The layouts of that name in two files; raises ``TypeNotFound`` for what neither of them has."""
    for text in names:
        if not _called(old, text) and not _called(new, text):
            raise TypeNotFound(_not_found(new, text))
    return _select_known(old, names), _select_known(new, names)


def _select_known(layouts: Layouts, names: tuple[str, ...]) -> tuple[Layout, ...]:
    if not names:
        return tuple(layout for layout in layouts if layout.name and not layout.typedef)
    return tuple({layout.id: layout for text in names for layout in _called(layouts, text)}.values())


def _called(layouts: Layouts, text: str) -> list[Layout]:
    kind, name = _kind_and_name(text)
    found = list(layouts.variants(name))  # first, because names in C++ and Rust may hold brackets and stars
    if not found and any(sign in name for sign in "*?["):
        from fnmatch import filter as matching  # imports re, which a plain name does not need

        found = [one for each in matching(layouts.names(), name) for one in layouts.variants(each)]
    return [layout for layout in found if not kind or (layout.kind.value == kind and not layout.typedef)]


def bare_name(text: str) -> str:
    """The name of a record without the word that says its kind; it may hold blanks (``queue<long int>``)."""
    return _kind_and_name(text)[1]


def _kind_and_name(text: str) -> tuple[str, str]:
    first, _, rest = text.strip().partition(" ")
    return (first, rest.strip()) if rest and first in _KINDS else ("", text.strip())


def records_meant(layouts: Layouts, text: str) -> str:
    """A question with the names of records that ``text`` may be a slip of, the nearest first; empty without any."""
    return did_you_mean(bare_name(text), layouts.names(), MOST_OFFERED)


def _not_found(layouts: Layouts, text: str) -> str:
    if text in _KINDS:
        return f"{text!r} is not a record name; quote both words, as in '{text} name', or leave it out"
    if near := records_meant(layouts, text):
        offer = near
    elif len(known := layouts.names()) <= MOST_LISTED:
        offer = f"it has {', '.join(known)}" if known else "it has none at all"
    else:
        offer = "a pattern such as 'tcp_*' lists types"
    return f"no type {text!r} in the debug information; {offer}"


def flaw(layouts: Iterable[Layout]) -> str | None:
    """What is wrong with the layouts of a whole file, given by id; ``None`` when nothing is.

    Sound layouts have the ids 0, 1, 2 ..., sizes, offsets (bytes and bits) and alignments that are possible, members
    inside of their records, members of records that are among them, and no record that holds itself by value. Takes
    time linear in the members.
    """
    held: list[tuple[int, ...]] = []
    for number, layout in enumerate(layouts):
        wrong = _flaw_of_record(number, layout)
        if wrong is not None:
            return wrong
        held.append(tuple(member.record for member in layout.members if member.record is not None))
    for number, inner in enumerate(held):
        if any(not 0 <= one < len(held) for one in inner):
            return f"record {number} has a member whose type does not exist"
    return "a record holds itself by value" if _has_ring(held) else None


def _flaw_of_record(number: int, layout: Layout) -> str | None:
    if layout.id != number:
        return f"record {number} has the id {layout.id}"
    if not 0 <= layout.size < MOST or not _are_alignments(layout.natural_alignment, layout.alignment):
        return f"record {number} has an impossible size or alignment"
    for index, member in enumerate(layout.members):
        places = (member.offset, member.size, member.bit_offset or 0, member.bit_size or 0, *member.dimensions)
        possible = min(places) >= 0 and max(places) < MOST
        if not possible or not _are_alignments(member.natural_alignment, member.alignment):
            return f"member {index} of record {number} has an impossible place or alignment"
        if member.used_end > layout.size:  # the storage unit of a packed bit-field may reach behind the record
            return f"member {index} of record {number} ends behind the record"
    return None


def _are_alignments(natural: int, stated: int | None) -> bool:
    """Whether both are powers of two, where the second is stated."""
    return all(one is None or (0 < one < MOST and one & (one - 1) == 0) for one in (natural, stated))


def _has_ring(held: Sequence[tuple[int, ...]]) -> bool:
    """Whether a record holds itself, directly or by way of others; ``held`` are the ids in each record."""
    holders = [0] * len(held)
    for inner in held:
        for one in inner:
            holders[one] += 1
    free = [number for number, count in enumerate(holders) if not count]
    taken = 0
    while free:  # records that nothing holds any more are taken away; those of a ring stay
        taken += 1
        for one in held[free.pop()]:
            holders[one] -= 1
            if not holders[one]:
                free.append(one)
    return taken < len(held)
