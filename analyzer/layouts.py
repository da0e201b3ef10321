# SPDX-License-Identifier: GPL-2.0-or-later
"""A set of layouts that refer to each other by id: what every stage behind the readers asks for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from linesmith.analyzer.model import Layout


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
