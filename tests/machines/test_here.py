# SPDX-License-Identifier: GPL-2.0-or-later
"""What only this host can do to a step: run out of memory, go on for ever, lose the one who watches, leave a rest."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

import pytest
from machines.places import Place, lingering, processes_with, shell

from linesmith.analyzer.base.errors import GuestFailed, GuestOutOfMemory
from linesmith.analyzer.model import Step
from linesmith.plugins.machines.steps import MARK, functions_script

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
    why = r"step 1 .* ended with status 137 while the kernel was out of mem"
    with group_with_little_memory() as members, pytest.raises(GuestOutOfMemory, match=why):
        here.run((shell(f"echo $$ >{members}; exec tail /dev/zero"),), tmp_path)


def test_a_step_that_prints_without_end_is_ended(here: Place, tmp_path: Path) -> None:
    with pytest.raises(GuestFailed, match=r"step 1 \(yes\) printed more than 64 MiB and was killed"):
        here.run((Step(("yes",), seconds=60),), tmp_path)
    (tmp_path / "step-1.output").unlink()


WITHOUT_STREAMS = """
import os, pathlib, sys
os.close(0), os.close(1)
from linesmith.analyzer.model import Built, Site, Step
from linesmith.plugins.machines.here import HereMachine
folder = pathlib.Path(sys.argv[1])
steps = (Step(("echo", "heard")),)
session = HereMachine().run(Site("here"), Built("key", folder, ()), steps, folder, lambda _: None)
os.write(2, session.done[0].output.encode())
"""


def test_a_step_is_heard_where_our_own_streams_are_closed(tmp_path: Path) -> None:
    """Files of its output then have the numbers of standard streams."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_STREAMS, tmp_path], capture_output=True, text=True, check=False
    )
    assert (done.stderr, done.returncode) == ("heard\n", 0)


def test_a_keeper_that_is_killed_takes_the_step_with_it(here: Place, tmp_path: Path) -> None:
    def kill() -> None:
        while not processes_with(f"sleep 77005{os.getpid()}"):
            pass
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                if str(tmp_path / "step-1.folder") in path.read_text("utf-8", "replace"):
                    os.kill(int(path.parent.name), signal.SIGKILL)

    killer = Thread(target=kill)
    killer.start()
    with pytest.raises(GuestFailed, match="what watched over step 1 was killed"):
        here.run((Step(("sleep", f"77005{os.getpid()}")),), tmp_path)
    killer.join()
    assert lingering(f"sleep 77005{os.getpid()}") == []


def test_a_program_named_by_a_relative_path_is_one_of_where_we_are(
    here: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "program").write_text("#!/bin/sh\necho ran\n")
    (tmp_path / "program").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    assert here.run((Step(("./program",)),), tmp_path / "scratch").done[0].output == "ran\n"


# Finds nothing when it is first asked, as for a process that becomes another program at that moment.
BLIND_AT_FIRST = """\
#!/bin/sh
[ "$1" != grep ] || [ -e "$0.asked" ] || { : >"$0.asked"; exit 1; }
exec "$@"
"""


@dataclass(frozen=True)
class Left:
    """A process that a step left behind, in a session of its own; it is known by the variable that it inherited."""

    place: Path
    mark: str
    process: subprocess.Popen[bytes]

    def sweep(self, before: str = "") -> bytes:
        """What the sweep prints, with ``before`` in front of the name of each tool; nobody reads its complaints."""
        functions = functions_script(str(self.place), "nonce")
        script = f"b={before}\n{functions}mark={self.mark}\nsweep\necho swept\n"
        reader, writer = os.pipe()
        os.close(reader)
        try:
            return subprocess.run(("sh", "-c", script), stdout=subprocess.PIPE, stderr=writer, check=False).stdout
        finally:
            os.close(writer)


@pytest.fixture
def left(tmp_path: Path) -> Iterator[Left]:
    mark = f"{MARK}={uuid.uuid4()}"
    # Its session is not the one that the step began, which has ended.
    (tmp_path / "began").write_text("999999999 0\n")
    with subprocess.Popen(("env", mark, "sleep", "77006")) as process:
        while mark.encode() not in Path(f"/proc/{process.pid}/environ").read_bytes():
            assert process.poll() is None
        yield Left(tmp_path, mark, process)
        process.kill()


@pytest.mark.parametrize("blind", [False, True])
def test_what_left_its_session_is_ended_even_if_the_first_look_finds_nothing(left: Left, blind: bool) -> None:
    tool = left.place / "tool"
    tool.write_text(BLIND_AT_FIRST)
    tool.chmod(0o755)
    assert left.sweep(str(tool) if blind else "") == b"swept\n"
    assert left.process.wait(300) == -9


def test_a_step_that_never_began_has_left_nothing(left: Left) -> None:
    (left.place / "began").unlink()
    assert left.sweep() == b"swept\n"
    assert left.process.poll() is None
