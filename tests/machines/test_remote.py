# SPDX-License-Identifier: GPL-2.0-or-later
"""A host behind ssh that goes down and comes back, or does not; the host is this one, its server comes and goes."""

from __future__ import annotations

import platform
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from machines.places import Place, lingering, shell
from machines.sshd import Sshd

from linesmith.analyzer.errors import GuestFailed, GuestHung, GuestNotBooted
from linesmith.analyzer.model import Built, Setting, Site, Step
from linesmith.plugins.machines.elf_image import build_id_in_notes
from linesmith.plugins.machines.remote import RemoteMachine

OTHER_BUILD_ID = "0123456789abcdef0123456789abcdef01234567"


def vmlinux_of(build_id: str, folder: Path) -> Path:
    """An ELF file with that build-id."""
    (folder / "empty.c").write_text("")
    words = ("-nostdlib", "-static", "-Wl,-e,0", f"-Wl,--build-id=0x{build_id}")
    subprocess.run(["gcc", "-o", folder / "vmlinux", folder / "empty.c", *words], check=True)
    return folder / "vmlinux"


@pytest.fixture
def running_build_id() -> str:
    """That of the kernel that these tests run on."""
    found = build_id_in_notes(Path("/sys/kernel/notes").read_bytes())
    if found is None:
        pytest.skip("the running kernel has no build-id")
    return found


def booting(sshd: Sshd, boot: str, **others: Setting) -> Place:
    """A host whose boot-id is always this one's, so that its absence has to do as a proof."""
    settings: dict[str, Setting] = {"boot": boot, "boot_seconds": 60, "proof": "absence"}
    return Place(RemoteMachine(), Site("ssh", settings=sshd.settings(**settings | others)))


# Kills the process that serves the connection which this shell was started by.
CUT_OFF = "p=$$; until grep -q ^sshd /proc/$p/comm; do p=$(cut -d' ' -f4 /proc/$p/stat); done; kill -9 $p"


def restart(sshd: Sshd) -> str:
    """A command that makes the server go away and come back, as a boot does."""
    again = f"sleep 3; {sshd.program} -f {sshd.folder}/configuration"
    return f"(kill $(cat {sshd.folder}/pid); {again}) >/dev/null 2>&1 </dev/null &"


def left_by_us(sshd: Sshd) -> list[Path]:
    return list(sshd.folder.glob("linesmith.*"))


def test_a_host_that_comes_back_with_the_kernel_runs_the_steps(
    sshd: Sshd, running_build_id: str, tmp_path: Path
) -> None:
    (tmp_path / "kernel").write_text("the kernel, ")
    boot = f"cat {{image}} >{tmp_path}/booted; echo {{words}} >>{tmp_path}/booted; {restart(sshd)}"
    vmlinux = vmlinux_of(running_build_id, tmp_path)
    place = replace(booting(sshd, boot, words="quiet 'a  b'"), products=(("vmlinux", vmlinux),))
    session = place.run((shell("echo ran"),), tmp_path, image=tmp_path / "kernel")
    facts = dict(session.facts)
    assert session.done[0].output == "ran\n"
    assert session.release == platform.release()
    assert facts["build-id"] == running_build_id
    assert float(facts["boot seconds"]) >= 3
    assert (tmp_path / "booted").read_text() == "the kernel, quiet a  b\n"
    assert left_by_us(sshd) == []


def test_a_host_that_comes_back_with_another_kernel_did_not_boot(sshd: Sshd, tmp_path: Path) -> None:
    place = replace(booting(sshd, restart(sshd)), products=(("vmlinux", vmlinux_of(OTHER_BUILD_ID, tmp_path)),))
    with pytest.raises(
        GuestNotBooted, match=rf"came back with another kernel: .*, wanted is build-id {OTHER_BUILD_ID}"
    ):
        place.run((shell("echo ran"),), tmp_path)


def test_a_host_that_does_not_go_down_is_told(sshd: Sshd, running_build_id: str, tmp_path: Path) -> None:
    place = booting(sshd, "true", boot_seconds=3)
    short = replace(place, products=(("vmlinux", vmlinux_of(running_build_id, tmp_path)),))
    with pytest.raises(GuestNotBooted, match="did not go down within 3 s"):
        short.run((shell("echo ran"),), tmp_path)


def test_a_host_that_was_only_away_has_not_booted(sshd: Sshd, running_build_id: str, tmp_path: Path) -> None:
    place = booting(sshd, restart(sshd), boot_seconds=9, proof="boot-id")
    strict = replace(place, products=(("vmlinux", vmlinux_of(running_build_id, tmp_path)),))
    with pytest.raises(GuestNotBooted, match="did not go down within 9 s"):
        strict.run((shell("echo ran"),), tmp_path)


