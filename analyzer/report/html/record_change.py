# SPDX-License-Identifier: GPL-2.0-or-later
"""A record that two builds lay out otherwise: both layouts, who touches them, and what becomes of what met."""

from __future__ import annotations

from dataclasses import dataclass, field

from linesmith.analyzer.report.html.coherence_steps import Why
from linesmith.analyzer.report.html.layout_pair import LayoutPair
from linesmith.analyzer.report.html.meetings import Meetings
from linesmith.analyzer.report.html.touched_cells import TouchedCell


@dataclass(frozen=True, slots=True)
class RecordChange:
    """``own`` tells that its own declaration was changed; others differ because they hold such a record.

    ``cells`` are of the layout before; ``meetings`` and ``why`` are there where a profile shows who meets whom.
    """

    pair: LayoutPair
    own: bool = True
    cells: tuple[TouchedCell, ...] = ()
    meetings: Meetings = field(default_factory=Meetings)
    why: Why | None = None
