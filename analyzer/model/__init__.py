# SPDX-License-Identifier: GPL-2.0-or-later
# mypy: implicit-reexport
# ruff: noqa: F403
"""Frozen values that pass between the stages of the pipeline; standard library only.

Units are bytes unless a name says ``bit``. Offsets count from the start of the record that owns the
member; bit offsets count from the record's first bit, least significant first on little-endian targets.

Each name is in the table below, with its file; a file is loaded when one of its names is asked for, because all of
them together take a tenth of a second and ``linesmith layout`` needs one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from linesmith.analyzer.model.access import *
    from linesmith.analyzer.model.candidate import *
    from linesmith.analyzer.model.finding import *
    from linesmith.analyzer.model.layout import *
    from linesmith.analyzer.model.line_map import *
    from linesmith.analyzer.model.lint import *
    from linesmith.analyzer.model.measurement import *
    from linesmith.analyzer.model.profile import *
    from linesmith.analyzer.model.run import *
    from linesmith.analyzer.model.slab import *
    from linesmith.analyzer.model.source import *
else:
    from importlib import import_module

    # The names of each file, separated by blanks.
    _NAMES = {
        "access": (
            "AccessCounts AccessKind AccessOutcome AccessSummary AddressAccesses CallPath CodeAccess Embedding "
            "FunctionAccesses FunctionCounts HandedAddress MOST_CALLERS MOST_CALL_PATHS MemberAccesses "
            "TypeAccesses spot"
        ),
        "candidate": (
            "Accessor Candidate Churn CommitMessage Gain HolderChange Interval JudgedLine JudgedPair Judgement "
            "LENGTH LETTERS MemoryUse Move MoveKind NOT_JUDGED ONE_COPY Patch PhaseProof PlacePhases Residual Sharded "
            "Strategy StructuralAdvice StructureKind candidate_name"
        ),
        "finding": (
            "Agreement Bounds CoherenceStep ConflictPair ContendedLock Finding LineCost LineMember LineObject "
            "LineState MemberFunction Outcome Protected SharingCost Side StepTable Triage TriageKind VariableRow"
        ),
        "layout": (
            "ADJACENT_LINE_BYTES CACHE_LINE_BYTES ElfIdentity Entered Layout Leaf Member MemberCategory MemberPair "
            "Operand RecordKind Touched top_member"
        ),
        "line_map": "Cell CellKind FactKind LineMap MapLine NO_FACTS SourceFact SourceFacts Toucher",
        "lint": (
            "Accepted Figure Intent Isolation LintChoice LintReport MemberGroup NO_INTENT Severity SizeBudget "
            "Suppression TypeIntent Violation"
        ),
        "measurement": (
            "Better Change Comparison Done Exposure Failure FailureKind Fate LayoutBlame LayoutCause MemberChange "
            "Metric ObjectChange ProfileChange Rules SIMULATED Sample Session Setting Site Step Use VerdictKind"
        ),
        "profile": (
            "Access CacheLine Conflict CpuCounts FileMapping Latencies LineCounts Misses ObjectBuild Profile "
            "Recording Remark SampleOutcome Sampling"
        ),
        "run": (
            "Ask Budget Build Built Check Dimension Emulation Evidence Fidelity Guest Order Point Readiness "
            "Recipe Recorded Result Searching Space Told Trial TunePlan Variant Workplace"
        ),
        "slab": (
            "CacheRequest ObjectArea ObjectKind PhaseCount SlabBasis SlabCache SlabGeometry SlabMachine SlabPlace "
            "Snapshot"
        ),
        "source": (
            "CompiledRecord CompiledSize CompiledUser ConfigurationCheck Dependency DependencyKind FileChange "
            "MemberSource MemberUse PatchSeries RecordSource Refusal RefusalCode SeriesStep SourceScan SourceSpan "
            "UseKind"
        ),
    }
    _HOMES = {name: file for file, names in _NAMES.items() for name in names.split()}

    def __getattr__(name: str) -> object:
        """The value called ``name``, from the file that owns it; raises ``AttributeError``."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
