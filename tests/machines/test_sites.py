# SPDX-License-Identifier: GPL-2.0-or-later
"""What a machine says of a site before anything runs, and what a script of steps reports."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from machines.sshd import Sshd

from linesmith.analyzer.base.errors import GuestFailed, GuestOutOfMemory, ToolMissing
from linesmith.analyzer.model import Built, Done, Setting, Site, Step
from linesmith.plugins.machines.steps import Introduction, Transcript
from linesmith.plugins.machines.system import kvm_obstacle
from linesmith.plugins.machines.talk import Wire
from linesmith.plugins.registry import machine


def site(name: str, **settings: Setting) -> Site:
    return Site(name, settings=tuple(settings.items()))


def shown(asked: Site, folder: Path, *steps: Step, **products: Path) -> str:
    """The last command of a dry run with these products."""
    built = Built("build", folder, tuple(products.items()))
    return machine(asked.name).commands(asked, built, steps)[-1]


@pytest.fixture
def vng(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only program in PATH; a boot takes a kernel with 9p, which is not at hand."""
    program = tmp_path / "bin/vng"
    program.parent.mkdir()
    program.write_text("")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    return program


OBSTACLES = {
    "the machine qemu has no setting 'colour'; its settings are accelerator,": site("qemu", colour="red"),
    "the machine qemu cannot take accelerator = 'xen': expected one of auto, kvm, tcg": site("qemu", accelerator="xen"),
    "the machine qemu cannot take words = 3: expected": site("qemu", words=3),
    "the machine qemu cannot take boot_seconds = -1: expected `int` >= 0": site("qemu", boot_seconds=-1),
    "3 CPUs cannot be shared evenly by 2 nodes": Site("qemu", cpus=3, nodes=2),
    "the machine here has no setting 'words'; its settings are none": site("here", words="quiet"),
    "the machine here has its own files; an overlay is for machines that boot": Site("here", overlay=Path()),
    "the machine ssh: it needs the setting `host`": site("ssh"),
}


@pytest.mark.parametrize("why", OBSTACLES)
def test_a_site_that_makes_no_sense_is_an_obstacle(why: str) -> None:
    assert (machine(OBSTACLES[why].name).obstacle(OBSTACLES[why]) or "").startswith(why)


def test_kvm_is_an_obstacle_only_where_it_is_asked_for_and_runs_nothing() -> None:
    assert machine("qemu").obstacle(site("qemu", accelerator="auto")) is None
    assert machine("qemu").obstacle(site("qemu", accelerator="kvm")) == kvm_obstacle()
    assert machine("here").obstacle(Site("here", cpus=4000)) is None


def test_a_host_that_cannot_be_reached_is_an_obstacle(sshd: Sshd) -> None:
    def obstacle(**settings: Setting) -> str | None:
        return machine("ssh").obstacle(Site("ssh", settings=sshd.settings(**settings)))

    assert obstacle() is None
    assert "cannot be used: ssh: connect to host 127.0.0.1 port 1" in (obstacle(host="ssh://127.0.0.1:1") or "")
    # A password is never asked for.
    known = dict(sshd.settings())["options"]
    assert isinstance(known, tuple)
    assert "Permission denied (publickey" in (obstacle(options=(*known[:2], *known[4:])) or "")


@pytest.mark.usefixtures("vng")
@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (Site("virtme-ng"), None),
        (Site("virtme-ng", nodes=2), "the machine virtme-ng has one node here; choose qemu for more"),
        (Site("virtme-ng", overlay=Path("/")), "the machine virtme-ng has this host's files; an overlay is for the"),
        (site("virtme-ng", seed=1), "the machine virtme-ng has no setting 'seed'"),
    ],
)
def test_obstacles_of_virtme(asked: Site, why: str | None) -> None:
    found = machine("virtme-ng").obstacle(asked)
    assert found is None if why is None else (found or "").startswith(why)


