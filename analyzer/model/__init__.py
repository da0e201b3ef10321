# SPDX-License-Identifier: GPL-2.0-or-later
"""Frozen values that pass between the stages of the pipeline; standard library only.

Units are bytes unless a name says ``bit``. Offsets count from the start of the record that owns the
member; bit offsets count from the record's first bit, least significant first on little-endian targets.
"""

from linesmith.analyzer.model.candidate import Candidate, Considered, Move, MoveKind, Patch, Prediction, Residual
from linesmith.analyzer.model.code import Operand, Touched
from linesmith.analyzer.model.finding import (
    ConflictPair,
    Finding,
    LineMember,
    LineObject,
    MemberFunction,
    Outcome,
    Triage,
    TriageKind,
)
from linesmith.analyzer.model.layout import ElfIdentity, Layout, Leaf, Member, MemberCategory, RecordKind
from linesmith.analyzer.model.lines import ADJACENT_LINE_BYTES, CACHE_LINE_BYTES
from linesmith.analyzer.model.profile import Access, Profile, Remark, SharedLine

__all__ = [
    "ADJACENT_LINE_BYTES",
    "CACHE_LINE_BYTES",
    "Access",
    "Candidate",
    "ConflictPair",
    "Considered",
    "ElfIdentity",
    "Finding",
    "Layout",
    "Leaf",
    "LineMember",
    "LineObject",
    "Member",
    "MemberCategory",
    "MemberFunction",
    "Move",
    "MoveKind",
    "Operand",
    "Outcome",
    "Patch",
    "Prediction",
    "Profile",
    "RecordKind",
    "Remark",
    "Residual",
    "SharedLine",
    "Touched",
    "Triage",
    "TriageKind",
]
