# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs run without a shell and with a time limit, and nothing is left behind, whenever a signal comes."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from linesmith.analyzer.base.child import Command, run
from linesmith.analyzer.base.errors import ToolMissing, TreeError, VerificationFailed
from linesmith.patches.build.overlay import scratch
from linesmith.patches.matrix.kernels import each_apart
from linesmith.patches.matrix.users import each


def test_arguments_are_no_shell_text(tmp_path: Path) -> None:
    ended = run(Command(("echo", "$(touch ran)", ";", "touch", "ran"), tmp_path, 30))
    assert ended.output == "$(touch ran) ; touch ran\n"
    assert not (tmp_path / "ran").exists()


def test_a_missing_program_names_its_package() -> None:
    with pytest.raises(ToolMissing, match=r"ld\.lld is not installed .*install the package lld"):
        run(Command(("/nowhere/ld.lld",), Path("/"), 30))


def test_variables_that_steer_make_and_compilers_do_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAKEFLAGS", "--eval=x")
    monkeypatch.setenv("CPATH", "/evil")
    ended = run(Command(("env",), Path("/"), 30))
    assert "MAKEFLAGS" not in ended.output
    assert "CPATH" not in ended.output
    assert "LC_ALL=C\n" in ended.output


def test_programs_are_not_looked_for_in_relative_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "uname").write_text("#!/bin/sh\ntouch ran\n")
    (tmp_path / "bin" / "uname").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "bin:/usr/bin:/bin")
    assert run(Command(("uname",), tmp_path, 30)).output == "Linux\n"
    assert not (tmp_path / "ran").exists()


# A child of the program that runs; it leaves its number behind.
SLEEPS = ("sh", "-c", "sh -c 'echo $$ > number.new; mv number.new number; exec sleep 300' & wait")


def number_in(folder: Path) -> int:
    """The number of the child, which has a minute to begin."""
    for _ in range(1200):
        if (folder / "number").exists():
            break
        time.sleep(0.05)
    return int((folder / "number").read_text())


def ends(process: int) -> bool:
    """Whether the process ends by itself, within a minute."""
    for _ in range(1200):
        if not Path(f"/proc/{process}").exists():
            return True
        time.sleep(0.05)
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)
    return False


def test_a_program_that_does_not_end_is_stopped_with_its_children(tmp_path: Path) -> None:
    with pytest.raises(VerificationFailed, match="did not end within 2 s and was stopped"):
        run(Command(SLEEPS, tmp_path, 2))
    assert ends(number_in(tmp_path))


def test_a_program_ends_with_the_process_that_runs_it(tmp_path: Path) -> None:
    ours = (
        "import sys; from pathlib import Path; from linesmith.analyzer.base.child import Command, run; "
        f"run(Command(('sh', '-c', 'echo $$ > n; mv n number; exec sleep 300'), Path({str(tmp_path)!r}), 300))"
    )
    parent = subprocess.Popen((sys.executable, "-c", ours))
    child = number_in(tmp_path)
    parent.kill()
    parent.wait()
    assert ends(child)


@contextmanager
def told_to_end(step: int) -> Iterator[Callable[[], bool]]:
    """Sends us a signal where Python comes to its ``step``-th line in the block; whether it came to it."""
    lines = count()
    reached: list[bool] = []

    def traced(_frame: FrameType, event: str, _argument: object) -> Any:
        if event == "line" and next(lines) == step:
            sys.settrace(None)
            reached.append(True)
            signal.raise_signal(signal.SIGINT)
        return traced

    former = sys.gettrace()
    sys.settrace(traced)
    try:
        yield lambda: bool(reached)
    finally:
        sys.settrace(former)


def ended_at(stride: int, work: Callable[[], None], check: Callable[[], object]) -> int:
    """How often the work was told to end, at each ``stride``-th of its lines; ``check`` must hold each time."""
    ended = 0
    for step in count(0, stride):
        try:
            with told_to_end(step) as came:
                work()
                sys.settrace(None)
        except KeyboardInterrupt:
            ended += 1
        assert check(), step
        if not came():
            break
    return ended


# What is raised while Python takes an object away goes no further, and so the program goes on.
unraised = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
strides = pytest.mark.parametrize("stride", [7, pytest.param(1, marks=pytest.mark.study)])


@unraised
@strides
def test_a_signal_at_any_line_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stride: int) -> None:
    """While it is made, filled and removed, which all are lines of Python."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def work() -> None:
        with scratch() as folder:
            (folder / "inside").mkdir()
            (folder / "inside" / "file").write_text("x")

    def nothing_left() -> bool:
        if list(tmp_path.iterdir()):  # whatever still refers to the exception keeps it
            gc.collect()
        return list(tmp_path.iterdir()) == []

    assert ended_at(stride, work, nothing_left) > 100 / stride


def of_pools() -> set[threading.Thread]:
    """The threads that do work for a pool; tests before may have left some."""
    return {one for one in threading.enumerate() if one.name.startswith("ThreadPoolExecutor")}


@unraised
@strides
def test_a_signal_at_any_line_leaves_no_thread(stride: int) -> None:
    before = of_pools()

    def work() -> None:
        assert each(str, range(3), lambda _: None) == ["0", "1", "2"]

    def nothing_left() -> bool:
        return of_pools() <= before and not signal.pthread_sigmask(signal.SIG_BLOCK, ())

    assert ended_at(stride, work, nothing_left) > 100 / stride


# Pieces of work in processes of their own: their order, their errors, and one that is killed


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
