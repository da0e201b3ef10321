# SPDX-License-Identifier: GPL-2.0-or-later
"""What every machine does with steps: the same, wherever they run."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from machines.places import Place, lingering, shell

from linesmith.analyzer.errors import GuestFailed, GuestHung
from linesmith.analyzer.model import Built, Done, Session, Step

JUNK = bytes(range(256)) * 512 + b"no newline at the end"
# Looks like what the machines say among themselves, and like a kernel that dies.
LOOKALIKE = (
    "done 1 0 1.0 2.0 0 5 5\r\nend\nready\n\x1b[31mred\x1b[0m\n"
    "Kernel panic - not syncing: only text\nOut of memory: Killed process 1 (init)\n{}{other}\n"
)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scratch")


@pytest.fixture(scope="module")
def session(place: Place, scratch: Path, tmp_path_factory: pytest.TempPathFactory) -> Session:
    """One sitting with all the steps that tests look at, in the order of the functions below."""
    files = tmp_path_factory.mktemp("files")
    (files / "junk").write_bytes(JUNK)
    (files / "lookalike").write_bytes(LOOKALIKE.encode())
    (files / "greeter").write_text("#!/bin/sh\necho hello from the product\n")
    (files / "greeter").chmod(0o755)
    steps = (
        shell("echo out; echo err >&2; exit 3"),
        Step(("cat", str(files / "junk"))),
        Step(("cat", str(files / "lookalike"))),
        Step(("grep", "Cpus_allowed_list", "/proc/self/status"), cpus=(1,)),
        Step(("sh", "-c", 'printf %s "$GREETING"'), environment=(("GREETING", "a 'b' $c"),)),
        Step(("echo", "a  b", "$HOME", "*", "'")),
        Step(("no-such-program-anywhere",)) if place.machine.name != "qemu" else shell("no-such-program-anywhere"),
        shell("kill -SEGV $$"),
        shell("sleep 4321 & (setsid sleep 4321 &); echo left two behind"),
        shell("grep -sl '432[1]' /proc/[0-9]*/cmdline; exit 0"),
        Step(("sleep", "0.5"), silent=True),
        Step(("cat",)),
        shell("ls -A; echo mine >file; ls -A"),
        Step(("{greeter}",)),
        Step(("head", "-c", "100000", "/dev/zero")),
    )
    return place.run(steps, scratch, greeter=files / "greeter")


@pytest.fixture
def done(session: Session) -> tuple[Done, ...]:
    return session.done


def test_status_output_and_errors_are_kept(done: tuple[Done, ...]) -> None:
    assert (done[0].status, done[0].output, done[0].errors) == (3, "out\n", "err\n")


def test_every_byte_comes_back(done: tuple[Done, ...]) -> None:
    assert done[1].output == JUNK.decode("utf-8", "backslashreplace")


def test_output_that_looks_like_a_message_of_ours_is_output(done: tuple[Done, ...]) -> None:
    assert done[2].output == LOOKALIKE


def test_a_pinned_step_runs_on_its_cpus(done: tuple[Done, ...]) -> None:
    assert done[3].output.split() == ["Cpus_allowed_list:", "1"]


def test_the_environment_of_a_step_is_set(done: tuple[Done, ...]) -> None:
    assert done[4].output == "a 'b' $c"


def test_words_reach_the_program_as_they_are(done: tuple[Done, ...]) -> None:
    assert done[5].output == "a  b $HOME * '\n"


def test_a_program_that_is_not_there_has_the_status_of_a_shell(done: tuple[Done, ...]) -> None:
    assert done[6].status == 127
    assert "no-such-program-anywhere" in done[6].errors


def test_a_program_that_is_killed_has_the_status_of_a_shell(done: tuple[Done, ...]) -> None:
    assert done[7].status == 128 + 11


def test_nothing_that_a_step_began_is_left_for_the_next(done: tuple[Done, ...]) -> None:
    assert done[8].output == "left two behind\n"
    assert done[9].output == ""


def test_the_time_of_a_step_is_its_own(done: tuple[Done, ...]) -> None:
    assert 0.5 <= done[10].seconds < done[10].step.seconds
    assert done[10].step.silent


def test_there_is_no_input(done: tuple[Done, ...]) -> None:
    assert (done[11].status, done[11].output) == (0, "")


def test_a_step_runs_in_an_empty_folder(done: tuple[Done, ...]) -> None:
    assert done[12].output == "file\n"


def test_a_product_of_the_build_is_run(done: tuple[Done, ...]) -> None:
    assert done[13].output == "hello from the product\n"


def test_zero_bytes_come_back(done: tuple[Done, ...]) -> None:
    assert done[14].output == "\0" * 100000


def test_what_was_printed_stays_in_the_scratch_folder(session: Session, scratch: Path) -> None:
    assert len(session.done) == 15
    assert (scratch / "step-2.output").read_bytes() == JUNK
    assert (scratch / "step-1.errors").read_text() == "err\n"


def test_the_machine_says_what_it_is(session: Session) -> None:
    assert session.release[0].isdecimal()
    assert {"cpu", "cpus", "memory", "load before"} <= {name for name, value in session.facts if value}


def test_a_step_that_takes_too_long_is_a_hang_and_is_ended(place: Place, tmp_path: Path) -> None:
    with pytest.raises(GuestHung, match=r"step 2 \(sh -c 'sleep 77001"):
        place.run((Step(("true",)), Step(("sh", "-c", "sleep 77001 & sleep 77001"), seconds=2)), tmp_path)
    assert lingering("sleep 77001") == []
    assert lingering(str(tmp_path / "console.log")) == []


def test_a_step_on_a_cpu_that_is_not_there_is_refused(place: Place, tmp_path: Path) -> None:
    with pytest.raises(GuestFailed, match=r"step 1 \(true\) is to run on CPU 4000, but there are 0, 1"):
        place.run((Step(("true",), cpus=(4000,)),), tmp_path)


def test_two_sessions_do_not_disturb_each_other(place: Place, tmp_path: Path) -> None:
    def sitting(name: str) -> list[str]:
        steps = (shell(f"echo {name} >file; sleep 1; cat file"), shell(f"echo {name} again; ls"))
        return [one.output for one in place.run(steps, tmp_path / name).done]

    with ThreadPoolExecutor(2) as both:
        left, right = both.map(sitting, ("left", "right"))
    assert left == ["left\n", "left again\n"]
    assert right == ["right\n", "right again\n"]


def test_a_dry_run_shows_what_would_be_run(place: Place, tmp_path: Path) -> None:
    built = Built("build", tmp_path, (*place.products, ("program", tmp_path / "not built yet")))
    shown = place.machine.commands(place.site, built, (Step(("{program}", "a b")),))
    assert shown
    assert list(tmp_path.iterdir()) == []
