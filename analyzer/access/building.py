# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the access map of what the native core found: members by name, and the rows in every order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from linesmith.analyzer.access.access_map import AccessMap, NameTable
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.leaves import leaves_at
from linesmith.analyzer.model import Entered, Layout, Leaf

if TYPE_CHECKING:
    from linesmith.analyzer.layouts.dwarf import AccessTable

# No machine touches more by one instruction of known width; more would be damage.
WIDEST = 64
# Unions of real kernels have fewer alternatives; damaged ones could cost as much at every place.
ALTERNATIVES = 256


@dataclass(frozen=True, slots=True)
class TouchedPlaces:
    """Distinct (type, offset, width) of rows; ``of_row`` tells the one of each row. Place 0 is what is not known."""

    of_row: NDArray[np.uint32]
    type: NDArray[np.uint32]
    offset: NDArray[np.int32]
    width: NDArray[np.uint16]


@dataclass(frozen=True, slots=True)
class PlaceContent:
    """What a place is: the path of the member there, and the records that its bytes fall into."""

    path: str
    entered: tuple[Entered, ...]


NOTHING = PlaceContent("", ())


def distinct_places(types: NDArray[np.uint32], offset: NDArray[np.int32], width: NDArray[np.uint16]) -> TouchedPlaces:
    """The places of rows with these types, offsets and widths, by type and offset."""
    where = (types.astype(np.uint64) << np.uint64(32)) | offset.view(np.uint32).astype(np.uint64)
    _, spot_of_row = np.unique(where, return_inverse=True)
    keys = (spot_of_row.astype(np.uint64) << np.uint64(16)) | width.astype(np.uint64)
    keys[types == 0] = 0
    _, first, of_row = np.unique(keys, return_index=True, return_inverse=True)
    known = types[first] != 0
    numbers = np.where(known, np.cumsum(known), 0).astype(np.uint32)
    chosen = first[known]
    return TouchedPlaces(
        numbers[of_row],
        np.concatenate((np.zeros(1, np.uint32), types[chosen])),
        np.concatenate((np.zeros(1, np.int32), offset[chosen])),
        np.concatenate((np.zeros(1, np.uint16), width[chosen])),
    )


def find(layout: Layout, layouts: Layouts, offset: int, width: int) -> PlaceContent:
    """What ``width`` bytes at ``offset`` of ``layout`` are; a hole falls into the record itself, nothing else does."""
    leaves = tuple(leaves_within(layout, layouts, offset, width))
    if leaves:
        entered = dict.fromkeys(one for leaf in leaves for one in leaf.entered)
        begins = leaves[0] if leaves[0].offset <= offset else None
        return PlaceContent(begins.path if begins else "", tuple(entered))
    return PlaceContent("", (Entered(layout.id, 0, ""),)) if 0 <= offset < layout.size else NOTHING


def leaves_within(layout: Layout, layouts: Layouts, offset: int, width: int) -> Iterator[Leaf]:
    """The leaves that ``width`` bytes from ``offset`` on touch, by offset: of a union one alternative.

    ``width`` 0 stands for a width that is not known: what begins there.
    """
    at, end = max(offset, 0), offset + min(max(width, 1), WIDEST)
    while at < end:
        # Of alternatives the one that begins there and has this width, else one that begins there, else any.
        alternatives = leaves_at(layout, layouts, at, ALTERNATIVES)
        leaf = min(alternatives, key=lambda one: (one.offset != at, one.size != width), default=None)
        if leaf is not None:
            yield leaf
        at = max(at + 1, leaf.offset + leaf.size if leaf else 0)


def build(table: AccessTable, layouts: Layouts) -> AccessMap:
    """The map of what the native core found; ``layouts`` are those of the same reading of the same file."""
    places = distinct_places(table.type, table.offset, table.width)
    ids = table.type_layout[places.type].tolist()
    content = [
        find(layouts.by_id(layout_id), layouts, offset, width) if number and layout_id >= 0 else NOTHING
        for number, (layout_id, offset, width) in enumerate(
            zip(ids, places.offset.tolist(), places.width.tolist(), strict=True)
        )
    ]
    functions = table.functions
    place_starts, place_rows = _grouped(places.of_row, len(places.type))
    function_starts, function_rows = _grouped(table.function, len(functions))
    chain_starts, chain_functions, inlined = _chains(table.inline_chains)
    entry_layout, entry_place, entry_offset, entry_path, paths = _entries(places, content)
    return AccessMap(
        address=table.address,
        function=table.function,
        chain=table.inlined,
        file=table.file,
        line=table.line,
        place=places.of_row,
        width=table.width,
        kind=table.kind,
        outcome=table.outcome,
        variable=table.variable,
        place_type=places.type,
        place_offset=places.offset,
        place_width=places.width,
        place_starts=place_starts,
        place_rows=place_rows,
        entry_layout=entry_layout,
        entry_place=entry_place,
        entry_offset=entry_offset,
        entry_path=entry_path,
        function_low=table.function_low,
        function_high=table.function_high,
        function_starts=function_starts,
        function_rows=function_rows,
        chain_starts=chain_starts,
        chain_functions=chain_functions,
        functions=NameTable.of(functions),
        inlined=inlined,
        files=NameTable.of(table.files),
        types=NameTable.of(table.types),
        variables=NameTable.of(table.variables),
        place_path=NameTable.of(one.path for one in content),
        paths=paths,
    )


def _grouped(group: NDArray[np.uint32], groups: int) -> tuple[NDArray[np.uint64], NDArray[np.uint32]]:
    """Where each group starts in the list of all rows by group, and that list; rows of a group stay in order."""
    starts = np.zeros(groups + 1, np.uint64)
    np.cumsum(np.bincount(group, minlength=groups), out=starts[1:])
    return starts, np.argsort(group, kind="stable").astype(np.uint32)


def _chains(inline_chains: Sequence[Sequence[str]]) -> tuple[NDArray[np.uint64], NDArray[np.uint32], NameTable]:
    numbers: dict[str, int] = {}
    flat = [numbers.setdefault(name, len(numbers)) for name in chain.from_iterable(inline_chains)]
    starts = np.zeros(len(inline_chains) + 1, np.uint64)
    np.cumsum([len(one) for one in inline_chains], out=starts[1:])
    return starts, np.array(flat, np.uint32), NameTable.of(numbers)


def _entries(
    places: TouchedPlaces, content: Sequence[PlaceContent]
) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.int32], NDArray[np.uint32], NameTable]:
    """(layout, place, offset into the record, path of the record) of every record that a place falls into."""
    paths: dict[str, int] = {"": 0}
    rows = [
        (entered.record, place, offset - entered.offset, paths.setdefault(entered.path, len(paths)))
        for place, (one, offset) in enumerate(zip(content, places.offset.tolist(), strict=True))
        for entered in one.entered
    ]
    table = np.array(rows, np.int64).reshape(-1, 4)
    layout, place, offset, path = table[np.argsort(table[:, 0], kind="stable")].T
    return (
        layout.astype(np.uint32),
        place.astype(np.uint32),
        offset.astype(np.int32),
        path.astype(np.uint32),
        NameTable.of(paths),
    )
