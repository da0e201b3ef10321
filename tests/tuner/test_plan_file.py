# SPDX-License-Identifier: GPL-2.0-or-later
"""What the file of `linesmith tune` may say, what it leaves open, and what it cannot mean."""

from __future__ import annotations

from pathlib import Path

import pytest

from linesmith.analyzer.errors import PlanError
from linesmith.tuner.plan_file import read_plan

_PROGRAM = """
[source]
tree = "server"
command = "make -j{jobs}"
products = ["out/server"]

[[benchmark]]
name = "command"
run = "{server} 4"
threads = [1, 4]
"""
STEP = "docs/tuning.md lists what a plan may say"


@pytest.fixture
def plan_file(tmp_path: Path) -> Path:
    (tmp_path / "server").mkdir()
    return tmp_path / "tune.toml"


def refused(plan_file: Path, text: str) -> str:
    plan_file.write_text(text)
    with pytest.raises(PlanError) as failure:
        read_plan(plan_file)
    return str(failure.value).removeprefix(f"{plan_file}: ")


def test_paths_are_relative_to_the_file(plan_file: Path) -> None:
    plan_file.write_text(_PROGRAM)
    assert read_plan(plan_file).recipe.tree == plan_file.parent / "server"


def test_a_program_is_built_by_its_command_and_run_here(plan_file: Path) -> None:
    plan_file.write_text(_PROGRAM)
    plan = read_plan(plan_file)
    assert (plan.recipe.builder, plan.site.name) == ("command", "here")


def test_a_tree_with_kbuild_is_a_kernel_that_qemu_boots(plan_file: Path) -> None:
    tree = plan_file.parent / "server"
    (tree / "scripts").mkdir()
    for name in ("Kbuild", "Kconfig", "scripts/Kbuild.include"):
        (tree / name).touch()
    plan_file.write_text('[source]\ntree = "server"\n[[benchmark]]\nname = "exec-storm"\n')
    plan = read_plan(plan_file)
    assert (plan.recipe.builder, plan.site.name) == ("kbuild", "qemu")
    assert plan.evidence is not None
    assert plan.evidence.elf == "vmlinux"


def test_without_a_record_table_the_first_benchmark_is_recorded(plan_file: Path) -> None:
    plan_file.write_text(_PROGRAM)
    plan = read_plan(plan_file)
    assert plan.evidence is not None
    assert plan.evidence.use == plan.benchmarks[0]
    assert plan.evidence.elf == "server"


def test_keys_that_are_not_ours_are_settings_of_the_plugin(plan_file: Path) -> None:
    plan_file.write_text(_PROGRAM + 'pattern = ["a", "b"]\n')
    (use,) = read_plan(plan_file).benchmarks
    assert use.settings == (("run", "{server} 4"), ("pattern", ("a", "b")))
    assert use.threads == (1, 4)


def test_a_guest_may_be_given_its_memory_as_people_write_it(plan_file: Path) -> None:
    plan_file.write_text(_PROGRAM + '[machine]\nname = "qemu"\nmemory = "2G"\nhost = "lab"\n')
    site = read_plan(plan_file).site
    assert (site.memory, site.settings) == (2 << 30, (("host", "lab"),))


def test_a_profile_that_is_not_there_is_told_before_anything_is_built(plan_file: Path) -> None:
    sentence = refused(plan_file, _PROGRAM + '[record]\nprofile = "c2c.txt"\n')
    assert sentence.startswith("[record] profile = 'c2c.txt': there is no file")


def test_a_number_that_is_too_small_is_told(plan_file: Path) -> None:
    assert refused(plan_file, _PROGRAM + "[budget]\ntrials = 0\n") == (
        "[budget] `trials` = 0 is too little; it is at least 1"
    )


def test_a_misspelt_key_is_told_with_those_that_there_are(plan_file: Path) -> None:
    assert refused(plan_file, _PROGRAM + "[budget]\ntrails = 3\n") == (
        "[budget] has no `trails` (did you mean trials?); it may have trials, minutes"
    )


def test_a_misspelt_key_of_the_source_is_told(plan_file: Path) -> None:
    sentence = refused(plan_file, _PROGRAM.replace("tree =", "treee ="))
    assert sentence.startswith("[source] has no `treee` (did you mean tree?); it may have tree, builder, ")


def test_a_misspelt_table_is_told_with_those_that_there_are(plan_file: Path) -> None:
    assert refused(plan_file, _PROGRAM + "[budgt]\nminutes = 3\n") == (
        "the plan has no [budgt] (did you mean budget?); it may have source, machine, benchmark, record, search, "
        "judge, budget"
    )


def test_a_value_of_another_kind_is_told_with_its_table(plan_file: Path) -> None:
    assert refused(plan_file, _PROGRAM.replace("[1, 4]", '"many"')) == (
        f"[[benchmark]] command: `threads`: Expected `int | array`, got `str`; {STEP}"
    )
    assert (
        refused(plan_file, _PROGRAM + '[machine]\ncpus = "all"\n')
        == f"[machine]: `cpus`: Expected `int`, got `str`; {STEP}"
    )
    assert refused(plan_file, _PROGRAM + '[budget]\ntrials = "all"\n') == (
        f"`budget.trials`: Expected `int`, got `str`; {STEP}"
    )


def test_a_tree_that_is_not_there_is_told(plan_file: Path) -> None:
    sentence = refused(plan_file, _PROGRAM.replace('"server"', '"sever"', 1))
    assert sentence.startswith("[source] tree = 'sever'")
    assert sentence.endswith("is no directory; name the root of the sources")


def test_a_program_needs_a_command_and_its_products(plan_file: Path) -> None:
    assert refused(plan_file, _PROGRAM.replace('products = ["out/server"]', "")) == (
        "[source] needs `command`, which builds the tree, and `products`, the files to keep of it"
    )


def test_guards_alone_decide_nothing(plan_file: Path) -> None:
    sentence = refused(plan_file, _PROGRAM + 'guard = true\n[record]\ncommand = "x"\n')
    assert sentence == "every [[benchmark]] is a guard, so none decides; leave `guard` away from one"


def test_a_ladder_goes_up(plan_file: Path) -> None:
    assert "in this order" in refused(plan_file, _PROGRAM + '[search]\nladder = ["benchmark", "estimate"]\n')


def test_text_that_is_no_toml_is_told_with_its_place(plan_file: Path) -> None:
    assert "(at line 1, column 6)" in refused(plan_file, "tree server")


def test_bytes_that_are_no_text_are_refused(plan_file: Path) -> None:
    plan_file.write_bytes(b"\xff\xfe")
    with pytest.raises(PlanError, match=r"docs/tuning\.md lists what a plan may say"):
        read_plan(plan_file)
