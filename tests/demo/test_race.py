# SPDX-License-Identifier: GPL-2.0-or-later
"""What the figures of two series of runs allow to say."""

from __future__ import annotations

from math import comb
from pathlib import Path

import pytest

from linesmith.analyzer.demo.cpus import CpuChoice, Placement
from linesmith.analyzer.demo.race import Verdict, compare, interval_rank, run
from linesmith.analyzer.errors import VerificationFailed


def test_a_clear_gain_in_every_round_is_better() -> None:
    comparison = compare([100.0] * 12, [180.0 + round_ for round_ in range(12)])
    assert comparison.verdict is Verdict.BETTER
    assert comparison.ratio == pytest.approx(1.855)
    assert 1.8 <= comparison.low < comparison.ratio < comparison.high <= 1.91


def test_a_clear_loss_is_worse() -> None:
    assert compare([100.0] * 12, [90.0] * 12).verdict is Verdict.WORSE


def test_small_changes_both_ways_are_no_difference() -> None:
    after = [99.0, 101.0] * 6
    assert compare([100.0] * 12, after).verdict is Verdict.NO_DIFFERENCE


def test_large_changes_both_ways_are_noise_whatever_the_median() -> None:
    after = [60.0, 170.0] * 6
    assert compare([100.0] * 12, after).verdict is Verdict.TOO_NOISY


def test_one_outlier_does_not_move_the_interval() -> None:
    comparison = compare([100.0] * 12, [150.0] * 11 + [5000.0])
    assert (comparison.low, comparison.high) == (1.5, 1.5)


@pytest.mark.parametrize(("count", "rank"), [(5, 1), (6, 1), (9, 2), (12, 3), (20, 6)])
def test_ranks_are_those_of_the_sign_test(count: int, rank: int) -> None:
    assert interval_rank(count) == rank


def test_twelve_runs_enclose_the_median_with_96_percent() -> None:
    rank = interval_rank(12)
    outside = 2 * sum(comb(12, below) for below in range(rank)) / 2**12
    assert 1 - outside == pytest.approx(0.9614, abs=1e-4)


def test_a_program_that_fails_is_reported_with_its_words(tmp_path: Path) -> None:
    program = tmp_path / "bench"
    program.write_text("#!/bin/sh\necho no such CPU >&2\nexit 1\n")
    program.chmod(0o755)
    with pytest.raises(VerificationFailed, match="ended with status 1: no such CPU"):
        run(program, CpuChoice((0, 1), Placement.CORES), 50)


def test_a_directory_without_execution_is_told_by_what_to_do(tmp_path: Path) -> None:
    program = tmp_path / "bench"
    program.write_text("#!/bin/sh\n")
    with pytest.raises(VerificationFailed, match="set TMPDIR to a directory from which programs may be run"):
        run(program, CpuChoice((0, 1), Placement.CORES), 50)
