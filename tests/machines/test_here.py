# SPDX-License-Identifier: GPL-2.0-or-later
"""What only this host can do to a step: run out of memory, go on for ever, or lose the one who watches."""

from __future__ import annotations

import os
import signal
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread

import pytest
from machines.places import Place, lingering, processes_with, shell

from linesmith.analyzer.errors import GuestFailed, GuestOutOfMemory
from linesmith.analyzer.model import Built, Site, Step
from linesmith.plugins.machines.here import HereMachine

MEMORY_BYTES = 32 << 20
LIMITS = ((Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes"), (Path("/sys/fs/cgroup"), "memory.max"))


@contextmanager
def group_with_little_memory() -> Iterator[Path]:
    """The list of processes of a control group that may use little memory."""
    for root, limit in LIMITS:
        group = root / f"linesmith-{uuid.uuid4()}"
        if not os.access(root, os.W_OK):
            continue
        group.mkdir()
        try:
            if (group / limit).exists():
                (group / limit).write_text(str(MEMORY_BYTES))
                yield group / "cgroup.procs"
                return
        finally:
            group.rmdir()
    pytest.skip("no control group for memory can be made here")


def test_a_step_that_is_killed_for_want_of_memory(here: Place, tmp_path: Path) -> None:
    with (
        group_with_little_memory() as members,
        pytest.raises(
            GuestOutOfMemory, match=r"step 1 .* ended with status 137 while the kernel killed for want of mem"
        ),
    ):
        here.run((shell(f"echo $$ >{members}; exec tail /dev/zero"),), tmp_path)


def test_a_step_that_prints_without_end_is_ended(here: Place, tmp_path: Path) -> None:
    with pytest.raises(GuestFailed, match=r"step 1 \(yes\) printed more than 64 MiB and was killed"):
        here.run((Step(("yes",)),), tmp_path)
    (tmp_path / "step-1.output").unlink()


def test_a_keeper_that_is_killed_takes_the_step_with_it(here: Place, tmp_path: Path) -> None:
    def kill() -> None:
        while not processes_with("sleep 77005"):
            pass
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                if str(tmp_path / "step-1.job") in path.read_text("utf-8", "replace"):
                    os.kill(int(path.parent.name), signal.SIGKILL)

    killer = Thread(target=kill)
    killer.start()
    with pytest.raises(GuestFailed, match="what watched over step 1 was killed"):
        here.run((Step(("sleep", "77005")),), tmp_path)
    killer.join()
    assert lingering("sleep 77005") == []


def test_a_program_named_by_a_relative_path_is_one_of_where_we_are(
    here: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "program").write_text("#!/bin/sh\necho ran\n")
    (tmp_path / "program").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    assert here.run((Step(("./program",)),), tmp_path / "scratch").done[0].output == "ran\n"


def test_an_overlay_is_for_machines_that_boot(tmp_path: Path) -> None:
    assert "an overlay is for machines that boot" in (HereMachine().obstacle(Site("here", overlay=tmp_path)) or "")
    assert HereMachine().obstacle(Site("here", cpus=4000)) is None


def test_a_setting_is_an_obstacle() -> None:
    told = HereMachine().obstacle(Site("here", settings=(("words", "quiet"),)))
    assert told == "the machine here knows no setting words (it knows none); correct the plan"


def test_commands_are_shown_as_for_a_shell(tmp_path: Path) -> None:
    step = Step(("{prog}", "a b"), cpus=(0, 1), environment=(("NAME", "value"),))
    shown = HereMachine().commands(Site("here"), Built("build", tmp_path, (("prog", tmp_path / "x"),)), (step,))
    assert shown == (f"env NAME=value taskset -c 0,1 {tmp_path}/x 'a b'",)
