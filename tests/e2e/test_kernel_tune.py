# SPDX-License-Identifier: GPL-2.0-or-later
"""The way from a kernel and a workload to a verified patch, without a profile of anybody's machine.

The part that rebuilds and measures takes most of an hour: ``make e2e-kernel`` runs it (``tests/e2e/kernel``).
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from linesmith_command import linesmith

from linesmith.analyzer.model import Fidelity
from linesmith.plugins.registry import benchmark
from linesmith.tuner.run.plan_file import read_plan

PLAN_FOLDER = Path(__file__).parent / "kernel"
CPUS = 8

pytestmark = pytest.mark.xdist_group("kernel tune")


@pytest.fixture(scope="module")
def storm(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """Programs that map the same files begin and end on all CPUs."""
    (step,) = benchmark("exec-storm").steps({"operations": 8}, CPUS, tmp_path_factory.mktemp("storm"))
    return step.command


@pytest.fixture(scope="module")
def profile(
    kernel_image: Path, vmlinux: Path, storm: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """What Debian's kernel does to cache lines under the storm."""
    path = tmp_path_factory.mktemp("recorded") / "profile"
    machine = ("--kernel", kernel_image, "--vmlinux", vmlinux, "--smp", str(CPUS))
    done = linesmith("record", *machine, "-o", path, "--", *storm)
    assert done.returncode == 0, done.stderr
    return path


@pytest.mark.real
@pytest.mark.study
def test_the_lock_of_mappings_is_among_the_hottest_lines(vmlinux: Path, profile: Path) -> None:
    done = linesmith("hot", vmlinux, profile, "--format", "json")
    lines = sorted(json.loads(done.stdout)["lines"], key=lambda line: line["rank"])[:10]
    members = [
        (thing["type"], member["path"]) for line in lines for thing in line["objects"] for member in line["members"]
    ]
    assert any(type_ == "address_space" and path.startswith("i_mmap_rwsem") for type_, path in members)


@pytest.mark.real
@pytest.mark.study
def test_the_patch_for_it_is_confirmed_by_a_compiler(vmlinux: Path, kernel_tree: Path, profile: Path) -> None:
    done = linesmith("patch", vmlinux, profile, "--tree", kernel_tree, "--type", "address_space", "--format", "json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["file"], told["exact"]) == ("include/linux/fs.h", True)
    assert "gcc" in told["verified"]
    assert "i_mmap_rwsem" in told["message"]


@pytest.mark.real
@pytest.mark.study
def test_the_plan_can_be_carried_out_and_measures_by_simulation_alone(kernel_tree: Path, tmp_path: Path) -> None:
    shutil.copytree(PLAN_FOLDER, tmp_path, dirs_exist_ok=True)
    (tmp_path / "linux").symlink_to(kernel_tree)
    done = linesmith("tune", tmp_path / "tune.toml", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "tinyconfig" in done.stdout
    plan = read_plan(tmp_path / "tune.toml")
    assert plan.search.ladder[-1] == Fidelity.SIMULATION
    assert plan.budget.minutes <= 40
    assert plan.evidence is not None
    assert plan.evidence.use is not None
    assert plan.evidence.operations == plan.evidence.use.threads[0] * dict(plan.evidence.use.settings)["operations"]


def test_the_fragment_asks_for_what_a_recording_needs() -> None:
    asked = re.findall(r"^CONFIG_(\w+)=[ym]$", (PLAN_FOLDER / "linesmith.config").read_text(), re.MULTILINE)
    assert {"SMP", "SLUB_DEBUG", "KALLSYMS", "DEBUG_INFO_DWARF5", "SERIAL_8250_CONSOLE", "BLK_DEV_INITRD"} <= set(asked)
