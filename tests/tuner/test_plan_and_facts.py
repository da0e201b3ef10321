# SPDX-License-Identifier: GPL-2.0-or-later
"""What the files of a person may say: the plan of `linesmith tune`, and constraints that only the source shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hand_made import held, scalar, struct, table, union

from linesmith.analyzer.base.errors import ConstraintsError, PlanError
from linesmith.analyzer.model import FactKind, SourceFact, SourceFacts
from linesmith.tuner.constraints.facts import check_facts, read_facts
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


FILE = """
[[mapping]]
offset = ["host", "ops"]
reason = "crash dumps are read with them"
place = "tools/dump.py:12"

[[mapping]]
apart = ["tree", "lock"]
bytes = 128

[["struct cache"]]
size = 192
"""


def facts_in(folder: Path, text: str) -> SourceFacts:
    """What a file with this text tells."""
    (folder / "facts.toml").write_text(text)
    return read_facts(folder / "facts.toml")


def test_a_table_tells_a_fact_of_the_record_it_is_named_after(tmp_path: Path) -> None:
    found = facts_in(tmp_path, FILE)
    assert found.of("mapping") == (
        SourceFact(FactKind.OFFSET, ("host", "ops"), "crash dumps are read with them", "tools/dump.py:12"),
        SourceFact(FactKind.APART, ("tree", "lock"), "they must be on different lines", "facts.toml", 128),
    )
    assert found.of("cache") == (SourceFact(FactKind.SIZE, (), "it must not become larger", "facts.toml", 192),)
    assert found.of("other") == ()


def test_each_kind_of_fact_has_its_word(tmp_path: Path) -> None:
    words = {
        'range = ["a", "b"]': (FactKind.RANGE, "a", "b"),
        'together = ["a", "b"]': (FactKind.TOGETHER, "a", "b"),
        'positional = "b"': (FactKind.POSITIONAL, "b"),
        'first = "a"': (FactKind.FIRST, "a"),
        'last = "b"': (FactKind.LAST, "b"),
        'wall = "b"': (FactKind.WALL, "b"),
        "randomized = true": (FactKind.RANDOMIZED,),
        'size = "now"': (FactKind.SIZE,),
        'size = "page"': (FactKind.PAGE,),
        'size = "slab"': (FactKind.SLAB,),
        'offset = "a.inner"': (FactKind.OFFSET, "a"),
    }
    found = {line: facts_in(tmp_path, f"[[s]]\n{line}").of("s")[0] for line in words}
    assert {line: (fact.kind, *fact.members) for line, fact in found.items()} == words
    assert {fact.bytes for fact in found.values()} == {None}


KINDS = "offset, range, positional, first, last, wall, together, apart, randomized, size"
ONE_FACT = f"a table holds one fact, one of {KINDS}"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('ofset = ["a"]', "Object contains unknown field `ofset`"),
        ('reason = "because"', f" has nothing; {ONE_FACT}"),
        ('first = "a"\nsize = 8', f" has `first` and `size`; {ONE_FACT}"),
        ("offset = 3", "Expected `str | array | null`, got `int` - at `$.offset`"),
        ('range = ["a"]', "`range` names 1 members, at least 2 are needed"),
        ('apart = ["a", "b"]\nbytes = 0', "Expected `int` >= 1 - at `$.bytes`"),
        ('first = "a"\nbytes = 64', "`bytes` is the line that members are `apart` on; `first` has none"),
        ('size = "small"', "Invalid enum value 'small' - at `$.size`"),
        ("size = 8\nbytes = 8", "`bytes` is the line that members are `apart` on; `size` has none"),
    ],
)
def test_what_is_no_fact_is_told_with_its_place(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(ConstraintsError) as caught:
        facts_in(tmp_path, f'[[s]]\nfirst = "a"\n[[s]]\n{line}')
    assert f"facts.toml: [[s]] number 2{'' if message.startswith(' ') else ': '}{message}; docs/" in str(caught.value)


@pytest.mark.parametrize("text", ["[s]\nsize = 8", "s = 3"])
def test_facts_stand_in_tables_of_the_records_name(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConstraintsError, match=r"write facts of a record in tables with its name, `\[\[s\]\]`;"):
        facts_in(tmp_path, text)


EITHER = union("", scalar("left"), scalar("right"))
LAYOUTS = table(EITHER, struct("mapping", scalar("host"), scalar("lock"), held("", EITHER)))


def test_members_of_anonymous_records_and_of_another_build_are_known(tmp_path: Path) -> None:
    check_facts(facts_in(tmp_path, '[[mapping]]\noffset = ["host", "right"]'), LAYOUTS)
    check_facts(facts_in(tmp_path, '[[mapping]]\noffset = "debug"'), LAYOUTS, table(struct("mapping", scalar("debug"))))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[maping]]\noffset = "host"', "struct maping, which the ELF file does not have; did you mean mapping"),
        ('[[mapping]]\noffset = "locks"', r"mapping.locks, which the ELF file does not have; did you mean lock\?"),
        ('[[mapping]]\noffset = "zzzz"', "or name the build that has it with --configuration"),
    ],
)
def test_what_is_not_there_is_told_with_a_near_name(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConstraintsError, match=message):
        check_facts(facts_in(tmp_path, text), LAYOUTS)
