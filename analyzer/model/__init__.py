# SPDX-License-Identifier: GPL-2.0-or-later
"""Frozen values that pass between the stages of the pipeline; standard library only.

Units are bytes unless a name says ``bit``. Offsets count from the start of the record that owns the
member; bit offsets count from the record's first bit, least significant first on little-endian targets.

A file is loaded when one of its names is first asked for: ``linesmith layout`` needs none of the later values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from linesmith.analyzer.model.access import (
        AccessCounts,
        AccessKind,
        AccessOutcome,
        AccessSummary,
        AddressAccesses,
        CodeAccess,
        Embedding,
        FunctionAccesses,
        FunctionCounts,
        MemberAccesses,
        TypeAccesses,
    )
    from linesmith.analyzer.model.build import Built, Recipe, Variant, Workplace
    from linesmith.analyzer.model.candidate import Candidate, Considered, Move, MoveKind, Patch, Prediction, Residual
    from linesmith.analyzer.model.code import Operand, Touched
    from linesmith.analyzer.model.cost import Bounds, LineCost, SharingCost, Side
    from linesmith.analyzer.model.failure import Failure, FailureKind
    from linesmith.analyzer.model.finding import (
        Agreement,
        ConflictPair,
        ContendedLock,
        Finding,
        LineMember,
        LineObject,
        MemberFunction,
        Outcome,
        Protected,
        Triage,
        TriageKind,
    )
    from linesmith.analyzer.model.layout import ElfIdentity, Entered, Layout, Leaf, Member, MemberCategory, RecordKind
    from linesmith.analyzer.model.lines import ADJACENT_LINE_BYTES, CACHE_LINE_BYTES
    from linesmith.analyzer.model.machine import Done, Session, Setting, Site, Step
    from linesmith.analyzer.model.measurement import SIMULATED, Better, Metric, Sample, Use
    from linesmith.analyzer.model.order import Emulation, Guest, Order, Recorded
    from linesmith.analyzer.model.profile import Access, Profile, Remark, SharedLine
    from linesmith.analyzer.model.profile_change import (
        Change,
        Exposure,
        Fate,
        LineChange,
        MemberChange,
        ProfileChange,
    )
    from linesmith.analyzer.model.recording import Conflict, Recording
    from linesmith.analyzer.model.result import Build, Result, Trial
    from linesmith.analyzer.model.sampling import CpuCounts, FileMapping, ObjectBuild, SampleOutcome, Sampling
    from linesmith.analyzer.model.search import Ask, Dimension, Fidelity, Point, Space, Told
    from linesmith.analyzer.model.simulation import (
        Interval,
        Latencies,
        Misses,
        Sharded,
        SimulatedLines,
        SimulatedPair,
        Simulation,
    )
    from linesmith.analyzer.model.slab import (
        CacheRequest,
        PhaseCount,
        SlabBasis,
        SlabCache,
        SlabGeometry,
        SlabMachine,
        SlabPlace,
    )
    from linesmith.analyzer.model.snapshot import ObjectArea, ObjectKind, Snapshot
    from linesmith.analyzer.model.tuning import Budget, Evidence, Searching, TunePlan
    from linesmith.analyzer.model.verdict import Comparison, Rules, VerdictKind
else:
    from importlib import import_module

    def __getattr__(name: str) -> object:
        """The value called ``name``, from the file that owns it; raises ``AttributeError``."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


