# SPDX-License-Identifier: GPL-2.0-or-later
"""Groups that a tree asserts or a build marks, as intents."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from linesmith.analyzer.cli.loading import load
from linesmith.analyzer.errors import IntentError
from linesmith.analyzer.geometry.atoms import GROUP_BEGIN
from linesmith.analyzer.intent import read_symbols
from linesmith.analyzer.intent.assertions import asserted_in, asserted_intents
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.lint.intent_update import MARKED, marker_groups
from linesmith.analyzer.model import TypeIntent


def imported(place: Path, kconfig: Path | None = None) -> tuple[TypeIntent, ...]:
    """What the C code of the tree at ``place`` asserts, or what the ELF file there marks.

    Conditions that no symbols alone can say are decided by ``kconfig``, or else by the ``.config`` of the tree. Raises
    ``IntentError`` where there is nothing, and what reading an ELF file raises.
    """
    if place.is_dir():
        found = asserted_intents(asserted_in(place, _configuration(place, kconfig)))
    else:
        found = tuple(_marked(load(place).layouts))
    if not found:
        what = "no CACHELINE_ASSERT_GROUP_MEMBER()" if place.is_dir() else "no __cacheline_group_begin__ marker"
        raise IntentError(f"{place} has {what}; Linux has them since 6.8")
    return found


def _configuration(tree: Path, kconfig: Path | None) -> frozenset[str] | None:
    file = kconfig or tree / ".config"
    return read_symbols(file) if file.is_file() else None


def _marked(layouts: Layouts) -> Iterator[TypeIntent]:
    """One intent for each record with markers, by name; of layouts of one name the one most used."""
    marked = {one.name for one in layouts if one.name and any(it.name.startswith(GROUP_BEGIN) for it in one.members)}
    for name in sorted(marked):
        layout = layouts.variants(name)[0]
        groups = tuple(marker_groups(layout, layouts))
        if groups:
            place = f" in {layout.place}" if layout.file else ""  # BTF tells none
            yield TypeIntent(name, f"{MARKED}{place}", groups=groups)
