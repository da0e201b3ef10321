# SPDX-License-Identifier: GPL-2.0-or-later
"""What the file of `linesmith tune` may say, what it leaves open, and what it cannot mean."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from linesmith.analyzer.base.errors import PlanError
from linesmith.tuner.run.plan_file import read_plan

PROGRAM = """
[source]
tree = "server"
command = "make -j{jobs}"
products = ["out/server"]

[[benchmark]]
name = "command"
run = "{server} 4"
threads = [1, 4]
"""
TABLES = "source, machine, benchmark, record, search, judge, budget"
STEP = "docs/tuning.md lists the keys of a plan"


@pytest.fixture
def plan_file(tmp_path: Path) -> Path:
    (tmp_path / "server").mkdir()
    path = tmp_path / "tune.toml"
    path.write_text(PROGRAM)
    return path


def test_a_program_is_built_by_its_command_run_here_and_recorded_with_its_first_benchmark(plan_file: Path) -> None:
    plan = read_plan(plan_file)
    assert plan.recipe.tree == plan_file.parent / "server", "paths are relative to the file"
    assert (plan.recipe.builder, plan.site.name) == ("command", "here")
    assert plan.evidence is not None
    assert (plan.evidence.use, plan.evidence.elf) == (plan.benchmarks[0], "server")


def test_a_tree_with_kbuild_is_a_kernel_that_qemu_boots(plan_file: Path) -> None:
    tree = plan_file.parent / "server"
    (tree / "scripts").mkdir()
    for name in ("Kbuild", "Kconfig", "scripts/Kbuild.include"):
        (tree / name).touch()
    plan_file.write_text('[source]\ntree = "server"\n[[benchmark]]\nname = "exec-storm"\n')
    plan = read_plan(plan_file)
    assert plan.evidence is not None
    assert (plan.recipe.builder, plan.site.name, plan.evidence.elf) == ("kbuild", "qemu", "vmlinux")


def test_keys_that_are_not_ours_are_settings_of_the_plugin(plan_file: Path) -> None:
    machine = '[machine]\nname = "qemu"\nmemory = "2G"\nhost = "lab"\n'
    plan_file.write_text(PROGRAM + 'pattern = ["a", "b"]\n' + machine)
    plan = read_plan(plan_file)
    (use,) = plan.benchmarks
    assert use.settings == (("run", "{server} 4"), ("pattern", ("a", "b")))
    assert use.threads == (1, 4)
    assert (plan.site.memory, plan.site.settings) == (2 << 30, (("host", "lab"),))


@pytest.mark.parametrize(
    ("replaced", "text", "message"),
    [
        ("", '[record]\nprofile = "c2c.txt"\n', "[record] profile = 'c2c.txt': there is no file"),
        ("", "[budget]\ntrials = 0\n", "[budget] `trials` = 0 is too small; the minimum is 1"),
        ("", "[budget]\ntrails = 3\n", "[budget] has no `trails` (did you mean trials?); it may have trials, minutes"),
        ("tree =", "treee =", "[source] has no `treee` (did you mean tree?); it may have tree, builder, "),
        ("", "[budgt]\nminutes = 3\n", f"the plan has no [budgt] (did you mean budget?); it may have {TABLES}"),
        ("[1, 4]", '"many"', f"[[benchmark]] command: `threads`: Expected `int | array`, got `str`; {STEP}"),
        ("", '[machine]\ncpus = "all"\n', f"[machine]: `cpus`: Expected `int`, got `str`; {STEP}"),
        ("", '[budget]\ntrials = "all"\n', f"`budget.trials`: Expected `int`, got `str`; {STEP}"),
        ('"server"', '"sever"', "[source] tree = 'sever'"),
        (
            'products = ["out/server"]',
            "",
            "[source] needs `command`, which builds the tree, and `products`, the files ",
        ),
        ("", 'guard = true\n[record]\ncommand = "x"\n', "every [[benchmark]] is a guard, so none decides; remove "),
        ("", '[search]\nladder = ["benchmark", "estimate"]\n', "in this order"),
    ],
)
def test_what_a_plan_cannot_mean_is_told_with_its_place(
    plan_file: Path, replaced: str, text: str, message: str
) -> None:
    """In a plan with more below it, or with another text in one place."""
    plan_file.write_text(PROGRAM.replace(replaced, text, 1) if replaced else PROGRAM + text)
    with pytest.raises(PlanError, match=rf"^{re.escape(str(plan_file))}(:\d+)?: .*{re.escape(message)}"):
        read_plan(plan_file)
