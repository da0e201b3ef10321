# SPDX-License-Identifier: GPL-2.0-or-later
"""The report of a whole run: verdict first, then what it rests on, and what was not checked; its evidence as well."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from documented import obeys
from finished_run import CONFIRMED, RUN
from measured import compared, comparison

from linesmith.analyzer.model import Better, Failure, FailureKind, Fidelity, Metric, Result, Trial, VerdictKind
from linesmith.analyzer.report.run import render_text
from linesmith.analyzer.report.run_forms import evidence, render_json

EXPECTED = Path(__file__).with_name("expected")
COUNT = Metric("n", "", Better.LOWER)
WITH_OUTLIERS = [
    ((100.0, 101.0), (100.5, 101.5)),
    ((102.0, 100.0), (101.0, 300.0)),
    ((99.0, 100.0), (100.0, 101.0)),
] * 2
# Values of a side, and changes, that are rounded in their own ways; a spread needs two runs and a mean.
SIDES = ((), (0.0, 0.0), (0.000012345,), (0.012345,), (999.949,), (1234567.8,), (2.5e12,))
CHANGES = (0.00004, -0.00004, 0.012, -0.4321, 1e9 - 1, 0.0, 0.0)
LATER_LOG = Failure(FailureKind.BUILD, "no such file; see run/logs/7/make.log", "logs/7/build.log")
# All that is odd in tables: outliers, rows that decide nothing, rounded numbers.
ODD = Result(
    title="odd things",
    baseline="baseline",
    # They are counted anew, say once what they do, and of two logs the one that the reason names.
    trials=(
        *(Trial(number, "", (), Fidelity.ESTIMATE, (number,), 0.9) for number in (1, 2, 3)),
        replace(RUN.trials[0], number=190),
        replace(RUN.trials[0], number=191, fidelity=Fidelity.BENCHMARK),
        replace(RUN.trials[1], number=7, failure=LATER_LOG, moves=()),
    ),
    confirmed=(
        compared(WITH_OUTLIERS),
        comparison(metric=Metric("cycles", "", Better.LOWER), only_shown=True),
        comparison(outliers=tuple(map(float, range(1, 10))), variant="a|b", guard=True, tolerance=0.02, threads=1),
        replace(
            comparison(variant="v1"), verdict=VerdictKind.UNDECIDED, reason="3 blocks with numbers, and 4 are needed"
        ),
    ),
    explored=(
        comparison(-0.2, 0.05, VerdictKind.WORSE, variant="v2", metric=COUNT, guard=True, tolerance=0.02),
        *(
            replace(comparison(variant=f"v{at}", metric=COUNT), base=side, head=side, ratio=1 + change)
            for at, (side, change) in enumerate(zip(SIDES, CHANGES, strict=True), 3)
        ),
        *(comparison(metric=Metric(name, "", Better.LOWER), only_shown=True) for name in ("misses", "cycles")),
    ),
    best="v1",
    advice=("about 2 more blocks",),
    seconds=7500.0,
    # What machines say again and again is said once, and loads column by column.
    facts=(
        *(("cpus", "8"), ("cpus", "8"), ("seconds", "10.4"), ("seconds", "14")),
        *(("host", one) for one in "abcdef"),
        *(("load", "1 2 3"), ("load", "4 2 1"), ("loads", "1 2 3"), ("loads", "4 2")),
    ),
    finished=True,
)


def sections(result: Result) -> dict[str, str]:
    """The sections of the text by their titles."""
    found = [block.partition(":\n") for block in render_text(result).split("\n\n") if ":\n" in block]
    return {title: body.rstrip("\n") for title, _, body in found}


@pytest.mark.parametrize(
    ("name", "run"), [("run", RUN), ("odd", ODD), ("cut-off", Result("exec storm", "baseline", (), seconds=12.0))]
)
def test_a_whole_run_as_text(name: str, run: Result) -> None:
    """The verdict comes first, then what it rests on, and last what was not checked; one cut off claims nothing."""
    assert render_text(run) == (EXPECTED / f"{name}.txt").read_text()


@pytest.mark.parametrize("run", [RUN, ODD, Result("empty", "baseline", ())])
def test_a_run_as_json_is_lossless_and_obeys_the_schema_in_the_docs(run: Result) -> None:
    document = json.loads(render_json(run))
    assert msgspec.convert(document["result"], Result, strict=False) == run
    obeys(document, "report")


def test_bytes_that_are_no_text_are_spelled_out_in_json() -> None:
    document = json.loads(render_json(replace(RUN, remarks=("cannot read caf\udce9.c", "done"))))
    assert document["result"]["remarks"] == ["cannot read caf\\xe9.c", "done"]


SIMULATION = CONFIRMED[3:]
NOTHING = "no variant is confirmed to be better than baseline"
TIME = "time on real hardware"


@pytest.mark.parametrize(
    ("changed", "section", "line"),
    [
        ({"best": None}, "verdict", NOTHING),
        ({"confirmed": SIMULATION}, "verdict", "moved is better than baseline in simulation, confirmed on fresh runs"),
        ({"confirmed": SIMULATION, "best": None}, "verdict", f"{NOTHING} in simulation"),
        (
            {"facts": (("machine", "QEMU, tcg"),)},
            "verdict",
            "moved is better than baseline in an emulated machine, confirmed on fresh runs",
        ),
        ({"best": "v1"}, "verdict", "what v1 does: move `i_mmap_rwsem` behind `flags`"),
        # Simulated counts are no time.
        ({"confirmed": SIMULATION, "samples": ()}, "not checked", f"{TIME}: nothing was timed there"),
        # As when every patch failed and only the placebos ran, or before the first variant has climbed to a machine.
        ({"confirmed": SIMULATION, "best": None}, "not checked", f"{TIME}: only other builds were timed there"),
    ],
)
def test_a_section_says(changed: dict[str, Any], section: str, line: str) -> None:
    assert f"  {line}" in sections(replace(RUN, **changed))[section].splitlines()


def test_patches_of_the_user_are_compared_and_not_chosen() -> None:
    given = replace(RUN, trials=(Trial(1, "moved", (), Fidelity.BENCHMARK, (), 0.95, 0.01),))
    assert list(sections(given))[2] == "compared"
    assert render_text(given).splitlines()[1] == "1 trial, 67 min, finished"


def test_layouts_that_were_only_estimated_are_counted_and_a_point_on_two_rungs_once() -> None:
    wrong = Failure(FailureKind.ILLEGAL, "`a` cannot move")
    cheap = [Trial(n, "", (), Fidelity.ESTIMATE, (n,), 0.9) for n in range(3, 1203)]
    cheap += [replace(one, fidelity=Fidelity.REPLAY) for one in cheap[:5]]
    cheap += [Trial(2000, "", (), Fidelity.ESTIMATE, (2000,), failure=wrong)]
    run = replace(RUN, trials=(*RUN.trials, *cheap))
    assert "\n2 trials (1 failed), 1,201 layouts estimated (1 ruled out), 67 min" in render_text(run)
    assert sections(run)["trials"] == sections(RUN)["trials"]
    again = replace(RUN.trials[0], number=3, fidelity=Fidelity.BENCHMARK)
    assert "\n2 trials (1 failed), 67 min" in render_text(replace(RUN, trials=(*RUN.trials, again)))


def test_what_was_explored_only_leaves_much_unchecked() -> None:
    run = replace(RUN, best=None, confirmed=(), noise=(), finished=False)
    assert sections(run)["not checked"].splitlines() == [
        "  a single thread: the fewest were 8 threads",
        "  what other builds of the same layout differ by (placebos measured: 0)",
        "  other workloads: there was no guard benchmark",
        "  the rest of the plan: the run has not come to its end",
    ]


def test_every_variant_has_its_verdict_the_best_one_first() -> None:
    other = replace(CONFIRMED[1], variant="turned", verdict=VerdictKind.NO_DIFFERENCE)
    shown = replace(CONFIRMED[3], only_shown=True)
    rows = sections(replace(RUN, confirmed=(other, shown, CONFIRMED[1])))["verdict"].splitlines()
    assert [row.split(",")[0] for row in rows] == [
        "  moved is better than baseline",
        "  moved: better",
        "  turned: no difference seen",
    ]


def test_a_reviewer_finds_what_was_measured_simulated_and_left_open() -> None:
    assert evidence(RUN, "moved") == (EXPECTED / "evidence.txt").read_text()


def test_no_line_is_wider_than_a_commit_message_may_be() -> None:
    wide = replace(CONFIRMED[0], benchmark="a-benchmark-with-a-very-long-name", base=(1e11, 3e11), head=(5e11, 1e11))
    text = evidence(replace(RUN, confirmed=(wide, *CONFIRMED), facts=(("machine", "word " * 40),)), "moved")
    assert max(map(len, text.splitlines())) <= 75


WIDE = replace(CONFIRMED[0], base=(79.1e6, 95.3e6), head=(82.1e6, 98.6e6))
FAR_OUT = replace(CONFIRMED[0], outliers=(512.0, 499.0))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"confirmed": (WIDE,)}, "1 thread 87,200,000 ± 13.1% 90,350,000 ± 12.9% 0.00%"),
        ({"confirmed": ()}, "They are runs of the search itself; nothing was confirmed on fresh ones."),
        ({"confirmed": CONFIRMED[3:]}, "Simulated, baseline against this patch; these are counts"),
        ({"confirmed": CONFIRMED[3:], "samples": ()}, "Not measured: time on real hardware: nothing was timed there;"),
        ({"confirmed": (FAR_OUT,)}, "Far-out runs are included: 2 (such as 512)."),
        (
            {"facts": (("machine", "QEMU, tcg"),)},
            "Timed in an emulated machine, which has no caches, baseline against this patch",
        ),
        (
            {"facts": (("machine", "QEMU, tcg"),)},
            "Not measured: time on real hardware: the machine was emulated, and its time knows no caches;",
        ),
    ],
    ids=[
        "large numbers do not touch each other",
        "runs of the search",
        "simulation alone",
        "simulation alone makes no claim about time",
        "far-out runs are not hidden",
        "an emulated machine",
        "time of an emulated machine",
    ],
)
def test_what_a_run_rests_on_is_said(changed: dict[str, Any], said: str) -> None:
    assert said in " ".join(evidence(replace(RUN, **changed), "moved").split())


def test_of_a_variant_that_was_not_measured_nothing_is_said_unless_it_failed() -> None:
    assert evidence(RUN, "v2") == ""
    panic = Failure(FailureKind.PANIC, "Kernel panic - not syncing: Fatal exception", "logs/block-2")
    failed = replace(RUN.trials[0], variant="v7", cost=None, failure=panic)
    assert evidence(replace(RUN, trials=(failed,)), "v7") == (
        "It failed when it was measured: panic: Kernel panic - not syncing: Fatal\nexception.\n"
    )
