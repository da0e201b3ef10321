# SPDX-License-Identifier: GPL-2.0-or-later
"""The race of the demo: its program, the CPUs that it runs on, what the figures allow to say, and how that is told."""

from __future__ import annotations

import subprocess
from math import comb
from pathlib import Path

import pytest

from linesmith.analyzer.demo import program
from linesmith.analyzer.demo.cpus import CpuChoice, Placement, choose
from linesmith.analyzer.demo.race import Race, Throughput, Verdict, compare, interval_rank, run
from linesmith.analyzer.demo.result import race_text
from linesmith.analyzer.errors import ToolMissing, VerificationFailed


@pytest.mark.parametrize(
    ("cpus", "siblings", "chosen", "placement"),
    [
        ([0, 1], {0: "0", 1: "1"}, (0, 1), Placement.CORES),
        ([0, 1, 2, 3], {0: "0,2", 1: "1,3", 2: "0,2", 3: "1,3"}, (0, 1), Placement.CORES),
        ([4, 5], {4: "4-5", 5: "4-5"}, (4, 5), Placement.SIBLINGS),
        ([3], {3: "3"}, (3, 3), Placement.ONE_CPU),  # which serves both threads
        (range(64), {cpu: str(cpu) for cpu in range(64)}, tuple(range(8)), Placement.CORES),
        ([0, 1], {}, (0, 1), Placement.CORES),  # a kernel without these files
    ],
)
def test_one_cpu_of_each_core_is_chosen_where_there_are_two(
    tmp_path: Path, cpus: list[int], siblings: dict[int, str], chosen: tuple[int, ...], placement: Placement
) -> None:
    for cpu, text in siblings.items():
        place = tmp_path / f"cpu{cpu}" / "topology"
        place.mkdir(parents=True)
        (place / "thread_siblings_list").write_text(text + "\n")
    choice = choose(cpus, tmp_path)
    assert (choice.cpus, choice.placement, choice.count) == (chosen, placement, len(set(chosen)))


def test_a_clear_gain_in_every_round_is_better() -> None:
    comparison = compare([100.0] * 12, [180.0 + round_ for round_ in range(12)])
    assert comparison.verdict is Verdict.BETTER
    assert comparison.ratio == pytest.approx(1.855)
    assert 1.8 <= comparison.low < comparison.ratio < comparison.high <= 1.91


@pytest.mark.parametrize(
    ("after", "verdict"),
    [
        ([90.0] * 12, Verdict.WORSE),
        ([99.0, 101.0] * 6, Verdict.NO_DIFFERENCE),
        ([60.0, 170.0] * 6, Verdict.TOO_NOISY),  # whatever the median
    ],
)
def test_small_or_contradicting_changes_show_no_gain(after: list[float], verdict: Verdict) -> None:
    assert compare([100.0] * 12, after).verdict is verdict


def test_one_outlier_does_not_move_the_interval() -> None:
    comparison = compare([100.0] * 12, [150.0] * 11 + [5000.0])
    assert (comparison.low, comparison.high) == (1.5, 1.5)


@pytest.mark.parametrize(("before", "after"), [(0.0, 100.0), (0.0, 0.0), (100.0, 0.0)])
def test_a_run_without_a_cpu_does_not_move_the_interval(before: float, after: float) -> None:
    comparison = compare([before, *[100.0] * 11], [after, *[150.0] * 11])
    assert (comparison.ratio, comparison.low, comparison.high) == (1.5, 1.5, 1.5)


@pytest.mark.parametrize(("count", "rank"), [(5, 1), (6, 1), (9, 2), (12, 3), (20, 6)])
def test_ranks_are_those_of_the_sign_test(count: int, rank: int) -> None:
    assert interval_rank(count) == rank


def test_twelve_runs_enclose_the_median_with_96_percent() -> None:
    rank = interval_rank(12)
    outside = 2 * sum(comb(12, below) for below in range(rank)) / 2**12
    assert 1 - outside == pytest.approx(0.9614, abs=1e-4)


