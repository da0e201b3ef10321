# SPDX-License-Identifier: GPL-2.0-or-later
"""What follows from a layout by arithmetic alone: gaps, lines, phases, leaves and inferred alignment."""

from linesmith.analyzer.geometry.alignment import (
    inferred_alignments,
    inferred_packed,
    inferred_record_alignment,
)
from linesmith.analyzer.geometry.asked_alignment import AskedAlignment, asked_alignments, asked_at_least
from linesmith.analyzer.geometry.gaps import BitHole, Gaps, Hole, gaps, inner_padding
from linesmith.analyzer.geometry.leaves import flatten, leaf_at, leaves_at
from linesmith.analyzer.geometry.lines import line_of, lines, lines_touched, straddles
from linesmith.analyzer.geometry.naming import Named, nameable, named
from linesmith.analyzer.geometry.phase import ObjectStarts, Span, meet, meeting_phases, meeting_share, phases

__all__ = [
    "AskedAlignment",
    "BitHole",
    "Gaps",
    "Hole",
    "Named",
    "ObjectStarts",
    "Span",
    "asked_alignments",
    "asked_at_least",
    "flatten",
    "gaps",
    "inferred_alignments",
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
    "nameable",
    "named",
    "phases",
    "straddles",
]
