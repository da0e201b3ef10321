# SPDX-License-Identifier: GPL-2.0-or-later
"""A dry run shows what a run would do, in its order."""

from __future__ import annotations

from pathlib import Path

import pytest
from builders.projects import CASES, plant
from profiles.c2c_text import LineSpec, ReportSpec, RowSpec, render
from tuning.project import APART, PLAN, benched, plan_of, project

from linesmith.analyzer.errors import PlanError
from linesmith.analyzer.model import Variant
from linesmith.tuner.tuning.preview import of_bench, of_tune

_RECORD = 'command = "{queue} work"\n'
_ROW = RowSpec(8, (1, 2, 3, 4, 5), 0x1139, "push", "[.]", "push+0x9")
_KERNEL = """
[source]
tree = "tree"
builder = "kbuild"
base = "tinyconfig"

[record]
command = "sh -c 'ls | wc'"
cpus = 2
memory = "256M"
append = "slub_debug=-"
"""


def words(command: str) -> str:
    """The program of a command and the words of the recorded one, without the paths on the way."""
    program, *rest = (word.rpartition("/")[2] for word in command.split())
    return f"{program}: {' '.join(rest[-2:])}"


def test_a_search_builds_records_and_benchmarks(tmp_path: Path) -> None:
    shown = of_tune(plan_of(project(tmp_path)), tmp_path / "run")
    assert "cc -g -O1 -pthread -o queue queue.c" in shown.commands[0]
    assert [words(one) for one in shown.commands[1:]] == ["qemu-x86_64: queue work", "queue: cost"]
    assert f"trace={tmp_path}/run/profile.trace " in shown.commands[1]
    assert not (tmp_path / "run").exists()


def test_a_profile_at_hand_is_not_recorded(tmp_path: Path) -> None:
    folder = project(tmp_path)
    (folder / "c2c.txt").write_text(render(ReportSpec((LineSpec(0x4040, (_ROW,)),))))
    shown = of_tune(plan_of(folder, PLAN.replace(_RECORD, 'profile = "c2c.txt"\n')), tmp_path / "run")
    assert [words(one) for one in shown.commands[1:]] == ["queue: cost"]


def test_what_prepares_a_recording_is_shown_before_it(tmp_path: Path) -> None:
    prepared = '\n[record.benchmark]\nname = "command"\nprepare = ["touch begun"]\nrun = "{queue} work"\n'
    shown = of_tune(plan_of(project(tmp_path), PLAN.replace(_RECORD, prepared)), tmp_path / "run")
    assert shown.commands[1] == "touch begun"
    assert words(shown.commands[2]) == "qemu-x86_64: queue work"


def test_patches_are_recorded_where_the_simulation_measures_them(tmp_path: Path) -> None:
    text = PLAN.replace('"estimate", "benchmark"', '"simulate"')
    shown = of_bench(plan_of(project(tmp_path), text), [Variant("apart", (APART,))], tmp_path / "run")
    assert [words(one) for one in shown.commands[1:]] == ["qemu-x86_64: queue work"]


def test_a_plan_that_measures_nothing_has_no_bench(tmp_path: Path) -> None:
    text = PLAN.replace('"estimate", "benchmark"', '"estimate"')
    with pytest.raises(PlanError, match="there is nothing that is measured"):
        of_bench(plan_of(project(tmp_path), text), [Variant("apart", (APART,))], tmp_path / "run")
    with pytest.raises(PlanError, match="there is nothing that is measured"):
        benched(tmp_path / "run", tmp_path, [Variant("apart", (APART,))], text)


def test_a_kernel_that_is_yet_to_be_built_is_booted_to_be_recorded(tmp_path: Path) -> None:
    plant(CASES["kbuild"].files, tmp_path / "tree")
    *build, record = of_tune(plan_of(tmp_path, _KERNEL), tmp_path / "run").commands
    assert build[-1].endswith(" bzImage")
    assert record.startswith("/usr/bin/qemu-system-x86_64 ")
    assert f" -kernel {tmp_path}/run/artifacts/KEY/kernel " in record
    assert "-m 256M -smp 2" in record
    assert "slub_debug=-" in record
