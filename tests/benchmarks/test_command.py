# SPDX-License-Identifier: GPL-2.0-or-later
"""A command of the user, and the programs that are included: compiled, kept, and run for real."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from benchmarks.cases import measured

from linesmith.analyzer.base.errors import BenchmarkFailed, BenchmarkNonsense, ToolMissing
from linesmith.analyzer.model import Better, Done, Metric, Setting, Step
from linesmith.plugins.registry import benchmark

COMMAND = benchmark("command")


def parsed(output: str, errors: str = "", /, **settings: Setting) -> dict[str, float]:
    """What the benchmark reads in an output; dots of names are written as underscores."""
    done = Done(Step(("prog",)), 0, output, errors, 0.25)
    given = {name.replace("_", "."): value for name, value in settings.items()}
    return dict(COMMAND.parse({"run": "prog", **given}, [done]))


def test_a_command_of_this_machine_is_run(scratch: Path) -> None:
    settings: dict[str, Setting] = {
        "run": "sh -c 'cat /dev/null; echo $RATE of {threads}'",
        "prepare": "sh -c 'echo 99'",
        "environment": ("RATE=12.5",),
        "pattern.rate": "(.+) of",
        "pattern.threads": "of (.+)",
        "better.rate": "higher",
    }
    assert measured("command", settings, 2, scratch) == {"rate": 12.5, "threads": 2.0}


def test_preparations_come_first_and_are_silent(scratch: Path) -> None:
    *before, last = COMMAND.steps({"run": "prog -t{threads} {vmlinux}", "prepare": ("a 'b c'", "d")}, 4, scratch)
    assert [(step.command, step.silent) for step in before] == [(("a", "b c"), True), (("d",), True)]
    assert (last.command, last.silent) == (("prog", "-t4", "{vmlinux}"), False)


@pytest.mark.parametrize(
    ("output", "value"),
    [
        ("7\n", 7.0),
        ("took 12.5ms\n", 12.5),
        ("time: 3.25 s, 88%\n", 88.0),
        ("a=1;b=2\n", 2.0),
        ("1,234,567.5 ops\n", 1234567.5),
        ("1e3\n", 1000.0),
        ("0.25.\n", 0.25),
        ("12 of 0x7f\n", 12.0),
        ("version 6.1.0\n5\nbye\n", 5.0),
    ],
)
def test_without_a_pattern_it_is_the_last_number(output: str, value: float) -> None:
    assert parsed(output) == {"value": value}


def test_a_number_on_standard_error_counts_where_there_is_no_other() -> None:
    assert parsed("done\n", "real 0.75\n") == {"value": 0.75}
    assert parsed("12\n", "3 warnings\n") == {"value": 12.0}


def test_commands_run_on_the_cpus_given() -> None:
    steps = COMMAND.steps({"run": "a", "prepare": "b", "cpus": "8, 0-2"}, 1, Path())
    assert [step.cpus for step in steps] == [(0, 1, 2, 8)] * 2


def test_metrics_are_described_as_the_settings_say() -> None:
    settings: dict[str, Setting] = {
        "run": "prog",
        "pattern.misses": "m=(.)",
        "pattern.rate": "r=(.)",
        "better.rate": "higher",
        "unit.rate": "ops/s",
        "wall": True,
    }
    assert COMMAND.metrics(settings) == (
        Metric("misses", "", Better.LOWER),
        Metric("rate", "ops/s", Better.HIGHER),
        Metric("seconds", "s", Better.LOWER),
    )


def test_wall_time_alone_needs_no_number() -> None:
    assert parsed("no number", wall=True) == {"seconds": 0.25}


@pytest.mark.parametrize(
    ("output", "settings", "words"),
    [
        ("nothing here\n", {}, "it has no number; its last lines: nothing here"),
        ("score: nan\n", {}, "value is 'nan', which is not a number"),
        ("5 then -inf\n", {}, "value is '-inf', which is not a number"),
        ("0\n", {}, "value is 0, which is out of range"),
        ("-3\n", {}, "value is -3, which is out of range"),
        ("1e400\n", {}, "value is inf, which is out of range"),
        ("12,5\n", {"pattern": r"(\S+)"}, "value is '12,5', which is not a number"),
        ("1_000\n", {"pattern": r"(\S+)"}, "value is '1_000', which is not a number"),
        ("x=٣\n", {"pattern": r"x=(\S+)"}, "value is '٣', which is not a number"),
        ("ten\n", {"pattern": r"n=(\d+)"}, r"nothing in it matches 'n=\\\\(\\\\d\+\\\\)'; its last lines: ten"),
    ],
)
def test_nonsense_is_told(output: str, settings: dict[str, Setting], words: str) -> None:
    with pytest.raises(BenchmarkNonsense, match=words.replace(r"\\\\(", r"\(").replace(r"\\\\)", r"\)")):
        parsed(output, **settings)


def test_the_last_lines_are_cut_and_harmless() -> None:
    with pytest.raises(BenchmarkNonsense) as caught:
        parsed("\x1b]0;title\x07" + "x" * 100_000 + "\n\u202egnirts\n")
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400


def test_a_pattern_that_takes_forever_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linesmith.plugins.benchmarks.command._SEARCH_SECONDS", 1)
    with pytest.raises(BenchmarkNonsense, match="within 1 s; write it with fewer repetitions in repetitions"):
        parsed("a" * 40 + "\n", pattern=r"(a+)+(?P<value>$.)")


def test_a_huge_output_is_searched_from_its_end() -> None:
    assert parsed("n=1\n" + "x" * (2 << 20) + "\nm=2\n", pattern=r"(\d)") == {"value": 2.0}
    with pytest.raises(BenchmarkNonsense, match="nothing in it matches"):
        parsed("n=1\n" + "x" * (2 << 20) + "\n", pattern=r"n=(\d)")


# The exec storm and the page faults

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


def test_nothing_run_is_told() -> None:
    with pytest.raises(BenchmarkFailed, match="none of its commands was run"):
        STORM.parse({}, [])
