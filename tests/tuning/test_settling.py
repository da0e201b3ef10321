# SPDX-License-Identifier: GPL-2.0-or-later
"""What a plan leaves open is settled by what it has."""

from __future__ import annotations

from pathlib import Path

import pytest

from linesmith.analyzer.errors import PlanError
from linesmith.analyzer.model import Fidelity
from linesmith.tuner.plan_file import plan_in
from linesmith.tuner.tuning.settling import Settled, settled

_SOURCE = """
[source]
tree = "."
command = "make"
products = ["server"]
"""
_COUNTED = '[[benchmark]]\nname = "page-faults"\nthreads = [1, 4]\noperations = 100\npages = 32\n'
_TIMED = '[[benchmark]]\nname = "page-faults"\nseconds = 2\n'


def settle(text: str, folder: Path) -> Settled:
    return settled(plan_in(_SOURCE + text, folder))


def test_a_program_with_a_benchmark_has_every_rung(tmp_path: Path) -> None:
    assert settle(_COUNTED, tmp_path).plan.search.ladder == tuple(Fidelity)


def test_misses_are_told_for_each_operation_of_the_recorded_benchmark(tmp_path: Path) -> None:
    evidence = settle(_COUNTED, tmp_path).plan.evidence
    assert evidence is not None
    assert evidence.operations == 4 * 128  # of four threads, in whole rounds of 32 pages


def test_a_command_is_one_operation(tmp_path: Path) -> None:
    evidence = settle('[record]\ncommand = "{server} 4"\n', tmp_path).plan.evidence
    assert evidence is not None
    assert evidence.operations == 1


def test_without_a_benchmark_the_simulation_is_the_top_of_the_ladder(tmp_path: Path) -> None:
    ladder = settle('[record]\ncommand = "{server} 4"\n', tmp_path).plan.search.ladder
    assert ladder == (Fidelity.ESTIMATE, Fidelity.REPLAY, Fidelity.SIMULATION)


def test_a_profile_at_hand_leaves_nothing_to_replay_or_to_simulate(tmp_path: Path) -> None:
    (tmp_path / "c2c.txt").touch()
    ladder = settle(_COUNTED + '[record]\nprofile = "c2c.txt"\n', tmp_path).plan.search.ladder
    assert ladder == (Fidelity.ESTIMATE, Fidelity.BENCHMARK)


def test_what_all_misses_cost_decides_for_a_program(tmp_path: Path) -> None:
    evidence = settle(_COUNTED, tmp_path).plan.evidence
    assert evidence is not None
    assert evidence.metric == "cycles"


def test_work_for_a_set_time_is_not_simulated_and_that_is_said(tmp_path: Path) -> None:
    settling = settle(_TIMED, tmp_path)
    assert settling.plan.search.ladder == (Fidelity.ESTIMATE, Fidelity.BENCHMARK)
    (sentence,) = settling.remarks
    assert sentence.startswith("nothing was replayed or simulated: a run of page-faults does not do the same work")


def test_to_ask_for_the_simulation_of_work_for_a_set_time_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="give it a number of operations"):
        settle(_TIMED + '[search]\nladder = ["estimate", "simulate"]\n', tmp_path)


def test_the_time_of_an_emulated_machine_decides_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linesmith.tuner.tuning.settling.kvm_obstacle", lambda: "there is no KVM here")
    kernel = '[source]\ntree = "."\nbuilder = "kbuild"\n' + _COUNTED
    settling = settled(plan_in(kernel, tmp_path))
    assert settling.plan.search.ladder == (Fidelity.ESTIMATE, Fidelity.REPLAY, Fidelity.SIMULATION)
    assert settling.remarks[0].startswith("the benchmarks decide nothing: there is no KVM here")


def test_a_ladder_that_is_named_is_the_users(tmp_path: Path) -> None:
    named = '[machine]\nname = "qemu"\n[search]\nladder = ["estimate", "benchmark"]\n'
    assert settle(_COUNTED + named, tmp_path).plan.search.ladder == (Fidelity.ESTIMATE, Fidelity.BENCHMARK)
