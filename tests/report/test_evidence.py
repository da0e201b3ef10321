# SPDX-License-Identifier: GPL-2.0-or-later
"""The evidence of a commit message: runs, spread, interval, circumstances, and nothing beyond the verdict."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from finished_run import CONFIRMED, RUN

from linesmith.analyzer.model import Failure, FailureKind
from linesmith.analyzer.report.evidence import evidence


def test_a_reviewer_finds_what_was_measured_simulated_and_left_open() -> None:
    assert evidence(RUN, "moved") == Path(__file__).with_name("expected").joinpath("evidence.txt").read_text()


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
        (
            {"confirmed": CONFIRMED[3:], "samples": ()},
            "Not measured: time on real hardware: nothing was timed there;",
        ),
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
