# SPDX-License-Identifier: GPL-2.0-or-later
"""A build is recorded as the plan's benchmark or command runs it; programs here, kernels in ``tests/e2e``."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from tuning.project import SOURCES

from linesmith.analyzer.base.errors import BenchmarkFailed, PlanError
from linesmith.analyzer.model import Built, Evidence, Step, Use
from linesmith.tuner.replay.simulated import MeasuredRecord
from linesmith.tuner.run.simulated import SimulatedBenchmark, order_of, planned_order, recorded, simulated_block

TWO_COUNTERS = (SOURCES / "two_counters.c").read_text()
QUESTION = MeasuredRecord("counters", frozenset([frozenset(("first", "second"))]))


def silent(sentence: str) -> None:
    """Nobody listens."""


def compiled(folder: Path, source: str) -> Built:
    folder.mkdir(exist_ok=True)
    (folder / "count.c").write_text(source)
    argv = ["gcc", "-g", "-O1", "-pthread", "-o", str(folder / "count"), str(folder / "count.c")]
    subprocess.run(argv, check=True)
    return Built(folder.name, folder, (("count", folder / "count"),))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return compiled(tmp_path_factory.mktemp("shared"), TWO_COUNTERS)


EVIDENCE = Evidence("count", command=("{count}", "40000"), operations=40000)


def test_a_program_runs_in_an_empty_folder_and_its_output_is_kept(built: Built, tmp_path: Path) -> None:
    profile = recorded(built, EVIDENCE, tmp_path, 1, silent)
    assert profile.lines
    assert (tmp_path / "output.txt").read_text() == "counted\n"
    assert (tmp_path / "place" / "made").is_file()


def test_both_sides_of_a_block_have_the_same_seed_and_are_told_apart(built: Built, tmp_path: Path) -> None:
    parted = compiled(tmp_path / "parted", TWO_COUNTERS.replace("first, second", "first, pad[8], second"))
    simulation = SimulatedBenchmark(EVIDENCE, QUESTION, tmp_path)
    samples = simulated_block(simulation, ("baseline", built), ("v1", parted), 3, 7, silent)
    pair = {sample.variant: sample.value for sample in samples if sample.metric == "pair"}
    assert pair["baseline"] > 0
    assert pair["v1"] == 0
    assert {(sample.variant, sample.boot, sample.block) for sample in samples} == {("baseline", 0, 3), ("v1", 1, 3)}


def test_a_recording_of_the_same_build_and_seed_is_made_once(built: Built, tmp_path: Path) -> None:
    told: list[str] = []
    simulation = SimulatedBenchmark(EVIDENCE, QUESTION, tmp_path)
    first = simulation.values(built, 1, told.append)
    said = len(told)
    assert simulation.values(built, 1, told.append) == first
    assert len(told) == said > 0


def test_preparations_are_run_as_they_are(built: Built, tmp_path: Path) -> None:
    made = tmp_path / "prepared-file"
    use = Use("command", (("run", "{count} 100"), ("prepare", (f"touch {made}",))))
    order = order_of(built, replace(EVIDENCE, use=use), tmp_path, 1, silent)
    assert made.is_file()
    assert order.command == (str(built.product("count")), "100")
    failing = Use("command", (("run", "{count} 100"), ("prepare", ("false",))))
    with pytest.raises(BenchmarkFailed, match="false ended with status 1 before the recording"):
        order_of(built, replace(EVIDENCE, use=failing), tmp_path, 1, silent)


def test_a_program_has_its_environment_and_is_one_that_is_built(built: Built, tmp_path: Path) -> None:
    step = Step(("{count}", "1"), environment=(("MODE", "fast"),))
    assert planned_order(built, EVIDENCE, [step], 1, tmp_path).environment == (("MODE", "fast"),)
    with pytest.raises(PlanError, match="elf = 'server' is not a product of the build; name one of count"):
        planned_order(built, replace(EVIDENCE, elf="server"), [step], 1, tmp_path)


def test_a_kernel_does_all_steps_one_after_the_other(tmp_path: Path) -> None:
    kernel = Built("key", tmp_path, (("kernel", tmp_path / "bzImage"), ("vmlinux", tmp_path / "vmlinux")))
    steps = (Step(("mkdir", "/data/a b"), silent=True), Step(("storm",), cpus=(1, 3), environment=(("N", "2"),)))
    order = planned_order(kernel, Evidence("vmlinux", cpus=8), steps, 5, tmp_path)
    assert order.command == ("sh", "-c", "mkdir '/data/a b' && env N=2 taskset -c 1,3 storm")
    assert order.guest is not None
    assert (order.guest.cpus, order.emulation.seed) == (8, 5)
