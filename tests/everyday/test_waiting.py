# SPDX-License-Identifier: GPL-2.0-or-later
"""What a log is told of work that takes long: each step once, so that the silence has a reason."""

from __future__ import annotations

import pytest

from linesmith.analyzer.cli.waiting import Steps

FOREVER = float("inf")


def test_each_step_of_long_work_is_in_a_log_once_and_quick_work_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    tell = Steps(patience=0)
    for done in range(3):
        tell(f"compiled {done} of 3 units")
    tell("writing")
    Steps(patience=FOREVER)("compiling fs/inode.c")
    assert capsys.readouterr().err == "linesmith: compiled 0 of 3 units\nlinesmith: writing\n"
