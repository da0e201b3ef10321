# SPDX-License-Identifier: GPL-2.0-or-later
"""The result of a run, written by hand, for tests of the reports."""

from __future__ import annotations

from measured import comparison, samples

from linesmith.analyzer.model import (
    SIMULATED,
    Better,
    Build,
    Failure,
    FailureKind,
    Fidelity,
    Metric,
    Result,
    Trial,
    VerdictKind,
)

MISSES = Metric("pair", "misses/op", Better.LOWER)
FAULTS = Metric("faults_per_second", "faults/s", Better.HIGHER)

CONFIRMED = (
    comparison(0.0, 0.004, threads=1, floor=0.002),
    comparison(0.05, 0.01, VerdictKind.BETTER, floor=0.002),
    comparison(0.0, 0.03, benchmark="page-faults", metric=FAULTS, guard=True, tolerance=0.02),
    comparison(0.6, 0.1, VerdictKind.BETTER, benchmark=SIMULATED, metric=MISSES),
)
TRIALS = (
    Trial(1, "v1", ("move `i_mmap_rwsem` behind `flags`",), Fidelity.SIMULATION, (1,), 0.412, 0.05, None, 41.0),
    Trial(
        2,
        "v2",
        ("swap `flags` and `i_mmap`", "align `i_mmap` to 64 bytes"),
        *(Fidelity.BENCHMARK, (2,), None, 0.0),
        failure=Failure(FailureKind.BUILD, "fs/inode.c:12:1: error: expected ';'", "logs/2/build.log"),
    ),
)
RUN = Result(
    title="exec storm",
    baseline="baseline",
    trials=TRIALS,
    confirmed=CONFIRMED,
    explored=(comparison(0.06, 0.02, VerdictKind.BETTER, blocks=4),),
    noise=(comparison(0.001, 0.005, variant="baseline again"), comparison(0.002, 0.005, variant="placebo-1")),
    best="moved",
    builds=(Build("moved", "0123456789abcdef", 301.0, "gcc 12.2.0", "fedcba9876543210"),),
    samples=samples([((1.0, 1.5), (0.9, 0.8))]),
    patches=(("moved", "patches/moved.patch"),),
    facts=(("cpus", "8"), ("load before", "0.10"), ("load before", "1.25")),
    remarks=("placebo-2 did not boot",),
    finished=True,
    seconds=4000.0,
    confirming=(0,),
)