def test_a_program_that_fails_is_reported_with_its_words(tmp_path: Path) -> None:
    program = tmp_path / "bench"
    program.write_text("#!/bin/sh\necho no such CPU >&2\nexit 1\n")
    program.chmod(0o755)
    with pytest.raises(VerificationFailed, match="ended with status 1: no such CPU"):
        run(program, CpuChoice((0, 1), Placement.CORES), 50)


def test_a_directory_without_execution_is_told_by_what_to_do(tmp_path: Path) -> None:
    program = tmp_path / "bench"
    program.write_text("#!/bin/sh\n")
    with pytest.raises(VerificationFailed, match="set TMPDIR to a directory from which programs may be run"):
        run(program, CpuChoice((0, 1), Placement.CORES), 50)


def raced(after: list[float], placement: Placement = Placement.CORES) -> Race:
    before = tuple(Throughput(40e6 + 1e5 * number, 30e6) for number in range(12))
    return Race(before, tuple(Throughput(rate, 30e6) for rate in after), CpuChoice((0, 1), placement), 500)


def squeezed(line: str) -> str:
    return " ".join(line.split())


def test_a_gain_is_shown_with_its_spread() -> None:
    lines = race_text(raced([80e6] * 12)).splitlines()
    assert squeezed(lines[1]) == "lookups 40.5 (40.0 … 41.1) 80.0 (80.0 … 80.0) 1.97 (1.96 … 1.99) better"
    assert squeezed(lines[2]) == "renewals 30.0 (30.0 … 30.0) 30.0 (30.0 … 30.0) 1.00 (1.00 … 1.00) no difference seen"
    assert lines[-1] == "The change helps here: 1.97 times the lookups per second."


def test_noise_is_not_called_a_result() -> None:
    answer = race_text(raced([20e6, 90e6] * 6))
    assert "too noisy to tell" in answer
    assert "The lookups differ too much from run to run to tell" in answer


def test_siblings_of_one_core_are_mentioned_with_the_answer() -> None:
    answer = race_text(raced([40.5e6] * 12, Placement.SIBLINGS))
    assert "No difference of the lookups was seen here." in answer
    assert "siblings share their first-level cache" in answer


@pytest.mark.parametrize(
    ("compiler", "level"), [("gcc", "-O0"), ("gcc", "-O2"), ("gcc", "-O3"), ("clang-19", "-O0"), ("clang-19", "-O2")]
)
def test_no_compiler_warns(tmp_path: Path, compiler: str, level: str) -> None:
    sources = program.unpack(tmp_path / "program")
    subprocess.run([*program.compile_command(compiler), level, "-Werror"], cwd=sources, check=True)


def test_no_data_race_is_found(tmp_path: Path) -> None:
    sources = program.unpack(tmp_path / "program")
    subprocess.run([*program.compile_command("clang-19"), "-fsanitize=thread"], cwd=sources, check=True)
    done = subprocess.run([sources / "bench", "200", "0", "0"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_run_prints_both_rates(tmp_path: Path) -> None:
    executable = program.build(program.unpack(tmp_path / "program"), program.find_compiler())
    done = subprocess.run([executable, "50", "0", "0"], capture_output=True, text=True, check=True)
    names = [line.split()[0] for line in done.stdout.splitlines()]
    assert names == ["lookups_per_second", "renewals_per_second"]


def test_without_a_compiler_the_package_to_install_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolMissing, match="install the package gcc"):
        program.find_compiler()


def test_a_source_that_does_not_compile_is_reported_with_the_place(tmp_path: Path) -> None:
    sources = program.unpack(tmp_path / "program")
    (sources / program.HEADER).write_text("struct session_index { nonsense root; };\n")
    with pytest.raises(VerificationFailed, match=r"session_index\.h:1:.*nonsense"):
        program.build(sources, "gcc")