def test_virtme_that_is_not_installed_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert machine("virtme-ng").obstacle(site("virtme-ng")) == (
        "vng is not installed; install virtme-ng from the distribution or from PyPI"
    )
    with pytest.raises(ToolMissing, match="vng is not installed or cannot be run; install the package virtme-ng"):
        shown(site("virtme-ng"), tmp_path, kernel=tmp_path / "k")


def test_the_command_of_virtme_names_kernel_size_and_words(vng: Path, tmp_path: Path) -> None:
    asked = Site("virtme-ng", cpus=3, memory=512 << 20, settings=(("words", "one two"),))
    line = shown(asked, tmp_path, kernel=tmp_path / "bzImage")
    assert line.startswith(f"{vng} --run {tmp_path}/bzImage ")
    assert "--cpus 3 --memory 512M" in line
    assert ("--disable-kvm" in line) == (kvm_obstacle() is not None)
    assert "--append 'one two'" in line


def test_a_dry_run_of_qemu_needs_no_kernel_yet(tmp_path: Path) -> None:
    line = shown(site("qemu", words="slub_debug=-"), tmp_path, kernel=tmp_path / "bzImage")
    assert f"-kernel {tmp_path}/bzImage" in line
    assert "slub_debug=-" in line
    assert "nokaslr" not in line


def test_commands_of_this_host_are_shown_as_for_a_shell(tmp_path: Path) -> None:
    step = Step(("{prog}", "a b"), cpus=(0, 1), environment=(("NAME", "value"),))
    assert shown(site("here"), tmp_path, step, prog=tmp_path / "x") == (
        f"env NAME=value taskset -c 0,1 {tmp_path}/x 'a b'"
    )


def test_kexec_loads_the_kernel_with_its_words(tmp_path: Path) -> None:
    asked = site("ssh", host="lab", boot="kexec", words="mitigations=off")
    built = Built("build", tmp_path, (("kernel", tmp_path / "bzImage"),))
    line = machine("ssh").commands(asked, built, ())[0]
    assert f"files{tmp_path}/bzImage --reuse-cmdline --append=" in line
    assert "panic=10 oops=panic mitigations=off" in line


# What a script of steps reports, and what else may come the same way


class Said(Wire):
    """A conversation of which all has been said."""

    def __init__(self, text: str) -> None:
        self._rest = text.encode()

    def line(self, doing: str) -> str:
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode() if doing else ""

    def take(self, count: int, doing: str) -> bytes:
        taken, self._rest = self._rest[:count], self._rest[count:]
        return taken if doing else b""

    def limit(self, seconds: float) -> None:
        assert seconds > 0


def introduced(text: str) -> Introduction:
    return Transcript(Said(text), "word").introduction(9)


def done(text: str, scratch: Path) -> Done:
    return Transcript(Said("word began 1\n" + text), "word").done(Step(("prog",)), 1, scratch, lambda _: None)


def test_a_greeting_before_the_facts_is_passed_over() -> None:
    said = "Welcome!\nready\nword fact cpu=A model = B\nfact cpu=C\nword fact notes=zz\nword ready\n"
    assert introduced(said).described() == (("cpu", "A model = B"),)


def test_a_step_that_did_well_while_others_were_killed_for_memory_is_fine(tmp_path: Path) -> None:
    assert done("word done 1 0 1.0 2.0 1 0 0\n", tmp_path).status == 0


@pytest.mark.parametrize(
    ("message", "error", "why"),
    [
        ("done 1 0 1 1 0 0 0", GuestFailed, "the machine sent 'done 1 0 1 1 0 0 0' while running step 1 (prog)"),
        ("word done 1 0 soon later 0 0 0", GuestFailed, "message about step 1 (prog) is invalid (0 soon later"),
        ("word done 1 137 1.0 2.0 1 0 0", GuestOutOfMemory, "with status 137 while the kernel was out of memory"),
        ("word done 1 0 100.0 160.0 0 0 0", GuestFailed, "60.0 s passed on the machine's clock in 0.0 s"),
    ],
)
def test_a_message_that_is_no_good_end(message: str, error: type[GuestFailed], why: str, tmp_path: Path) -> None:
    with pytest.raises(error, match=re.escape(why)):
        done(f"{message}\n", tmp_path)
