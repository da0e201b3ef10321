# SPDX-License-Identifier: GPL-2.0-or-later
"""Members that the sources hold together, such as those of one ``#if``: no candidate parts them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from linesmith.analyzer.cli.analysis import Analysis
    from linesmith.analyzer.model import Layout
    from linesmith.patches.deadline import Deadline
    from linesmith.tuner.premises import Premises


def with_blocks(premises: Premises, found: Analysis, tree: Path | None, deadline: Deadline) -> Premises:
    """``premises`` with the blocks of the records found, as far as the ELF file has their members; the same without
    a ``tree``. Reading that counts against ``deadline``.
    """
    if tree is None:
        return premises
    from linesmith.analyzer.model import SourceFacts
    from linesmith.patches.readiness import held_together
    from linesmith.tuner.constraints.checked import known_facts

    with deadline.running():
        told = SourceFacts(tuple((name, held_together(name, layout, tree)) for name, layout in objects(found).items()))
    known = known_facts(told, found.reading.layouts)
    return replace(premises, facts=SourceFacts((*premises.facts.records, *known.records)))


def objects(found: Analysis) -> dict[str, Layout]:
    """The records that lie on the lines found, by name."""
    layouts = found.reading.layouts
    known = [thing for one in found.findings for thing in one.objects[:1] if thing.layout is not None]
    return {thing.type: layouts.by_id(thing.layout) for thing in known if thing.layout is not None}
