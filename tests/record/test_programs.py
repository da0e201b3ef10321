# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith record`` on programs: two threads that count in neighbouring members, under emulation."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from linesmith_command import LINESMITH, linesmith
from perf_data import hand_made
from perf_data.hardware import INTEL
from perf_data.recording import write
from record.programs import TWO_THREADS, compile_c, functions_of, profile_of, recording_of

from linesmith.plugins.registry import read_profiles
from linesmith.tuner.replay.replayer import trace_of

USER = ("record", "--on", "qemu-user")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_c(TWO_THREADS, tmp_path_factory.mktemp("two") / "two")


@pytest.mark.parametrize("kind", [("-fPIE", "-pie"), ("-no-pie",), ("-static",)])
def test_the_line_where_two_threads_meet_is_the_hottest(tmp_path: Path, kind: tuple[str, ...]) -> None:
    program = compile_c(TWO_THREADS, tmp_path / "two", *kind)
    done = linesmith(*USER, "-o", tmp_path / "profile", "--", program)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    hottest = profile_of(tmp_path / "profile").lines[0]
    assert {"add_left", "add_right"} <= {access.function for access in hottest.accesses if access.taken}
    assert trace_of(recording_of(tmp_path / "profile"), tmp_path / "profile") == tmp_path / "profile.trace"
    shown = linesmith("hot", program, tmp_path / "profile", "--full").stdout
    assert re.search(r"false sharing of (left with right|right with left), which is written", shown)


def test_the_profile_tells_how_it_was_recorded_and_replaces_an_earlier_one(tmp_path: Path, program: Path) -> None:
    words = ("--line-bytes", "128", "--quantum", "500", "--cache", "32K", "--adjacent", "--seed", "7")
    files = ("--trace", tmp_path / "trace", "--log", tmp_path / "log", "-o", tmp_path / "profile")
    for name in ("target", "log", "profile"):
        (tmp_path / name).write_text("earlier")
    (tmp_path / "trace").symlink_to(tmp_path / "target")
    assert linesmith(*USER, *words, *files, "--", program).returncode == 0
    recording = recording_of(tmp_path / "profile")
    assert (recording.on, recording.command, recording.ring) == ("qemu-user", (str(program),), "user")
    assert (recording.line_bytes, recording.adjacent, recording.cache_bytes) == (128, True, 32 * 1024)
    assert (recording.quantum, recording.seed) == (500, 7)
    assert re.fullmatch(r"[0-9a-f]{40}", recording.build_id or "")
    assert (tmp_path / "trace").is_symlink()
    assert (tmp_path / "target").read_bytes().startswith(b"LSMTRACE")
    assert {one.name for one in tmp_path.iterdir()} <= {"log", "profile", "target", "trace"}


def test_a_region_begins_where_its_function_is_called(tmp_path: Path, program: Path) -> None:
    linesmith("record", "--from", "add_left", "-o", tmp_path / "profile", "--", program)
    functions = functions_of(tmp_path / "profile")
    assert "add_left" in functions
    assert "main" not in functions


def test_auto_says_what_it_chose_and_why_and_how_the_program_ended(tmp_path: Path, program: Path) -> None:
    done = linesmith("record", "-o", tmp_path / "profile", "--", program, "3")
    assert done.returncode == 3
    assert done.stderr.endswith(f"{program} ended with status 3\n")
    assert re.match(r"linesmith: recording on (perf\n|qemu-user; not on perf: the PMU samples no data)", done.stderr)
    assert "note: the program ended with status 3" in done.stderr


def test_input_and_output_are_the_program_s_own(tmp_path: Path) -> None:
    argv: list[str | Path] = [LINESMITH, *USER, "-o", tmp_path / "profile", "--", "/bin/cat"]
    done = subprocess.run(argv, input="through\n", capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "through\n")


def test_a_dry_run_shows_the_command_and_runs_nothing(tmp_path: Path, program: Path) -> None:
    done = linesmith(*USER, "--dry-run", "-o", tmp_path / "profile", "--", program, "a b")
    assert "qemu-" in done.stdout.split()[0]
    assert done.stdout.endswith(f" -0 {program} {program} 'a b'\n")
    assert not (tmp_path / "profile").exists()


