# SPDX-License-Identifier: GPL-2.0-or-later
"""What a log is told of work that takes long: each step once, so that the silence has a reason."""

from __future__ import annotations

import pytest

from linesmith.analyzer.cli.waiting import Steps

FOREVER = float("inf")


def test_a_step_of_long_work_is_told_in_a_log(capsys: pytest.CaptureFixture[str]) -> None:
    Steps(patience=0)("compiling fs/inode.c")
    assert capsys.readouterr().err == "linesmith: compiling fs/inode.c\n"


def test_how_far_it_is_fills_no_log(capsys: pytest.CaptureFixture[str]) -> None:
    tell = Steps(patience=0)
    for done in range(3):
        tell(f"compiled {done} of 3 units")
    tell("writing")
    assert capsys.readouterr().err == "linesmith: compiled 0 of 3 units\nlinesmith: writing\n"


def test_quick_work_is_not_told_at_all(capsys: pytest.CaptureFixture[str]) -> None:
    Steps(patience=FOREVER)("compiling fs/inode.c")
    assert capsys.readouterr().err == ""
