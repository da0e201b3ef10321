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
    from linesmith.analyzer.model.candidate import (
        Candidate,
        Churn,
        Considered,
        Move,
        MoveKind,
        Optimality,
        Patch,
        Prediction,
        Residual,
        Strategy,
    )
    from linesmith.analyzer.model.check import Check, Readiness
    from linesmith.analyzer.model.code import Operand, Touched
    from linesmith.analyzer.model.coherence_step import CoherenceStep, LineState, StepTable
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
        VariableRow,
    )
    from linesmith.analyzer.model.group_doc import DocumentedMember, GroupDoc
    from linesmith.analyzer.model.intent import (
        NO_INTENT,
        Intent,
        Isolation,
        LintChoice,
        MemberGroup,
        SizeBudget,
        Suppression,
        TypeIntent,
    )
    from linesmith.analyzer.model.layout import ElfIdentity, Entered, Layout, Leaf, Member, MemberCategory, RecordKind
    from linesmith.analyzer.model.line_map import Cell, CellKind, LineMap, MapLine, Toucher
    from linesmith.analyzer.model.lines import ADJACENT_LINE_BYTES, CACHE_LINE_BYTES
    from linesmith.analyzer.model.lint import Accepted, Figure, LintReport, Severity, Violation
    from linesmith.analyzer.model.machine import Done, Session, Setting, Site, Step
    from linesmith.analyzer.model.matrix import CompiledRecord, CompiledSize, CompiledUser, ConfigurationCheck
    from linesmith.analyzer.model.measurement import SIMULATED, Better, Metric, Sample, Use
    from linesmith.analyzer.model.order import Emulation, Guest, Order, Recorded
    from linesmith.analyzer.model.prediction import (
        CoAccess,
        HolderChange,
        LayoutCost,
        MemoryUse,
        PhaseProof,
        PlacePhases,
        ReplayedSaving,
        Saving,
    )
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
    from linesmith.analyzer.model.refusal import Refusal, RefusalCode
    from linesmith.analyzer.model.result import Build, Result, Trial
    from linesmith.analyzer.model.sampling import CpuCounts, FileMapping, ObjectBuild, SampleOutcome, Sampling
    from linesmith.analyzer.model.search import Ask, Dimension, Fidelity, Point, Space, Told
    from linesmith.analyzer.model.series import FileChange, PatchSeries, SeriesStep
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
    from linesmith.analyzer.model.source_facts import NO_FACTS, FactKind, SourceFact, SourceFacts
    from linesmith.analyzer.model.source_scan import (
        Dependency,
        DependencyKind,
        MemberSource,
        MemberUse,
        RecordSource,
        SourceScan,
        SourceSpan,
        UseKind,
    )
    from linesmith.analyzer.model.structure import Accessor, Gain, StructuralAdvice, StructureKind
    from linesmith.analyzer.model.tuning import Budget, Evidence, Searching, TunePlan
    from linesmith.analyzer.model.verdict import Comparison, Rules, VerdictKind