def test_what_leaves_no_recording_is_told(tmp_path: Path, program: Path) -> None:
    (tmp_path / "script").write_text("#!/bin/sh\n")
    (tmp_path / "script").chmod(0o755)
    dies = compile_c("#include <stdlib.h>\nint main(void) { abort(); }\n", tmp_path / "dies")
    for words, why in (
        (("--from", "unused", "--", program), "the region of interest was never reached"),
        (("--from", "absent", "--", program), f"{program} has no function absent; name one that `nm` lists"),
        (("--timeout", "1", "--", "/bin/sleep", "99"), "/bin/sleep did not end within 1 s and was stopped; allow more"),
        (("--", tmp_path / "script"), "script is a script; name the program that it runs, with its arguments, behind"),
        (("--", dies), "was killed by signal 6 before its recording was written; let it end by itself"),
    ):
        done = linesmith(*USER, "-o", tmp_path / "profile", *words)
        assert (done.returncode, done.stdout) == (2, "")
        assert why in done.stderr
        assert not (tmp_path / "profile").exists()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupt_leaves_no_child(tmp_path: Path, how: signal.Signals) -> None:
    argv: list[str | Path] = [LINESMITH, *USER, "-o", tmp_path / "profile", "--", "/bin/sleep", "98765"]
    recording = subprocess.Popen(argv, stderr=subprocess.DEVNULL, start_new_session=True)
    child = wait_for(lambda: next(iter(children_of(recording.pid)), 0))
    os.kill(recording.pid, how)
    recording.wait(300)
    assert wait_for(lambda: not Path(f"/proc/{child}").exists())


def children_of(process: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def wait_for(happens: Callable[[], int]) -> int:
    """What ``happens`` gives once it gives something; the last answer after 120 s."""
    end = time.monotonic() + 120
    while not (answer := happens()) and time.monotonic() < end:
        time.sleep(0.02)
    return answer


# A profile of perf where the PMU samples data addresses, one sentence elsewhere


def test_perf_records_or_says_why_it_cannot(tmp_path: Path) -> None:
    done = linesmith("record", "--on", "perf", "-o", tmp_path / "profile", "--", "true")
    if done.returncode == 0:
        assert "samples: " in done.stderr
    else:
        reason = r"(perf is not installed \(package linux-perf\)|the PMU samples no data addresses here \(.*\))"
        remedy = "; record with --on qemu or --on qemu-user, which need no PMU\n"
        assert re.fullmatch(f"linesmith: {reason}{remedy}", done.stderr)


# What a perf on a machine with a PMU would do: it writes a recording where it is told to.
_PERF = """#!/bin/sh
[ "$4" = /dev/null ] || cp {recording} "$4"
"""


def test_what_perf_sampled_becomes_a_profile_of_our_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording = tmp_path / "perf.data"
    write(recording, hand_made.recording(INTEL)[0])
    stand_in = tmp_path / "bin" / "perf"
    stand_in.parent.mkdir()
    stand_in.write_text(_PERF.format(recording=recording))
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", f"{stand_in.parent}:{os.environ['PATH']}")
    kept = tmp_path / "profile"

    done = linesmith("record", "--on", "perf", "-o", kept, "--", "true")

    assert done.returncode == 0
    assert "2 contended lines, " in done.stderr
    assert "2000 samples: " in done.stderr
    (given,), (found,) = read_profiles(recording), read_profiles(kept)
    assert (found.lines, found.sampling) == (given.lines, given.sampling)


# What cannot be recorded is refused in one sentence, before anything is booted


def refusal(*arguments: str | Path) -> str:
    """The one line that the command says when it refuses."""
    done = linesmith("record", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    return done.stderr


DAMAGED = b"\x1f\x8b\x08".ljust(10, b"\0") + b"\xff" * 5
CUT_OFF = b"".ljust(0x202, b"\0") + b"HdrS"
# A file with the marks of a bzImage and nothing in it to boot.
BZIMAGE = CUT_OFF.ljust(0x400, b"\0")
NO_QEMU = "qemu-system-x86_64 is not installed or cannot be run; install the package qemu-system-x86\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"no kernel", "kernel is not a bootable kernel; give --kernel the bzImage"),
        (DAMAGED, "cannot be read (Error -3 while decompressing data"),
        (CUT_OFF, "qemu-system-x86_64 is not installed"),
        (BZIMAGE, f"linesmith: {NO_QEMU}"),
        (None, "/usr/bin/git is an ELF file without an entry for virtual machines; give --kernel the bzImage"),
    ],
    ids=["text", "damaged gzip", "cut off behind its mark", "no qemu", "program"],
)
def test_what_is_not_booted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None, message: str
) -> None:
    kernel = tmp_path / "kernel" if content is not None else Path("/usr/bin/git")
    if content is not None:
        kernel.write_bytes(content)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert message in refusal("--on", "qemu", "--kernel", kernel, "-o", tmp_path / "profile", "--", "true")
