# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the access map of what the native core found: members by name, and the rows in every order."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from linesmith.analyzer.access.access_map import AccessMap
from linesmith.analyzer.access.names import Names, names
from linesmith.analyzer.access.places import NOTHING, Found, Places, distinct_places, find
from linesmith.analyzer.access.raw import RawAccesses
from linesmith.analyzer.layouts import Layouts


def build(raw: RawAccesses, layouts: Layouts) -> AccessMap:
    """The map of ``raw``; ``layouts`` are those of the same reading of the same file."""
    places = distinct_places(raw.type, raw.offset, raw.width)
    found = _found(places, raw.type_layout, layouts)
    place_starts, place_rows = _grouped(places.of_row, len(places.type))
    function_starts, function_rows = _grouped(raw.function, len(raw.functions))
    chain_starts, chain_functions, inlined = _chains(raw.inline_chains)
    entry_layout, entry_place, entry_offset, entry_path, paths = _entries(places, found)
    return AccessMap(
        address=raw.address,
        function=raw.function,
        chain=raw.inlined,
        file=raw.file,
        line=raw.line,
        place=places.of_row,
        width=raw.width,
        kind=raw.kind,
        outcome=raw.outcome,
        variable=raw.variable,
        place_type=places.type,
        place_offset=places.offset,
        place_width=places.width,
        place_starts=place_starts,
        place_rows=place_rows,
        entry_layout=entry_layout,
        entry_place=entry_place,
        entry_offset=entry_offset,
        entry_path=entry_path,
        function_low=raw.function_low,
        function_high=raw.function_high,
        function_starts=function_starts,
        function_rows=function_rows,
        chain_starts=chain_starts,
        chain_functions=chain_functions,
        functions=names(raw.functions),
        inlined=inlined,
        files=names(raw.files),
        types=names(raw.types),
        variables=names(raw.variables),
        place_path=names(one.path for one in found),
        paths=paths,
    )


def _found(places: Places, type_layout: NDArray[np.int64], layouts: Layouts) -> list[Found]:
    """What each place is."""
    found = [NOTHING]
    ids = type_layout[places.type].tolist()
    for layout_id, offset, width in zip(ids[1:], places.offset[1:].tolist(), places.width[1:].tolist(), strict=True):
        found.append(find(layouts.by_id(layout_id), layouts, offset, width) if layout_id >= 0 else NOTHING)
    return found


def _grouped(group: NDArray[np.uint32], groups: int) -> tuple[NDArray[np.uint64], NDArray[np.uint32]]:
    """Where each group starts in the list of all rows by group, and that list; rows of a group stay in order."""
    starts = np.zeros(groups + 1, np.uint64)
    np.cumsum(np.bincount(group, minlength=groups), out=starts[1:])
    return starts, np.argsort(group, kind="stable").astype(np.uint32)


def _chains(inline_chains: Sequence[Sequence[str]]) -> tuple[NDArray[np.uint64], NDArray[np.uint32], Names]:
    numbers: dict[str, int] = {}
    flat = [numbers.setdefault(name, len(numbers)) for name in chain.from_iterable(inline_chains)]
    starts = np.zeros(len(inline_chains) + 1, np.uint64)
    np.cumsum([len(one) for one in inline_chains], out=starts[1:])
    return starts, np.array(flat, np.uint32), names(numbers)


def _entries(
    places: Places, found: Sequence[Found]
) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.int32], NDArray[np.uint32], Names]:
    """(layout, place, offset into the record, path of the record) of every record that a place falls into."""
    paths: dict[str, int] = {"": 0}
    rows = [
        (entered.record, place, offset - entered.offset, paths.setdefault(entered.path, len(paths)))
        for place, (one, offset) in enumerate(zip(found, places.offset.tolist(), strict=True))
        for entered in one.entered
    ]
    table = np.array(rows, np.int64).reshape(-1, 4)
    layout, place, offset, path = table[np.argsort(table[:, 0], kind="stable")].T
    return (
        layout.astype(np.uint32),
        place.astype(np.uint32),
        offset.astype(np.int32),
        path.astype(np.uint32),
        names(paths),
    )
