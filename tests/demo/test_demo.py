# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith demo`` from end to end; what it measures depends on the machine and is not judged here."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from demo.example import compiled_in, unpacked
from linesmith_command import LINESMITH, linesmith

from linesmith.analyzer.demo.walkthrough import CpuChoice, ThreadPlacement, choose, race_text
from linesmith.analyzer.model import Sample

pytestmark = pytest.mark.xdist_group("demo")


def demo(**environment: str) -> subprocess.CompletedProcess[str]:
    return linesmith("demo", env=os.environ | environment)


@pytest.fixture(scope="module")
def output() -> str:
    done = demo()
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_chapters_come_in_order(output: str) -> None:
    titles = [title for title, rule in pairwise(output.splitlines()) if set(rule) == {"="}]
    assert titles == [
        "A small program",
        "Its layout",
        "What a profile shows",
        "The smallest change",
        "The patch",
        "Before and after, on this machine",
    ]
    assert "\x1b" not in output  # which goes to a pipe


def test_the_profile_is_recorded_here_and_shows_false_sharing_of_root_and_lock(output: str) -> None:
    assert "$ linesmith record --on " in output
    assert " -- ./bench 400 " in output
    assert re.search(r"false sharing: try to separate\n.* guard from", output)
    assert "after stores to guard by guard_take, guard_release" in " ".join(output.split())


def test_the_members_that_readers_are_said_to_load_are_those_that_miss(output: str) -> None:
    said, _, rest = output.partition("Its layout")
    loads, writer = re.findall(r"Readers load `(\w+)`, .* the\nwriter takes `(\w+)`", said)[0]
    assert f"{loads} (in session_index_find" in rest or f"root, {loads} (in session_index_find" in rest
    assert f"after stores to {writer} by guard_take" in " ".join(rest.split())


def test_there_is_one_next_step(output: str) -> None:
    assert output.count("\nnext: linesmith record ") == 1
    assert output.rstrip().endswith("# then what it prints as next")
    assert "docs/tutorial" not in output, "which an installed package has not"


def test_a_pair_has_one_number_whoever_counts_it(output: str) -> None:
    """In the recording and in its replay, and what the change saves is no interval of two equal ends."""
    text = " ".join(output.split())
    (found,) = re.findall(r"guard_release[^:]*: ([\d,]+) misses after stores by other CPUs", text)
    assert re.findall(r"session_index_find[^)]*\): ([\d,]+) -> 0 misses", text) == [found]
    assert not re.search(r"\b([\d.]+%?) to \1\b", text)


def test_the_patch_moves_the_lock_alone_and_is_verified(output: str) -> None:
    changes = [line for line in output.splitlines() if line[:2] in ("- ", "+ ")]
    assert [line[0] for line in changes] == ["-", "+"]
    assert changes[0][1:] == changes[1][1:] == "  struct guard guard;               /* protects the times of renewal */"
    assert "Verified: compiled with" in output


def test_the_throughput_is_shown_with_spread_and_cpus(output: str) -> None:
    assert "CPUs used: " in output
    for operation in ("lookups", "renewals"):
        row = next(line for line in output.splitlines() if line.startswith(operation))
        assert row.count("…") == 3


@pytest.mark.study
def test_one_cpu_is_enough_and_is_said_to_show_nothing() -> None:
    taskset = shutil.which("taskset")
    assert taskset is not None
    one = str(min(os.sched_getaffinity(0)))
    argv: list[str | Path] = [taskset, "-c", one, LINESMITH, "demo"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0
    assert f"CPUs used: 1 ({one}); only one CPU is available" in done.stdout


@pytest.mark.study
def test_without_a_recorder_the_profile_is_said_to_be_written_for_the_example(tmp_path: Path) -> None:
    for name in ("cc", "gcc", "git", "patch", "ld", "as"):
        if found := shutil.which(name):
            (tmp_path / name).symlink_to(found)
    done = demo(PATH=str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert "CPUs used: " in done.stdout
    assert "figures were written for this example, not recorded: not on perf, for " in done.stdout


def test_without_a_compiler_one_sentence_names_the_package_and_nothing_is_left(tmp_path: Path) -> None:
    done = demo(TMPDIR=str(tmp_path), PATH=str(tmp_path))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "install the package gcc" in done.stderr
    assert list(tmp_path.iterdir()) == []


# The race: the CPUs that it runs on, what its figures allow to say, and the program that is raced


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
    samples = [
        Sample(side, "race", f"{name}_per_second", 2, 1e6 * rate, block, 0)
        for side, rates in (("before", before), ("after", after))
        for block, lookups in enumerate(rates)
        for name, rate in (("lookups", lookups), ("renewals", 30.0))
    ]
    return [" ".join(line.split()) for line in race_text(samples, CpuChoice((0, 1), placement)).splitlines()]


EVEN = [100.0] * 12


def test_a_gain_is_shown_with_its_spread() -> None:
    lines = told([40 + 0.1 * number for number in range(12)], [80.0] * 12)
    assert lines[1] == "lookups 40.5 (40.0 … 41.1) 80.0 (80.0 … 80.0) 1.97 (1.96 … 1.98) better"
    assert lines[2] == "renewals 30.0 (30.0 … 30.0) 30.0 (30.0 … 30.0) 1.00 (1.00 … 1.00) no difference seen"
    assert lines[-1] == "The change helps lookups here: 1.97 times as many per second."


def test_a_loss_and_noise_are_not_called_a_gain_and_siblings_of_one_core_are_mentioned() -> None:
    assert told(EVEN, [90.0] * 12)[-1] == "The change does not help lookups here: only 0.90 times as many per second."
    assert "Whether it helps lookups is open: the runs differ too much" in told(EVEN, [60.0, 170.0] * 6)[-1]
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
