# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith record`` on programs: two threads that count in neighbouring members, under emulation."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from linesmith_command import LINESMITH, linesmith
from record.programs import TWO_THREADS, compile_c
from record.results import functions_of, profile_of, recording_of

KINDS = {"PIE": ("-fPIE", "-pie"), "fixed": ("-no-pie",), "static": ("-static",)}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_c(TWO_THREADS, tmp_path_factory.mktemp("two") / "two")


@pytest.mark.parametrize("kind", KINDS)
def test_the_line_where_two_threads_meet_is_the_hottest(tmp_path: Path, kind: str) -> None:
    program = compile_c(TWO_THREADS, tmp_path / "two", *KINDS[kind])
    done = linesmith("record", "--on", "qemu-user", "-o", tmp_path / "profile", "--", program)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    hottest = profile_of(tmp_path / "profile").lines[0]
    met = {access.function for access in hottest.accesses if access.taken}
    assert {"add_left", "add_right"} <= met


def test_hot_names_the_members_of_the_recorded_program(tmp_path: Path, program: Path) -> None:
    linesmith("record", "--on", "qemu-user", "-o", tmp_path / "profile", "--", program)
    shown = linesmith("hot", program, tmp_path / "profile").stdout
    assert re.search(r"false sharing of (left with right|right with left), which is written", shown)


def test_variables_of_cpp_have_their_types_in_or_out_of_namespaces(tmp_path: Path) -> None:
    source = """
        #include <pthread.h>
        #include <stdatomic.h>
        namespace app { template <class T> struct counters { _Atomic(T) left, right; };
                        alignas(64) counters<int> inside; }
        alignas(64) app::counters<long> outside;
        static std::atomic_int arrived;
        static void meet() { arrived++; while (arrived < 2) {} }
        void *add_left(void *unused) {
            meet(); for (int i = 0; i < 300000; i++) { outside.left++; app::inside.left++; } return unused; }
        void *add_right(void *unused) {
            meet(); for (int i = 0; i < 300000; i++) { outside.right++; app::inside.right++; } return unused; }
        int main() { pthread_t one; pthread_create(&one, 0, add_left, 0); add_right(0); return pthread_join(one, 0); }
    """
    program = compile_c(source, tmp_path / "two", "-xc++", "-std=c++23")
    assert linesmith("record", "--on", "qemu-user", "-o", tmp_path / "profile", "--", program).returncode == 0
    areas = {area.name: area.types for area in profile_of(tmp_path / "profile").areas}
    assert areas.items() >= {"app::inside": ("counters<int>",), "outside": ("counters<long int>",)}.items()
    shown = linesmith("hot", program, tmp_path / "profile").stdout
    assert "app::counters<int>" in shown
    assert "app::counters<long int>" in shown


def test_the_profile_tells_how_it_was_recorded(tmp_path: Path, program: Path) -> None:
    words = ("--line-bytes", "128", "--quantum", "500", "--cache", "32K", "--adjacent", "--seed", "7")
    linesmith("record", "--on", "qemu-user", *words, "-o", tmp_path / "profile", "--", program)
    recording = recording_of(tmp_path / "profile")
    assert (recording.on, recording.command, recording.ring) == ("qemu-user", (str(program),), "user")
    assert (recording.line_bytes, recording.adjacent, recording.cache_bytes) == (128, True, 32 * 1024)
    assert (recording.quantum, recording.seed) == (500, 7)
    assert re.fullmatch(r"[0-9a-f]{40}", recording.build_id or "")


def test_a_region_begins_where_its_function_is_called(tmp_path: Path, program: Path) -> None:
    linesmith("record", "--from", "add_left", "-o", tmp_path / "profile", "--", program)
    functions = functions_of(tmp_path / "profile")
    assert "add_left" in functions
    assert "main" not in functions


def test_a_function_that_is_never_called_is_told(tmp_path: Path) -> None:
    program = compile_c("void unused(void) {} int main(void) { return 0; }", tmp_path / "idle")
    done = linesmith("record", "--from", "unused", "-o", tmp_path / "profile", "--", program)
    assert done.returncode == 2
    assert "the region of interest was never reached" in done.stderr
    assert not (tmp_path / "profile").exists()


def test_a_function_that_the_program_lacks_is_told(tmp_path: Path, program: Path) -> None:
    done = linesmith("record", "--from", "absent", "-o", tmp_path / "profile", "--", program)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{program} has no function absent; name one that `nm` lists" in done.stderr


