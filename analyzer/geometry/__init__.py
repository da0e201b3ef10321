# SPDX-License-Identifier: GPL-2.0-or-later
"""What follows from a layout by arithmetic alone: gaps, lines, phases, leaves and inferred alignment."""

from linesmith.analyzer.geometry.alignment import inferred_alignment, inferred_packed, inferred_record_alignment
from linesmith.analyzer.geometry.gaps import BitHole, Gaps, Hole, gaps, inner_padding
from linesmith.analyzer.geometry.leaves import flatten, leaf_at, leaves_at
from linesmith.analyzer.geometry.lines import line_of, lines, lines_touched, straddles
from linesmith.analyzer.geometry.phase import Span, meet, meeting_phases, meeting_share, phases

__all__ = [
    "BitHole",
    "Gaps",
    "Hole",
    "Span",
    "flatten",
    "gaps",
    "inferred_alignment",
    "inferred_packed",
    "inferred_record_alignment",
    "inner_padding",
    "leaf_at",
    "leaves_at",
    "line_of",
    "lines",
    "lines_touched",
    "meet",
    "meeting_phases",
    "meeting_share",
    "phases",
    "straddles",
]
