# SPDX-License-Identifier: GPL-2.0-or-later
"""What only this host can do to a step, and a host behind ssh that goes down and comes back, or does not."""

from __future__ import annotations

import os
import platform
import re
import shlex
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Thread

import pytest
from machines.places import Place, lingering, processes_with, shell
from machines.sshd import Sshd

from linesmith.analyzer.base.elf import build_id_in_hex
from linesmith.analyzer.base.errors import GuestFailed, GuestHung, GuestNotBooted
from linesmith.analyzer.model import Setting, Site, Step
from linesmith.plugins.machines.steps import MARK, functions_script
from linesmith.plugins.registry import machine


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


def test_a_relative_path_is_from_where_we_are(here: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


# A host behind ssh; it is this one, its server comes and goes

pytestmark = pytest.mark.xdist_group("remote")

OTHER = "0123456789abcdef0123456789abcdef01234567"


def vmlinux_of(build_id: str, folder: Path) -> Path:
    (folder / "empty.c").write_text("")
    words = ("-nostdlib", "-static", "-Wl,-e,0", f"-Wl,--build-id=0x{build_id}")
    subprocess.run(["gcc", "-o", folder / "vmlinux", folder / "empty.c", *words], check=True)
    return folder / "vmlinux"


@pytest.fixture
def running_build_id() -> str:
    """That of the kernel that these tests run on."""
    found = build_id_in_hex(Path("/sys/kernel/notes").read_bytes().hex())
    if found is None:
        pytest.skip("the running kernel has no build-id")
    return found


def booting(sshd: Sshd, boot: str, **others: Setting) -> Place:
    settings: dict[str, Setting] = {"boot": boot, "boot_seconds": 60}
    return Place(machine("ssh"), Site("ssh", settings=sshd.settings(**settings | others)))


# Kills the process that serves the connection which this shell was started by.
CUT_OFF = "p=$$; until grep -q ^sshd /proc/$p/comm; do p=$(cut -d' ' -f4 /proc/$p/stat); done; kill -9 $p"


def restart(sshd: Sshd, boot_id: str = "$(date +%s%N)") -> str:
    """A command that makes the server go away and come back with another boot-id, as a boot does."""
    again = f"sleep 0.2; echo {boot_id} >{sshd.folder}/boot_id; {sshd.program} -f {sshd.folder}/configuration"
    return f"(kill $(cat {sshd.folder}/pid); {again}) >/dev/null 2>&1 </dev/null &"


def test_a_host_that_comes_back_with_the_kernel_runs_steps(sshd: Sshd, running_build_id: str, tmp_path: Path) -> None:
    (tmp_path / "kernel").write_text("the kernel, ")
    boot = f"cat {{image}} >{tmp_path}/booted; echo {{words}} >>{tmp_path}/booted; {restart(sshd)}"
    vmlinux = vmlinux_of(running_build_id, tmp_path)
    place = replace(booting(sshd, boot, words="quiet a  b"), products=(("vmlinux", vmlinux),))
    session = place.run((shell("echo ran"),), tmp_path, image=tmp_path / "kernel")
    facts = dict(session.facts)
    assert (session.done[0].output, session.release) == ("ran\n", platform.release())
    assert facts["build-id"] == running_build_id
    assert float(facts["boot seconds"]) >= 0.2
    assert (tmp_path / "booted").read_text() == "the kernel, quiet a  b\n"
    assert list(sshd.folder.glob("linesmith.*")) == []


@pytest.mark.parametrize(
    ("boot", "settings", "build_id", "why"),
    [
        ("restart", {}, OTHER, f"came back with another kernel: .*; wanted is build-id {OTHER}"),
        # It was only away: its boot-id is the one from before.
        ("reconnect", {"boot_seconds": 3}, "", "did not go down within 3 s"),
        (
            "echo no such entry >&2; exit 4",
            {},
            "",
            "ended with status 4: no such entry; its output is in .*/boot\\.log",
        ),
    ],
)
def test_a_host_that_did_not_boot_is_told(
    sshd: Sshd, running_build_id: str, tmp_path: Path, boot: str, settings: dict[str, Setting], build_id: str, why: str
) -> None:
    before = (sshd.folder / "boot_id").read_text().strip()
    boots = {"restart": restart(sshd), "reconnect": restart(sshd, before)}
    place = booting(sshd, boots.get(boot, boot), **settings)
    vmlinux = vmlinux_of(build_id or running_build_id, tmp_path)
    with pytest.raises(GuestNotBooted, match=why):
        replace(place, products=(("vmlinux", vmlinux),)).run((shell("echo ran"),), tmp_path)


def test_a_host_that_goes_out_of_reach_in_mid_step_hangs(sshd: Sshd, tmp_path: Path) -> None:
    place = Place(machine("ssh"), Site("ssh", settings=sshd.settings(boot_seconds=1)))
    # In /proc/net/tcp 0A is a socket that listens: as long as there is one, the server takes connections.
    listening = f"grep -q ' 0100007F:{sshd.port:04X} 00000000:0000 0A ' /proc/net/tcp"
    down = f"kill $(cat {sshd.folder}/pid); while {listening}; do sleep 0.1; done"
    dying = f"{down}; {CUT_OFF}; sleep 77003{os.getpid()}"
    try:
        with pytest.raises(GuestHung, match="went out of reach while running step 1"):
            place.run((shell(dying),), tmp_path)
        assert lingering(f"sleep 77003{os.getpid()}") == []
    finally:
        sshd.start()


def test_a_connection_that_ends_alone_is_told(ssh: Place, tmp_path: Path) -> None:
    why = r"the connection to ssh://\S+ ended while running step 1 .*; see .*ssh\.errors"
    with pytest.raises(GuestFailed, match=why):
        ssh.run((shell(f"{CUT_OFF}; sleep 77004{os.getpid()}"),), tmp_path)
    assert lingering(f"sleep 77004{os.getpid()}") == []


def test_paths_are_replaced_whole_and_only_those_of_files_that_go_along(ssh: Place, sshd: Sshd, tmp_path: Path) -> None:
    (tmp_path / "a b").write_text("with a blank")
    (tmp_path / "plain").write_text("plain")
    steps = (
        Step(("cat", str(tmp_path / "a b"), str(tmp_path / "plain"))),
        Step(("sh", "-c", f"cd {shlex.quote(str(tmp_path))} && cat ./plain; echo {tmp_path}/plainer /usr/bin/git")),
        Step(("sh", "-c", f"cat {tmp_path}/plain; echo $WHERE"), environment=(("WHERE", str(tmp_path)),)),
    )
    first, second, third = (one.output for one in ssh.run(steps, tmp_path / "scratch").done)
    assert first == "with a blankplain"
    assert re.fullmatch(f"plain.*{tmp_path}/plainer /usr/bin/git\n", second, re.DOTALL)
    assert re.match(f"plain.*{sshd.folder}.*{tmp_path}", third, re.DOTALL)
