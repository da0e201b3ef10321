# SPDX-License-Identifier: GPL-2.0-or-later
"""What is only there for a while is gone afterwards, whenever a signal comes."""

from __future__ import annotations

import gc
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

import click
import pytest

from linesmith.analyzer.cli.interruption import interruptible
from linesmith.patches.matrix.workers import each
from linesmith.patches.scratch import scratch

# What is raised while Python takes an object away goes no further, and so the program goes on.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")


@contextmanager
def told_to_end(step: int) -> Iterator[Callable[[], bool]]:
    """Sends us a signal where Python comes to its ``step``-th line in the block; whether it came to it."""
    lines = count()
    reached: list[bool] = []

    def traced(_frame: FrameType, event: str, _argument: object) -> Any:
        if event == "line" and next(lines) == step:
            sys.settrace(None)
            reached.append(True)
            signal.raise_signal(signal.SIGTERM)
        return traced

    former = sys.gettrace()
    sys.settrace(traced)
    try:
        yield lambda: bool(reached)
    finally:
        sys.settrace(former)


def test_a_signal_at_any_line_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While it is made, filled and removed, which all are lines of Python."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    ended = 0
    for step in count():
        try:
            with interruptible(), told_to_end(step) as came:
                with scratch() as folder:
                    (folder / "inside").mkdir()
                    (folder / "inside" / "file").write_text("x")
                sys.settrace(None)
        except click.Abort:
            ended += 1
        if ended and list(tmp_path.iterdir()):  # whatever still refers to the exception keeps it
            gc.collect()
        assert list(tmp_path.iterdir()) == [], step
        if not came():
            break
    assert ended > 100


def of_pools() -> set[threading.Thread]:
    """The threads that do work for a pool; tests before may have left some."""
    return {one for one in threading.enumerate() if one.name.startswith("ThreadPoolExecutor")}


def test_a_signal_at_any_line_leaves_no_thread() -> None:
    ended, before = 0, of_pools()
    for step in count():
        try:
            with interruptible(), told_to_end(step) as came:
                assert each(str, range(3), lambda _: None) == ["0", "1", "2"]
                sys.settrace(None)
        except click.Abort:
            ended += 1
        assert of_pools() <= before, step
        assert not signal.pthread_sigmask(signal.SIG_BLOCK, ()), step
        if not came():
            break
    assert ended > 100
