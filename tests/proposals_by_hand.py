# SPDX-License-Identifier: GPL-2.0-or-later
"""A record, the hot line on it, and candidates for it with all that can be said of them, written by hand."""

from __future__ import annotations

from dataclasses import replace

from hand_made import finding, hot, scalar, struct, table

from linesmith.analyzer.layouts.gaps import lines
from linesmith.analyzer.layouts.placement import lay_out
from linesmith.analyzer.model import (
    Accessor,
    Bounds,
    Candidate,
    Churn,
    ConflictPair,
    ElfIdentity,
    Interval,
    JudgedLine,
    JudgedPair,
    Judgement,
    Layout,
    LineCost,
    MemberFunction,
    MemoryUse,
    Move,
    MoveKind,
    PhaseProof,
    Residual,
    SharingCost,
    Side,
    SlabBasis,
    Strategy,
    StructuralAdvice,
    StructureKind,
)
from linesmith.analyzer.report.candidate import Proposed, Suggested
from linesmith.tuner.propose.steps import step_tables

ELF = ElfIdentity("vmlinux", "c0ffee", "x86-64", "executable", True, 8, True, True)
POOL = struct(
    "pool",
    *(scalar("name"), scalar("owner"), scalar("limit"), scalar("used"), scalar("first", 24), scalar("last", 24)),
    *(scalar("spare", 40), scalar("id", 4)),
)
LINE = replace(
    finding(
        POOL,
        [
            replace(hot("limit", 16, 8, reads=100), functions=(MemberFunction("pool_full", 100, 0),)),
            replace(hot("used", 24, 8, writes=80), functions=(MemberFunction("pool_take", 0, 80),)),
        ],
        [ConflictPair("limit", "used", "used", 100)],
    ),
    cost=LineCost(
        contended=100,
        cycles=45600,
        sharings=(SharingCost(Side("limit", 100, 0), Side("used", 0, 80), Bounds(90, 100), Bounds(41000, 45600)),),
        timed=True,
    ),
)
MEMORY = MemoryUse("pool_cache", SlabBasis.COMPUTED, 124, 128, 0, 32, 32, 12800000)


def replayed(after: float, low: float = -0.95, high: float = -0.6, runs: int = 30) -> Judgement:
    """100 misses before, ``after`` then; of 30 runs that samples are like, or of one that was recorded."""
    line = JudgedLine(("limit", "owner"), 96, after - 4)
    pair = JudgedPair("limit", "used", true_sharing=False, before=90, after=after - 10)
    return Judgement(100, after, Interval(low, high), 5000, (line,), (pair,), runs, 8, 64, 1, 5000)


def reordered(*names: str, align: tuple[str, int] | None = None) -> Layout:
    """The record with its members in this order; one may get an alignment."""
    by_name = {member.name: member for member in POOL.members}
    if align:
        by_name[align[0]] = replace(by_name[align[0]], alignment=align[1])
    return lay_out(POOL, tuple(by_name[name] for name in names))


def moved() -> Candidate:
    """``used`` moved behind everything: never on the line of ``limit`` again."""
    after = reordered("name", "owner", "limit", "first", "last", "spare", "id", "used")
    near, far = Residual("limit", "used", 64, 0.875, 0.0), Residual("limit", "used", 128, 0.9375, 0.1875)
    proofs = (
        PhaseProof("limit", "used", "", 64, 8, 0, 0.0),
        PhaseProof("limit", "used", "", 128, 16, 3, 0.1875),
        PhaseProof("limit", "used", "pool_cache", 128, 1, 1, 1.0),
    )
    return Candidate(
        "pool",
        POOL,
        after,
        (Move(MoveKind.MOVE, "used", "id"),),
        (near, far),
        lines(after),
        notes=("Only the layout was checked.",),
        memory=((MEMORY,), (MEMORY,)),
        judgement=replayed(12),
        churn=Churn(1, 2, 1),
        proofs=proofs,
        recommended="The smallest change that leaves nothing.",
    )


def aligned() -> Candidate:
    """``used`` on a line of its own, which makes the record larger."""
    order = ("name", "owner", "limit", "used", "first", "last", "spare", "id")
    after = reordered(*order, align=("used", 64))
    memory = replace(MEMORY, object_bytes=192, stride=192, objects_per_slab=21, pages_per_1000=48)
    return Candidate(
        "pool",
        POOL,
        after,
        (Move(MoveKind.ALIGN, "used", align=64),),
        (Residual("limit", "used", 64, 0.875, 0.0),),
        lines(after),
        strategy=Strategy.ALIGN,
        memory=((MEMORY,), (memory,)),
        judgement=replayed(4),
        churn=Churn(1, 2, 1),
    )


SPLIT = StructuralAdvice(
    StructureKind.COUNT_APART,
    "pool",
    ("used",),
    "count used for each CPU and add up on reading",
    reasons=("80 stores of 7 CPUs",),
    accessors=(Accessor("pool_take", 80, (), ("used",)),),
    notes=("A reader sees a sum that is about right.",),
)


def proposed(*candidates: Candidate, declined: str = "", advice: tuple[StructuralAdvice, ...] = ()) -> Proposed:
    """The line with these candidates and their coherence steps."""
    steps = tuple(step_tables(LINE, one, table(POOL)) for one in candidates)
    return Proposed(LINE, candidates, steps, declined=declined, advice=advice)


def suggested(*lines_: Proposed) -> Suggested:
    """What a command found, with the lines given."""
    return Suggested(ELF, "c2c.txt", table(POOL), lines_, tuple(one.finding for one in lines_))