def test_a_boot_command_that_fails_is_told_with_its_words(sshd: Sshd, running_build_id: str, tmp_path: Path) -> None:
    place = booting(sshd, "echo no such entry >&2; exit 4")
    built = replace(place, products=(("vmlinux", vmlinux_of(running_build_id, tmp_path)),))
    with pytest.raises(
        GuestNotBooted, match=r"the boot command ended with status 4: no such entry; all it said is in .*/boot\.log"
    ):
        built.run((shell("echo ran"),), tmp_path)


def test_kexec_loads_the_kernel_with_its_words(sshd: Sshd, tmp_path: Path) -> None:
    place = booting(sshd, "kexec", words="mitigations=off")
    built = Built("build", tmp_path, (("kernel", tmp_path / "bzImage"),))
    shown = place.machine.commands(place.site, built, ())[0]
    assert f"files{tmp_path}/bzImage --reuse-cmdline --append=" in shown
    assert "panic=10 oops=panic mitigations=off" in shown


def test_a_host_that_goes_out_of_reach_in_mid_step_hangs(sshd: Sshd, tmp_path: Path) -> None:
    settings = sshd.settings(boot_seconds=3)
    place = Place(RemoteMachine(), Site("ssh", settings=settings))
    # In /proc/net/tcp 0A is a socket that listens: as long as there is one, the server takes connections.
    listening = f"grep -q ' 0100007F:{sshd.port:04X} 00000000:0000 0A ' /proc/net/tcp"
    down = f"kill $(cat {sshd.folder}/pid); while {listening}; do sleep 0.1; done"
    dying = f"{down}; {CUT_OFF}; sleep 77003"
    try:
        with pytest.raises(GuestHung, match="went out of reach while running step 1"):
            place.run((shell(dying),), tmp_path)
        assert lingering("sleep 77003") == []
    finally:
        sshd.start()


def test_a_connection_that_ends_alone_is_told(sshd: Sshd, tmp_path: Path) -> None:
    place = Place(RemoteMachine(), Site("ssh", settings=sshd.settings()))
    with pytest.raises(
        GuestFailed, match=r"the connection to 127\.0\.0\.1 ended while running step 1 .*; see .*ssh\.errors"
    ):
        place.run((shell(f"{CUT_OFF}; sleep 77004"),), tmp_path)
    assert lingering("sleep 77004") == []


def test_a_host_that_cannot_be_reached_is_an_obstacle(sshd: Sshd) -> None:
    machine = RemoteMachine()
    refused = Site("ssh", settings=sshd.settings(port=1))
    assert machine.obstacle(Site("ssh", settings=sshd.settings())) is None
    assert "127.0.0.1 cannot be used: ssh: connect to host 127.0.0.1 port 1" in (machine.obstacle(refused) or "")
    assert machine.obstacle(Site("ssh")) == "no host was named; give [machine] a host"
    unproven = Site("ssh", settings=sshd.settings(proof="hope"))
    assert machine.obstacle(unproven) == "the proof of a boot is one of boot-id, absence; correct the plan"


def test_a_password_is_never_asked_for(sshd: Sshd) -> None:
    stranger = Site("ssh", settings=sshd.settings(key=str(sshd.folder / "host_key")))
    assert "Permission denied (publickey" in (RemoteMachine().obstacle(stranger) or "")


def test_paths_are_replaced_whole_and_only_those_of_files_that_go_along(sshd: Sshd, tmp_path: Path) -> None:
    (tmp_path / "a b").write_text("with a blank")
    (tmp_path / "plain").write_text("plain")
    place = Place(RemoteMachine(), Site("ssh", settings=sshd.settings()))
    steps = (
        Step(("cat", str(tmp_path / "a b"), str(tmp_path / "plain"))),
        Step(("sh", "-c", f"cd {shlex.quote(str(tmp_path))} && cat ./plain; echo {tmp_path}/plainer /usr/bin/git")),
        Step(("sh", "-c", f"cat {tmp_path}/plain; echo $WHERE"), environment=(("WHERE", str(tmp_path)),)),
    )
    done = place.run(steps, tmp_path / "scratch").done
    assert done[0].output == "with a blankplain"
    assert done[1].output.startswith("plain")
    assert done[1].output.endswith(f"{tmp_path}/plainer /usr/bin/git\n")
    assert done[2].output.startswith("plain")
    assert str(tmp_path) in done[2].output
    assert str(sshd.folder) in done[2].output
