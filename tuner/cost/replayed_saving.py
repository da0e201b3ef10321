# SPDX-License-Identifier: GPL-2.0-or-later
"""How far a predicted saving is from that of a replayed trace."""

from __future__ import annotations

from linesmith.analyzer.model import CACHE_LINE_BYTES, ReplayedSaving, Saving, Simulation


def replayed_saving(saving: Saving, simulation: Simulation) -> ReplayedSaving | None:
    """Both at lines of 64 bytes, objects where the trace had them; ``None`` where either says nothing.

    They are compared as shares of what the record costs before: the profile has the hottest lines, the trace all.
    """
    lines = [one for one in simulation.lines if one.line_bytes == CACHE_LINE_BYTES and one.phases == 1]
    if not lines or not lines[0].before.total or not saving.before:
        return None
    predicted = saving.contended.times(1 / saving.before)
    likely, replayed = saving.likely / saving.before, -lines[0].change
    holds = predicted.least <= replayed <= predicted.most
    return ReplayedSaving(predicted, likely, replayed, likely - replayed, holds)
