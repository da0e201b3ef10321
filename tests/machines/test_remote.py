# SPDX-License-Identifier: GPL-2.0-or-later
"""A host behind ssh that goes down and comes back, or does not; the host is this one, its server comes and goes."""

from __future__ import annotations

import os
import platform
import re
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from machines.places import Place, lingering, shell
from machines.sshd import Sshd

from linesmith.analyzer.base.elf import build_id_in_hex
from linesmith.analyzer.base.errors import GuestFailed, GuestHung, GuestNotBooted
from linesmith.analyzer.model import Setting, Site, Step
from linesmith.plugins.registry import machine

pytestmark = pytest.mark.xdist_group("remote")

OTHER = "0123456789abcdef0123456789abcdef01234567"


def vmlinux_of(build_id: str, folder: Path) -> Path:
    """An ELF file with that build-id."""
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
    again = f"sleep 1; echo {boot_id} >{sshd.folder}/boot_id; {sshd.program} -f {sshd.folder}/configuration"
    return f"(kill $(cat {sshd.folder}/pid); {again}) >/dev/null 2>&1 </dev/null &"


def test_a_host_that_comes_back_with_the_kernel_runs_the_steps(
    sshd: Sshd, running_build_id: str, tmp_path: Path
) -> None:
    (tmp_path / "kernel").write_text("the kernel, ")
    boot = f"cat {{image}} >{tmp_path}/booted; echo {{words}} >>{tmp_path}/booted; {restart(sshd)}"
    vmlinux = vmlinux_of(running_build_id, tmp_path)
    place = replace(booting(sshd, boot, words="quiet a  b"), products=(("vmlinux", vmlinux),))
    session = place.run((shell("echo ran"),), tmp_path, image=tmp_path / "kernel")
    facts = dict(session.facts)
    assert (session.done[0].output, session.release) == ("ran\n", platform.release())
    assert facts["build-id"] == running_build_id
    assert float(facts["boot seconds"]) >= 1
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
            "the boot command ended with status 4: no such entry; its output is in .*/boot\\.log",
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
    place = Place(machine("ssh"), Site("ssh", settings=sshd.settings(boot_seconds=3)))
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
