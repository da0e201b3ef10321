# SPDX-License-Identifier: GPL-2.0-or-later
"""What the program says of itself and of long work, how it is told to end, and what installs a part of it."""

from __future__ import annotations

import signal
import sys
from importlib.metadata import version

import click
import pytest
from linesmith_command import linesmith

from linesmith.analyzer.base.errors import install_command
from linesmith.analyzer.cli.group import interruptible
from linesmith.analyzer.cli.output import StepReporter


def test_the_version_is_one_line() -> None:
    assert linesmith("--version").stdout == f"linesmith, version {version('linesmith')}\n"


FOREVER = float("inf")


def test_each_step_of_long_work_is_in_a_log_once_and_quick_work_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    tell = StepReporter(patience=0)
    for done in range(3):
        tell(f"compiled {done} of 3 units")
    tell("writing")
    StepReporter(patience=FOREVER)("compiling fs/inode.c")
    assert capsys.readouterr().err == "linesmith: compiled 0 of 3 units\nlinesmith: writing\n"


def test_a_part_is_installed_by_the_python_that_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/work place/.venv/bin/python")
    assert install_command("png") == "'/work place/.venv/bin/python' -m pip install 'linesmith[png]'"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_command_unless_its_caller_ignores_it(number: signal.Signals) -> None:
    former = signal.getsignal(number)
    try:
        signal.signal(number, signal.SIG_IGN)
        with interruptible():
            signal.raise_signal(number)
        signal.signal(number, signal.SIG_DFL)
        with pytest.raises(click.Abort), interruptible():
            signal.raise_signal(number)
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, former)
