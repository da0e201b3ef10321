# SPDX-License-Identifier: GPL-2.0-or-later
"""Pieces of work in processes of their own: their order, their errors, and one that is killed."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from linesmith.analyzer.base.errors import TreeError, VerificationFailed
from linesmith.patches.matrix.kernels import each_apart


def test_results_come_in_the_order_of_the_items_whatever_ends_first(tmp_path: Path) -> None:
    def late(number: int) -> tuple[int, int]:
        while number == 0 and len(os.sched_getaffinity(0)) > 1 and not (tmp_path / "1").exists():
            time.sleep(0.01)
        (tmp_path / str(number)).touch()
        return number, os.getpid()

    found = each_apart(late, range(5))
    assert [number for number, _ in found] == [0, 1, 2, 3, 4]
    assert len({process for _, process in found} - {os.getpid()}) == 5


def test_the_error_of_the_first_item_that_fails_is_raised_whichever_came_first() -> None:
    def refused(number: int) -> int:
        if number == 1:
            time.sleep(0.2)
        if number:
            raise TreeError(f"number {number}")
        return number

    with pytest.raises(TreeError, match="number 1"):
        each_apart(refused, range(3))


def test_one_that_was_killed_is_an_error_and_ends_the_others(tmp_path: Path) -> None:
    def killed(number: int) -> None:
        if number == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(60)
        (tmp_path / "went on").touch()

    with pytest.raises(VerificationFailed, match="was killed"):
        each_apart(killed, range(2))
    assert not (tmp_path / "went on").exists()
