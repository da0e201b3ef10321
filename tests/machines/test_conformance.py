# SPDX-License-Identifier: GPL-2.0-or-later
"""What every machine does with steps: the same, wherever they run."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from machines.places import Place, lingering, shell

from linesmith.analyzer.base.errors import GuestFailed, GuestHung
from linesmith.analyzer.model import Built, Session, Step

pytestmark = pytest.mark.xdist_group("machines")

JUNK = bytes(range(256)) * 512 + b"no newline at the end"
# Looks like what the machines say among themselves, and like a kernel that dies.
LOOKALIKE = (
    "done 1 0 1.0 2.0 0 5 5\r\nend\nready\n\x1b[31mred\x1b[0m\n"
    "Kernel panic - not syncing: only text\nOut of memory: Killed process 1 (init)\n{}{other}\n"
)
# Other workers and runs may try the same on another machine at the same time.
HUNG = f"sleep 77001{os.getpid()}"
LEFT = f"sleep 4321{os.getpid()}"
ALLOWED = ("grep", "Cpus_allowed_list", "/proc/self/status")
ABSENT = "no-such-program-anywhere"
GREETING = (("GREETING", "a 'b' $c"),)
# Each step with its status and output. FILES is the folder of the files that go along.
STEPS = {
    "status and output come back": (shell("echo out; echo err >&2; exit 3"), 3, "out\n"),
    "every byte comes back": (Step(("cat", "FILES/junk")), 0, JUNK.decode("utf-8", "backslashreplace")),
    "messages of ours in the output are output": (Step(("cat", "FILES/lookalike")), 0, LOOKALIKE),
    "a pinned step runs on its CPUs": (Step(ALLOWED, cpus=(1,)), 0, "Cpus_allowed_list:\t1\n"),
    "the environment is set": (Step(("sh", "-c", 'printf %s "$GREETING"'), environment=GREETING), 0, "a 'b' $c"),
    "words reach the program as they are": (Step(("echo", "a  b", "$HOME", "*", "'")), 0, "a  b $HOME * '\n"),
    "an absent program has the status of a shell": (Step((ABSENT,)), 127, ""),
    "a killed program has the status of a shell": (shell("kill -SEGV $$"), 128 + 11, ""),
    "a step may leave processes": (shell(f"{LEFT} & (setsid {LEFT} &); echo left two"), 0, "left two\n"),
    "the next step finds none of them": (shell(f"grep -sl '432[1]{os.getpid()}' /proc/[0-9]*/cmdline; exit 0"), 0, ""),
    "a silent step": (Step(("sleep", "0.5"), silent=True), 0, ""),
    "there is no input": (Step(("cat",)), 0, ""),
    "a step runs in an empty folder": (shell("ls -A; echo mine >file; ls -A"), 0, "file\n"),
    "a product of the build is run": (Step(("{greeter}",)), 0, "hello from the product\n"),
    "zero bytes come back": (Step(("head", "-c", "100000", "/dev/zero")), 0, "\0" * 100000),
}
# What a guest of QEMU has of its site, beside all the others.
OF_A_GUEST = {
    "it has its nodes, the words of its site and the files of its overlay, and its clock is told": (
        shell(
            "cat /sys/devices/system/node/node1/cpulist; grep -o ' one two three$' /proc/cmdline; cat /data; "
            "dmesg | grep -o 'tsc: Unable to calibrate.*'; true"
        ),
        0,
        "1\n one two three\nfrom the overlay",
    ),
    "it has the libraries of a program": (shell("/usr/bin/git --version | cut -c -12"), 0, "git version \n"),
}
# A process of its own, which tells when the step runs, and goes on until it is killed.
RUNNER = """
import pickle, sys
from pathlib import Path
machine, site, built, steps, scratch = pickle.loads(Path(sys.argv[1]).read_bytes())
machine.run(site, built, steps, scratch, lambda said: print(said, flush=True))
"""


@dataclass(frozen=True)
class Sittings:
    """A session with all ``steps``."""

    place: Place
    steps: dict[str, tuple[Step, int, str]]
    session: Session
    scratch: Path


@pytest.fixture(scope="module")
def sittings(place: Place, tmp_path_factory: pytest.TempPathFactory) -> Sittings:
    files, scratch = tmp_path_factory.mktemp("files"), tmp_path_factory.mktemp("scratch")
    (files / "junk").write_bytes(JUNK)
    (files / "lookalike").write_bytes(LOOKALIKE.encode())
    (files / "greeter").write_text("#!/bin/sh\necho hello from the product\n")
    (files / "greeter").chmod(0o755)
    all_steps = STEPS | (OF_A_GUEST if place.machine.name == "qemu" else {})
    steps = [with_files(step, files) for step, *_ in all_steps.values()]
    if place.machine.name == "qemu":  # which refuses a program that is nowhere before it boots
        steps[list(STEPS).index("an absent program has the status of a shell")] = shell(ABSENT)
    return Sittings(place, all_steps, place.run(steps, scratch, greeter=files / "greeter"), scratch)


def with_files(step: Step, folder: Path) -> Step:
    """The step with the real folder of its files."""
    return replace(step, command=tuple(word.replace("FILES", str(folder)) for word in step.command))


def test_steps_end_as_they_should(sittings: Sittings) -> None:
    ended = dict(zip(sittings.steps, sittings.session.done, strict=True))
    expected = {name: (status, output) for name, (_, status, output) in sittings.steps.items()}
    assert {name: (one.status, one.output) for name, one in ended.items()} == expected
    errors = {name: one.errors for name, one in ended.items()}
    assert errors["status and output come back"] == "err\n"
    assert ABSENT in errors["an absent program has the status of a shell"]


def test_a_session_leaves_the_time_of_each_step_and_what_was_printed(sittings: Sittings) -> None:
    silent = sittings.session.done[list(STEPS).index("a silent step")]
    assert 0.5 <= silent.seconds < silent.step.seconds
    assert silent.step.silent
    assert (sittings.scratch / "step-2.output").read_bytes() == JUNK
    assert (sittings.scratch / "step-1.errors").read_text() == "err\n"


def test_the_machine_says_what_it_is(sittings: Sittings) -> None:
    assert sittings.session.release[0].isdecimal()
    facts = dict(sittings.session.facts)
    assert {"cpu", "cpus", "memory", "load before"} <= {name for name, value in facts.items() if value}
    if sittings.place.machine.name == "qemu":
        assert (facts["cpus"], facts["nodes"], facts["machine"]) == ("0-1", "0-1", "QEMU, tcg")


# Of a guest of QEMU the same reader of the same report tells.
@pytest.mark.parametrize("place", ["here", "ssh"], indirect=True)
def test_a_step_that_takes_too_long_is_a_hang_and_another_session_is_undisturbed(place: Place, tmp_path: Path) -> None:
    hanging = (Step(("sh", "-c", f"{HUNG} & {HUNG}"), seconds=1),)
    with ThreadPoolExecutor(2) as both:
        other = both.submit(place.run, (shell("echo other >file; sleep 2; ls; cat file"),), tmp_path / "other")
        hung = both.submit(place.run, hanging, tmp_path / "hung").exception()
        assert other.result().done[0].output == "file\nother\n"
    assert isinstance(hung, GuestHung)
    assert f"step 1 (sh -c '{HUNG} &" in str(hung)
    assert lingering(HUNG) == []


# A guest of QEMU has to boot to tell how many CPUs it has.
@pytest.mark.parametrize(
    "place", ["here", "ssh", pytest.param("qemu", marks=[pytest.mark.real, pytest.mark.study])], indirect=True
)
def test_a_step_on_a_cpu_that_is_not_there_is_refused(place: Place, tmp_path: Path) -> None:
    with pytest.raises(GuestFailed, match=r"step 1 \(true\) is to run on CPU 4000, but there are 0, 1"):
        place.run((Step(("true",), cpus=(4000,)),), tmp_path)


def test_a_dry_run_shows_what_would_be_run(place: Place, tmp_path: Path) -> None:
    built = Built("build", tmp_path, (*place.products, ("program", tmp_path / "not built yet")))
    assert place.machine.commands(place.site, built, (Step(("{program}", "a b")),))
    assert list(tmp_path.iterdir()) == []


def test_steps_end_when_we_are_killed(place: Place, tmp_path: Path) -> None:
    program = f"sleep 77002{os.getpid()}"
    steps = (Step(("sh", "-c", f"{program} & (setsid {program} &); {program}")),)
    built = Built("build", tmp_path, place.products)
    (tmp_path / "order").write_bytes(pickle.dumps((place.machine, place.site, built, steps, tmp_path)))
    argv: list[str | Path] = [sys.executable, "-c", RUNNER, tmp_path / "order"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as runner:
        assert runner.stdout
        while "running step 1" not in runner.stdout.readline():
            assert runner.poll() is None
        runner.kill()
    assert lingering(program) == []
    assert lingering(str(tmp_path)) == []