_NAMES = {
    "access": (
        "AccessCounts",
        "AccessKind",
        "AccessOutcome",
        "AccessSummary",
        "AddressAccesses",
        "CodeAccess",
        "Embedding",
        "FunctionAccesses",
        "FunctionCounts",
        "MemberAccesses",
        "TypeAccesses",
    ),
    "build": (
        "Built",
        "Recipe",
        "Variant",
        "Workplace",
    ),
    "candidate": (
        "Candidate",
        "Considered",
        "Move",
        "MoveKind",
        "Patch",
        "Prediction",
        "Residual",
    ),
    "code": (
        "Operand",
        "Touched",
    ),
    "cost": (
        "Bounds",
        "LineCost",
        "SharingCost",
        "Side",
    ),
    "failure": (
        "Failure",
        "FailureKind",
    ),
    "finding": (
        "Agreement",
        "ConflictPair",
        "ContendedLock",
        "Finding",
        "LineMember",
        "LineObject",
        "MemberFunction",
        "Outcome",
        "Protected",
        "Triage",
        "TriageKind",
    ),
    "layout": (
        "ElfIdentity",
        "Entered",
        "Layout",
        "Leaf",
        "Member",
        "MemberCategory",
        "RecordKind",
    ),
    "lines": (
        "ADJACENT_LINE_BYTES",
        "CACHE_LINE_BYTES",
    ),
    "machine": (
        "Done",
        "Session",
        "Setting",
        "Site",
        "Step",
    ),
    "measurement": (
        "SIMULATED",
        "Better",
        "Metric",
        "Sample",
        "Use",
    ),
    "order": (
        "Emulation",
        "Guest",
        "Order",
        "Recorded",
    ),
    "profile": (
        "Access",
        "Profile",
        "Remark",
        "SharedLine",
    ),
    "profile_change": (
        "Change",
        "Exposure",
        "Fate",
        "LineChange",
        "MemberChange",
        "ProfileChange",
    ),
    "recording": (
        "Conflict",
        "Recording",
    ),
    "result": (
        "Build",
        "Result",
        "Trial",
    ),
    "sampling": (
        "CpuCounts",
        "FileMapping",
        "ObjectBuild",
        "SampleOutcome",
        "Sampling",
    ),
    "search": (
        "Ask",
        "Dimension",
        "Fidelity",
        "Point",
        "Space",
        "Told",
    ),
    "simulation": (
        "Interval",
        "Latencies",
        "Misses",
        "Sharded",
        "SimulatedLines",
        "SimulatedPair",
        "Simulation",
    ),
    "slab": ("CacheRequest", "PhaseCount", "SlabBasis", "SlabCache", "SlabGeometry", "SlabMachine", "SlabPlace"),
    "snapshot": (
        "ObjectArea",
        "ObjectKind",
        "Snapshot",
    ),
    "tuning": (
        "Budget",
        "Evidence",
        "Searching",
        "TunePlan",
    ),
    "verdict": (
        "Comparison",
        "Rules",
        "VerdictKind",
    ),
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names}

__all__ = [
    "ADJACENT_LINE_BYTES",
    "CACHE_LINE_BYTES",
    "SIMULATED",
    "Access",
    "AccessCounts",
    "AccessKind",
    "AccessOutcome",
    "AccessSummary",
    "AddressAccesses",
    "Agreement",
    "Ask",
    "Better",
    "Bounds",
    "Budget",
    "Build",
    "Built",
    "CacheRequest",
    "Candidate",
    "Change",
    "CodeAccess",
    "Comparison",
    "Conflict",
    "ConflictPair",
    "Considered",
    "ContendedLock",
    "CpuCounts",
    "Dimension",
    "Done",
    "ElfIdentity",
    "Embedding",
    "Emulation",
    "Entered",
    "Evidence",
    "Exposure",
    "Failure",
    "FailureKind",
    "Fate",
    "Fidelity",
    "FileMapping",
    "Finding",
    "FunctionAccesses",
    "FunctionCounts",
    "Guest",
    "Interval",
    "Latencies",
    "Layout",
    "Leaf",
    "LineChange",
    "LineCost",
    "LineMember",
    "LineObject",
    "Member",
    "MemberAccesses",
    "MemberCategory",
    "MemberChange",
    "MemberFunction",
    "Metric",
    "Misses",
    "Move",
    "MoveKind",
    "ObjectArea",
    "ObjectBuild",
    "ObjectKind",
    "Operand",
    "Order",
    "Outcome",
    "Patch",
    "PhaseCount",
    "Point",
    "Prediction",
    "Profile",
    "ProfileChange",
    "Protected",
    "Recipe",
    "RecordKind",
    "Recorded",
    "Recording",
    "Remark",
    "Residual",
    "Result",
    "Rules",
    "Sample",
    "SampleOutcome",
    "Sampling",
    "Searching",
    "Session",
    "Setting",
    "Sharded",
    "SharedLine",
    "SharingCost",
    "Side",
    "SimulatedLines",
    "SimulatedPair",
    "Simulation",
    "Site",
    "SlabBasis",
    "SlabCache",
    "SlabGeometry",
    "SlabMachine",
    "SlabPlace",
    "Snapshot",
    "Space",
    "Step",
    "Told",
    "Touched",
    "Triage",
    "TriageKind",
    "Trial",
    "TunePlan",
    "TypeAccesses",
    "Use",
    "Variant",
    "VerdictKind",
    "Workplace",
]
