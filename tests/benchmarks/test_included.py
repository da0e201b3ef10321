# SPDX-License-Identifier: GPL-2.0-or-later
"""The exec storm and the page faults: compiled, kept, and run for real."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from benchmarks.running import measured

from linesmith.analyzer.base.errors import BenchmarkFailed, BenchmarkUnknown, ToolMissing
from linesmith.analyzer.model import Setting
from linesmith.plugins.registry import benchmark

STORM, FAULTS = benchmark("exec-storm"), benchmark("page-faults")


def printed(*command: str) -> dict[str, str]:
    """The words and numbers that a program prints."""
    told = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    return dict(line.split() for line in told.stdout.splitlines())


def program(name: str, scratch: Path, **settings: Setting) -> str:
    """The path of the included program that the benchmark runs."""
    return benchmark(name).steps(settings, 1, scratch)[0].command[0]


def copies(scratch: Path) -> str:
    """The path of the program that runs copies of any command."""
    return program("perf-bench", scratch, suite="sched pipe", program="true")


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        *(("exec-storm", {"operations": 20, "linking": linking}) for linking in ("static", "dynamic")),
        *(
            ("page-faults", {"operations": 640, "mapping": mapping, "memory": memory, "workers": workers})
            for mapping, memory, workers in (
                ("own", "anonymous", "threads"),
                ("own", "file", "processes"),
                ("one", "anonymous", "processes"),
                ("one", "file", "threads"),
            )
        ),
    ],
)
def test_an_included_benchmark_runs_here(name: str, settings: dict[str, Setting], scratch: Path) -> None:
    for threads in (1, 2):
        assert min(measured(name, settings, threads, scratch).values()) > 1


def test_each_page_is_a_fault_of_its_own(scratch: Path) -> None:
    words = ("--workers", "2", "--operations", "6400", "--pages", "640")
    script = "import resource,subprocess,sys; subprocess.run(sys.argv[1:], check=True); \
        print('faults', resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt)"
    runs = [printed("python3", "-c", script, program("page-faults", scratch), *words) for _ in range(3)]
    assert {int(told["operations"]) for told in runs} == {12800}
    # A run has more where the system takes pages back meanwhile, as some always do; a page twice would be all of them.
    assert 12800 <= min(int(told["faults"]) for told in runs) < 2 * 12800


def test_work_is_counted_or_timed(scratch: Path) -> None:
    storm = program("exec-storm", scratch)
    assert printed(storm, "--workers", "3", "--operations", "4")["operations"] == "12"
    assert float(printed(storm, "--workers", "1", "--seconds", "0.2")["seconds"]) >= 0.2


def test_programs_of_a_storm_map_the_files_that_they_share(scratch: Path) -> None:
    storm = program("exec-storm", scratch, linking="static")
    words = ("strace", "-f", "-e", "trace=mmap", storm, "--operations", "2", "--files", "3")
    try:
        traced = subprocess.run(words, capture_output=True, text=True, timeout=300)
    except FileNotFoundError:
        pytest.skip("strace is not installed")
    assert traced.returncode == 0, traced.stderr
    assert [traced.stderr.count(f", {file}, 0)") for file in (200, 201, 202, 203)] == [4, 4, 4, 0]


def ended(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.parametrize(
    ("of", "words", "complaint"),
    [
        ("exec-storm", ("--workers", "0"), "exec-storm: --workers is 0: give another whole number\n"),
        ("exec-storm", ("--seconds", "nan"), "exec-storm: --seconds is nan: give seconds above 0\n"),
        ("exec-storm", ("--directory", "/nowhere/at/all"), "exec-storm: /nowhere/at/all/exec-storm."),
        # One copy that fails ends all.
        ("copies", ("--workers", "2", "--", "sh", "-c", "exit 7"), "copies: sh ended with status 7\n"),
    ],
)
def test_a_program_says_what_it_cannot_do(of: str, words: Sequence[str], complaint: str, scratch: Path) -> None:
    done = ended(copies(scratch) if of == "copies" else program(of, scratch), *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert complaint in done.stderr


def test_copies_run_in_a_folder_that_goes_with_them(scratch: Path, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    linked.write_text("content\n")
    words = ("--file", str(linked), "--", "sh", "-c", "pwd; cat linked; echo left >behind")
    told = ended(copies(scratch), *words).stdout.splitlines()
    assert told[1:4] == ["content", "benchmark copies", "workers 1"]
    assert not Path(told[0]).exists()
    assert linked.exists()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_copies_of_root_run_without_rights(scratch: Path) -> None:
    words = ("--nobody", "--", "sh", "-c", "id -u; id -G; echo left >behind")
    assert ended(copies(scratch), *words).stdout.splitlines()[:2] == ["65534", "65534"]


def test_a_program_is_compiled_once(tmp_path: Path) -> None:
    first = STORM.steps({}, 1, tmp_path)[0].command[0]
    made = Path(first).stat().st_ino
    again = STORM.steps({"operations": 7}, 2, tmp_path)[0].command[0]
    assert (again, Path(again).stat().st_ino) == (first, made)
    assert STORM.steps({"linking": "dynamic"}, 1, tmp_path)[0].command[0] != first


def compiler(folder: Path, script: str) -> dict[str, Setting]:
    """The setting of a compiler that is a script."""
    (folder / "cc").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "cc").chmod(0o755)
    return {"compiler": str(folder / "cc")}


def test_a_compiler_that_is_missing_or_fails_is_named(tmp_path: Path) -> None:
    missing: dict[str, Setting] = {"compiler": "no-such-cc"}
    assert STORM.obstacle(missing) == "the compiler no-such-cc is not found"
    with pytest.raises(ToolMissing, match="the program exec-storm has to be compiled: the compiler no-such-cc"):
        STORM.steps(missing, 1, tmp_path)
    with pytest.raises(ToolMissing, match=r"cc cannot compile the program page-faults: error: out of luck"):
        FAULTS.steps(compiler(tmp_path, "echo error: out of luck >&2; exit 1"), 1, tmp_path)


def test_without_a_static_library_it_is_linked_dynamically(tmp_path: Path) -> None:
    reluctant = compiler(tmp_path, 'case "$*" in *-static*) exit 1 ;; esac; exec gcc "$@"')
    assert printed(FAULTS.steps(reluctant, 1, tmp_path)[0].command[0], "--operations", "64")
    with pytest.raises(ToolMissing):
        FAULTS.steps({**reluctant, "linking": "static"}, 1, tmp_path)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"operations": 5, "seconds": 1}, "give either operations or seconds, not both"),
        ({"operations": 0}, "cannot take operations = 0: expected `int` >= 1"),
        ({"operations": True}, "expected `int | null`, got `bool`"),
        ({"seconds": float("nan")}, "expected `float` > 0"),
        ({"linking": "statik"}, r"one of automatic, static, dynamic \(did you mean static\?\)"),
        ({"files": 65}, "expected `int` <= 64"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Setting], words: str) -> None:
    with pytest.raises(BenchmarkUnknown, match=words):
        STORM.metrics(settings)


def test_nothing_run_is_told() -> None:
    with pytest.raises(BenchmarkFailed, match="none of its commands was run"):
        STORM.parse({}, [])