else:
    from importlib import import_module

    def __getattr__(name: str) -> object:
        """The value called ``name``, from the file that owns it; raises ``AttributeError``."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


# By the file that owns them.
_NAMES = {
    "access": (
        "AccessCounts AccessKind AccessOutcome AccessSummary AddressAccesses CodeAccess Embedding FunctionAccesses "
        "FunctionCounts MemberAccesses TypeAccesses"
    ),
    "build": "Built Recipe Variant Workplace",
    "candidate": "Candidate Churn Considered Move MoveKind Optimality Patch Prediction Residual Strategy",
    "check": "Check Readiness",
    "code": "Operand Touched",
    "coherence_step": "CoherenceStep LineState StepTable",
    "cost": "Bounds LineCost SharingCost Side",
    "failure": "Failure FailureKind",
    "finding": (
        "Agreement ConflictPair ContendedLock Finding LineMember LineObject MemberFunction Outcome Protected "
        "Triage TriageKind VariableRow"
    ),
    "group_doc": "DocumentedMember GroupDoc",
    "layout": "ElfIdentity Entered Layout Leaf Member MemberCategory RecordKind",
    "intent": "NO_INTENT Intent Isolation LintChoice MemberGroup SizeBudget Suppression TypeIntent",
    "line_map": "Cell CellKind LineMap MapLine Toucher",
    "lint": "Accepted Figure LintReport Severity Violation",
    "lines": "ADJACENT_LINE_BYTES CACHE_LINE_BYTES",
    "machine": "Done Session Setting Site Step",
    "measurement": "SIMULATED Better Metric Sample Use",
    "order": "Emulation Guest Order Recorded",
    "prediction": "CoAccess HolderChange LayoutCost MemoryUse PhaseProof PlacePhases ReplayedSaving Saving",
    "profile": "Access Profile Remark SharedLine",
    "profile_change": "Change Exposure Fate LineChange MemberChange ProfileChange",
    "recording": "Conflict Recording",
    "result": "Build Result Trial",
    "sampling": "CpuCounts FileMapping ObjectBuild SampleOutcome Sampling",
    "search": "Ask Dimension Fidelity Point Space Told",
    "simulation": "Interval Latencies Misses Sharded SimulatedLines SimulatedPair Simulation",
    "slab": "CacheRequest PhaseCount SlabBasis SlabCache SlabGeometry SlabMachine SlabPlace",
    "snapshot": "ObjectArea ObjectKind Snapshot",
    "matrix": "CompiledRecord CompiledSize CompiledUser ConfigurationCheck",
    "refusal": "Refusal RefusalCode",
    "series": "FileChange PatchSeries SeriesStep",
    "source_scan": "Dependency DependencyKind MemberSource MemberUse RecordSource SourceScan SourceSpan UseKind",
    "source_facts": "FactKind NO_FACTS SourceFact SourceFacts",
    "structure": "Accessor Gain StructuralAdvice StructureKind",
    "tuning": "Budget Evidence Searching TunePlan",
    "verdict": "Comparison Rules VerdictKind",
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}

__all__ = [
    "ADJACENT_LINE_BYTES",
    "CACHE_LINE_BYTES",
    "NO_FACTS",
    "NO_INTENT",
    "SIMULATED",
    "Accepted",
    "Access",
    "AccessCounts",
    "AccessKind",
    "AccessOutcome",
    "AccessSummary",
    "Accessor",
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
    "Cell",
    "CellKind",
    "Change",
    "Check",
    "Churn",
    "CoAccess",
    "CodeAccess",
    "CoherenceStep",
    "Comparison",
    "CompiledRecord",
    "CompiledSize",
    "CompiledUser",
    "ConfigurationCheck",
    "Conflict",
    "ConflictPair",
    "Considered",
    "ContendedLock",
    "CpuCounts",
    "Dependency",
    "DependencyKind",
    "Dimension",
    "DocumentedMember",
    "Done",
    "ElfIdentity",
    "Embedding",
    "Emulation",
    "Entered",
    "Evidence",
    "Exposure",
    "FactKind",
    "Failure",
    "FailureKind",
    "Fate",
    "Fidelity",
    "Figure",
    "FileChange",
    "FileMapping",
    "Finding",
    "FunctionAccesses",
    "FunctionCounts",
    "Gain",
    "GroupDoc",
    "Guest",
    "HolderChange",
    "Intent",
    "Interval",
    "Isolation",
    "Latencies",
    "Layout",
    "LayoutCost",
    "Leaf",
    "LineChange",
    "LineCost",
    "LineMap",
    "LineMember",
    "LineObject",
    "LineState",
    "LintChoice",
    "LintReport",
    "MapLine",
    "Member",
    "MemberAccesses",
    "MemberCategory",
    "MemberChange",
    "MemberFunction",
    "MemberGroup",
    "MemberSource",
    "MemberUse",
    "MemoryUse",
    "Metric",
    "Misses",
    "Move",
    "MoveKind",
    "ObjectArea",
    "ObjectBuild",
    "ObjectKind",
    "Operand",
    "Optimality",
    "Order",
    "Outcome",
    "Patch",
    "PatchSeries",
    "PhaseCount",
    "PhaseProof",
    "PlacePhases",
    "Point",
    "Prediction",
    "Profile",
    "ProfileChange",
    "Protected",
    "Readiness",
    "Recipe",
    "RecordKind",
    "RecordSource",
    "Recorded",
    "Recording",
    "Refusal",
    "RefusalCode",
    "Remark",
    "ReplayedSaving",
    "Residual",
    "Result",
    "Rules",
    "Sample",
    "SampleOutcome",
    "Sampling",
    "Saving",
    "Searching",
    "SeriesStep",
    "Session",
    "Setting",
    "Severity",
    "Sharded",
    "SharedLine",
    "SharingCost",
    "Side",
    "SimulatedLines",
    "SimulatedPair",
    "Simulation",
    "Site",
    "SizeBudget",
    "SlabBasis",
    "SlabCache",
    "SlabGeometry",
    "SlabMachine",
    "SlabPlace",
    "Snapshot",
    "SourceFact",
    "SourceFacts",
    "SourceScan",
    "SourceSpan",
    "Space",
    "Step",
    "StepTable",
    "Strategy",
    "StructuralAdvice",
    "StructureKind",
    "Suppression",
    "Told",
    "Touched",
    "Toucher",
    "Triage",
    "TriageKind",
    "Trial",
    "TunePlan",
    "TypeAccesses",
    "TypeIntent",
    "Use",
    "UseKind",
    "VariableRow",
    "Variant",
    "VerdictKind",
    "Violation",
    "Workplace",
]
