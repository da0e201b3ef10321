# SPDX-License-Identifier: GPL-2.0-or-later
"""The race of the demo: the CPUs that it runs on, what its figures allow to say, and the program that is raced."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from itertools import repeat
from pathlib import Path

import pytest
from demo.example import compiled_in, unpacked
from linesmith_command import linesmith

from linesmith.analyzer.demo.program import CpuChoice, ThreadPlacement, choose
from linesmith.analyzer.demo.race import Race, Throughput, race_text


@pytest.mark.parametrize(
    ("cpus", "siblings", "chosen", "placement"),
    [
        ([0, 1], {0: "0", 1: "1"}, (0, 1), ThreadPlacement.CORES),
        ([0, 1, 2, 3], {0: "0,2", 1: "1,3", 2: "0,2", 3: "1,3"}, (0, 1), ThreadPlacement.CORES),
        ([4, 5], {4: "4-5", 5: "4-5"}, (4, 5), ThreadPlacement.SIBLINGS),
        ([3], {3: "3"}, (3, 3), ThreadPlacement.ONE_CPU),  # which serves both threads
        (range(64), {cpu: str(cpu) for cpu in range(64)}, tuple(range(8)), ThreadPlacement.CORES),
        ([0, 1], {}, (0, 1), ThreadPlacement.CORES),  # a kernel without these files
    ],
)
def test_one_cpu_of_each_core_is_chosen_where_there_are_two(
    tmp_path: Path,
    cpus: Sequence[int],
    siblings: Mapping[int, str],
    chosen: tuple[int, ...],
    placement: ThreadPlacement,
) -> None:
    for cpu, text in siblings.items():
        place = tmp_path / f"cpu{cpu}" / "topology"
        place.mkdir(parents=True)
        (place / "thread_siblings_list").write_text(text + "\n")
    choice = choose(cpus, tmp_path)
    assert (choice.cpus, choice.placement, choice.count) == (chosen, placement, len(set(chosen)))


def told(
    before: Sequence[float], after: Sequence[float], placement: ThreadPlacement = ThreadPlacement.CORES
) -> list[str]:
    """What is said of lookups in millions a second, run by run; renewals are the same in all."""
    runs = [tuple(map(Throughput, (1e6 * rate for rate in rates), repeat(30e6))) for rates in (before, after)]
    text = race_text(Race(runs[0], runs[1], CpuChoice((0, 1), placement), 500))
    return [" ".join(line.split()) for line in text.splitlines()]


EVEN = [100.0] * 12


@pytest.mark.parametrize(
    ("before", "after", "ratio"),
    [
        (EVEN, [180.0 + number for number in range(12)], "1.85 (1.82 … 1.89) better"),
        (EVEN, [90.0] * 12, "0.90 (0.90 … 0.90) worse"),
        (EVEN, [99.0, 101.0] * 6, "1.00 (0.99 … 1.01) no difference seen"),
        (EVEN, [60.0, 170.0] * 6, "1.15 (0.60 … 1.70) too noisy to tell"),
        (EVEN, [*[150.0] * 11, 5000.0], "1.50 (1.50 … 1.50) better"),
        ([0.0, *EVEN[1:]], [100.0, *[150.0] * 11], "1.50 (1.50 … 1.50) better"),
        ([0.0, *EVEN[1:]], [0.0, *[150.0] * 11], "1.50 (1.50 … 1.50) better"),
        (EVEN, [0.0, *[150.0] * 11], "1.50 (1.50 … 1.50) better"),
        (EVEN[:5], [101.0, 110.0, 120.0, 130.0, 140.0], "1.20 (1.01 … 1.40) better"),
        (EVEN[:9], [101.0, *range(102, 110)], "1.05 (1.02 … 1.08) better"),
    ],
    ids=[
        "a gain in every round", "a loss", "a small change", "contradicting rounds", "one outlier",
        "a run without a CPU before", "and after", "and after alone", "all of five enclose the median", "seven of nine",
    ],
)  # fmt: skip
def test_ratios_of_neighbouring_runs_decide(before: list[float], after: list[float], ratio: str) -> None:
    assert told(before, after)[1].endswith(f") {ratio}")


def test_a_gain_is_shown_with_its_spread() -> None:
    lines = told([40 + 0.1 * number for number in range(12)], [80.0] * 12)
    assert lines[1] == "lookups 40.5 (40.0 … 41.1) 80.0 (80.0 … 80.0) 1.97 (1.96 … 1.99) better"
    assert lines[2] == "renewals 30.0 (30.0 … 30.0) 30.0 (30.0 … 30.0) 1.00 (1.00 … 1.00) no difference seen"
    assert lines[-1] == "The change helps here: 1.97 times the lookups per second."


def test_noise_is_not_called_a_result_and_siblings_of_one_core_are_mentioned() -> None:
    assert "The runs differ too much for a result" in told(EVEN, [60.0, 170.0] * 6)[-1]
    *_, answer, mind = told(EVEN, EVEN, ThreadPlacement.SIBLINGS)
    assert answer == "No difference in lookups per second."
    assert "they share the first-level cache" in mind


@pytest.mark.skipif(os.geteuid() != 0, reason="a file system can be mounted by root only")
def test_a_directory_without_execution_is_told_by_what_to_do(tmp_path: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "noexec", "tmpfs", tmp_path], check=True)
    try:
        done = linesmith("demo", env={**os.environ, "TMPDIR": str(tmp_path)})
    finally:
        subprocess.run(["umount", tmp_path], check=True)
    assert done.returncode == 2
    assert "set TMPDIR to a directory without noexec" in done.stderr


@pytest.mark.parametrize(
    ("compiler", "level"), [("gcc", "-O0"), ("gcc", "-O2"), ("gcc", "-O3"), ("clang-19", "-O0"), ("clang-19", "-O2")]
)
def test_no_compiler_warns(tmp_path: Path, compiler: str, level: str) -> None:
    compiled_in(unpacked(tmp_path / "program"), compiler, level, "-Werror")


def test_no_data_race_is_found_and_a_run_prints_both_rates(tmp_path: Path) -> None:
    bench = compiled_in(unpacked(tmp_path / "program"), "clang-19", "-fsanitize=thread")
    done = subprocess.run([bench, "200", "0", "0"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["lookups_per_second", "renewals_per_second"]