def test_what_an_earlier_run_wrote_is_replaced(tmp_path: Path, program: Path) -> None:
    words = ("--on", "qemu-user", "--trace", tmp_path / "trace", "--log", tmp_path / "log", "-o", tmp_path / "profile")
    for name in ("trace", "log", "profile"):
        (tmp_path / name).write_text("earlier")
    assert linesmith("record", *words, "--", program).returncode == 0
    assert "earlier" not in (tmp_path / "profile").read_text()
    assert (tmp_path / "trace").read_bytes() != b"earlier"


def test_the_status_of_the_program_is_told(tmp_path: Path, program: Path) -> None:
    done = linesmith("record", "-o", tmp_path / "profile", "--", program, "3")
    assert done.returncode == 0
    assert "note: the program ended with status 3" in done.stderr


def test_input_and_output_are_the_program_s_own(tmp_path: Path) -> None:
    done = subprocess.run(
        [LINESMITH, "record", "--on", "qemu-user", "-o", tmp_path / "profile", "--", "/bin/cat"],
        input="through\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "through\n")


def test_auto_says_what_it_chose_and_why(tmp_path: Path, program: Path) -> None:
    done = linesmith("record", "-o", tmp_path / "profile", "--", program)
    assert re.match(r"linesmith: recording on (perf\n|qemu-user; not on perf: the PMU samples no data)", done.stderr)


def test_a_dry_run_shows_the_command_and_runs_nothing(tmp_path: Path, program: Path) -> None:
    done = linesmith("record", "--on", "qemu-user", "--dry-run", "-o", tmp_path / "profile", "--", program, "a b")
    assert done.stdout.startswith("/usr/bin/qemu-") or "qemu-" in done.stdout.split()[0]
    assert done.stdout.endswith(f" -0 {program} {program} 'a b'\n")
    assert not (tmp_path / "profile").exists()


def test_a_program_that_does_not_end_is_stopped(tmp_path: Path) -> None:
    done = linesmith(
        "record", "--on", "qemu-user", "--timeout", "1", "-o", tmp_path / "profile", "--", "/bin/sleep", "99"
    )
    assert (done.returncode, done.stderr) == (
        2,
        "linesmith: /bin/sleep did not end within 1 s and was stopped; give more with --timeout\n",
    )


def test_a_script_is_refused(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    done = linesmith("record", "--on", "qemu-user", "-o", tmp_path / "profile", "--", script)
    assert (done.returncode, done.stderr) == (
        2,
        f"linesmith: {script} is a script; name the program that it runs, with its arguments, behind --\n",
    )


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupt_leaves_no_child(tmp_path: Path, how: signal.Signals) -> None:
    argv: list[str | Path] = [
        LINESMITH,
        "record",
        "--on",
        "qemu-user",
        "-o",
        tmp_path / "profile",
        "--",
        "/bin/sleep",
        "98765",
    ]
    recording = subprocess.Popen(argv, stderr=subprocess.DEVNULL, start_new_session=True)
    child = wait_for(lambda: next(iter(children_of(recording.pid)), None))
    os.kill(recording.pid, how)
    recording.wait(300)
    assert wait_for(lambda: not Path(f"/proc/{child}").exists())


def children_of(process: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def wait_for(happens: Any) -> Any:
    """What ``happens`` gives once it gives something; the last answer after 120 s."""
    end = time.monotonic() + 120
    while not (answer := happens()) and time.monotonic() < end:
        time.sleep(0.02)
    return answer


def test_a_program_that_dies_is_told_as_such(tmp_path: Path) -> None:
    source = tmp_path / "dies.c"
    source.write_text("#include <stdlib.h>\nint main(void) { abort(); }\n")
    subprocess.run(["gcc", "-o", tmp_path / "dies", source], check=True)
    done = linesmith("record", "--on", "qemu-user", "-o", tmp_path / "p", "--", tmp_path / "dies")
    assert done.returncode == 2
    assert "was killed by signal 6 before its recording was written; make it end by itself" in done.stderr


def test_a_trace_goes_through_a_link_and_leaves_no_part_behind(program: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")
    done = linesmith(
        "record", "--on", "qemu-user", "--trace", tmp_path / "link", "-o", tmp_path / "p", "--", program, "2000"
    )
    assert done.returncode == 0
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").stat().st_size > 0
    assert sorted(one.name for one in tmp_path.iterdir()) == ["link", "p", "target"]
