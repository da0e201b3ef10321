# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels: a configuration over a base, what became of it, and what a kernel needs to be built."""

from __future__ import annotations

import os
import platform
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from builders.projects import CASES, SOURCES, plant

from linesmith.analyzer.base.errors import BuildFailed, ToolMissing, TreeError
from linesmith.analyzer.model import Built, Recipe, Variant, Workplace
from linesmith.plugins.builders import kbuild
from linesmith.plugins.registry import builder

BUILDER = builder("kbuild")
LINE = 64


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recipe:
    """A tree that answers to Kbuild's targets and knows the options A, B, DEBUG_INFO and BUILD_SALT."""
    monkeypatch.setenv("CCACHE_DIR", str(tmp_path / "ccache"))
    case = CASES["kbuild"]
    return case.recipe(plant(case.files, tmp_path / "tree"))


def built(recipe: Recipe, folder: Path, variant: Variant | None = None, told: list[str] | None = None) -> Built:
    place = Workplace(folder / "warm", folder / "artifacts")
    tell = (lambda _: None) if told is None else told.append
    return BUILDER.build(recipe, variant or Variant("v"), place, tell)


def fragment(recipe: Recipe, text: str) -> Recipe:
    path = recipe.tree.with_name("fragment")
    path.write_text(text)
    return replace(recipe, configuration=path)


def test_a_fragment_and_a_salt_go_over_the_base(recipe: Recipe, tmp_path: Path) -> None:
    base = built(recipe, tmp_path)
    assert [name for name, _ in base.products] == ["kernel", "vmlinux"]
    assert base.configuration
    changed, salted = fragment(recipe, "CONFIG_B=y\n# CONFIG_A is not set\n"), Variant("placebo", salt=3)
    assert [
        kbuild.options((kernel.directory / ".config").read_text())
        for kernel in (base, built(changed, tmp_path), built(recipe, tmp_path, salted))
    ] == [
        {"A": "y", "DEBUG_INFO": "y", "BUILD_SALT": '""'},
        {"DEBUG_INFO": "y", "BUILD_SALT": '""', "A": "n", "B": "y"},
        {"A": "y", "DEBUG_INFO": "y", "BUILD_SALT": '"linesmith-3"'},
    ]


def test_what_became_of_the_configuration_is_told(recipe: Recipe, tmp_path: Path) -> None:
    told: list[str] = []
    built(fragment(recipe, "CONFIG_B=y\nCONFIG_UNKNOWN=m\nCONFIG_DEBUG_INFO=n\n"), tmp_path, told=told)
    assert told[1:] == ["options that Kconfig decided otherwise: CONFIG_UNKNOWN is n, not m"]
    whole = replace(fragment(recipe, 'CONFIG_A=y\nCONFIG_BUILD_SALT=""\n'), base="")
    built(whole, tmp_path, told=told)
    assert told[-1] == "vmlinux will have no DWARF; set CONFIG_DEBUG_INFO_DWARF5=y in the configuration"


def test_the_trees_own_configuration_is_taken_when_none_is_named(recipe: Recipe, tmp_path: Path) -> None:
    (recipe.tree / ".config").write_text('CONFIG_B=y\nCONFIG_DEBUG_INFO=y\nCONFIG_BUILD_SALT="mine"\n')
    own = replace(recipe, base="")
    first = built(own, tmp_path)
    assert "CONFIG_B=y" in (first.directory / ".config").read_text()
    (recipe.tree / ".config").write_text('CONFIG_A=y\nCONFIG_DEBUG_INFO=y\nCONFIG_BUILD_SALT="mine"\n')
    assert built(own, tmp_path).key != first.key


def test_a_placebos_code_and_data_lie_elsewhere(recipe: Recipe, tmp_path: Path) -> None:
    """As behind any change of the source; the records themselves are those of the baseline (conformance)."""
    plant({"queue.c": f"{SOURCES['queue.c']}int initialised = 1, zeroed;\n"}, recipe.tree)
    variants = [Variant(f"salt {salt}", salt=salt) for salt in (0, 1, 2)]
    kernels = [symbols(built(recipe, tmp_path, variant).product("vmlinux")) for variant in variants]
    for name in ("length", "initialised", "zeroed"):
        assert len({kernel[name] % LINE for kernel in kernels}) > 1


def symbols(vmlinux: Path) -> dict[str, int]:
    shown = subprocess.run(("nm", vmlinux), capture_output=True, text=True, check=True).stdout
    rows = (line.split() for line in shown.splitlines())
    return {row[2]: int(row[0], 16) for row in rows if len(row) == 3}


def test_it_is_configured_only_when_that_may_change_something(recipe: Recipe, tmp_path: Path) -> None:
    patch = "--- a/queue.h\n+++ b/queue.h\n@@ -1,2 +1,3 @@\n+struct other;\n struct queue {\n \tlong head;\n"
    known = "--- a/Kconfig\n+++ b/Kconfig\n@@ -1 +1 @@\n-CONFIG_(A|B|DEBUG_INFO|BUILD_SALT)\n+CONFIG_\n"
    targets = [
        [command.rpartition(" ")[2] for command in built(recipe, tmp_path, variant).commands]
        for variant in (Variant("v"), Variant("p", (patch,)), Variant("k", (known,)), Variant("s", salt=1))
    ]
    everything = [
        "tinyconfig",
        "olddefconfig",
        "prepare",
        builder("kbuild").commands(recipe, Variant("v"))[-1].rpartition(" ")[2],
    ]
    assert targets == [everything, everything[-1:], everything, everything]


def test_workers_share_what_ccache_keeps(recipe: Recipe, tmp_path: Path) -> None:
    built(recipe, tmp_path / "one")
    before = cache_hits()
    built(recipe, tmp_path / "two")
    assert cache_hits() == before + 3


def cache_hits() -> int:
    try:
        stats = subprocess.run(("ccache", "--print-stats"), capture_output=True, text=True, check=True).stdout
    except FileNotFoundError:
        pytest.skip("ccache is not installed")
    counts = dict(line.split("\t") for line in stats.splitlines())
    return int(counts["direct_cache_hit"]) + int(counts["preprocessed_cache_hit"])


def test_a_tree_with_a_blank_in_its_name(recipe: Recipe, tmp_path: Path) -> None:
    spaced = replace(recipe, tree=recipe.tree.rename(tmp_path / "my tree"))
    assert built(spaced, tmp_path).product("vmlinux")


def test_a_configuration_of_another_architecture(recipe: Recipe) -> None:
    other = "arm64" if platform.machine() == "x86_64" else "x86"
    whole = replace(
        fragment(recipe, f"#\n# Automatically generated\n# Linux/{other} 6.1.0 Kernel Configuration\n#\n"), base=""
    )
    assert (BUILDER.obstacle(whole) or "").startswith(f"the configuration is for {other} and this machine builds for ")


@pytest.mark.parametrize(
    ("settings", "error", "why"),
    [
        ({"base": ""}, TreeError, r"has no \.config; name a configuration, or a base such as tinyconfig"),
        ({"configuration": Path("/nowhere/config")}, TreeError, "there is no configuration"),
        ({"tree": Path(__file__).parent}, TreeError, "is no kernel tree: it has no Kbuild"),
        ({"base": "no_such_config"}, BuildFailed, "No rule to make target 'no_such_config'"),
        ({"compiler": "gcc-99"}, ToolMissing, "gcc-99 is not installed; install the package gcc-99"),
    ],
)
def test_what_builds_no_kernel(
    recipe: Recipe, tmp_path: Path, settings: dict[str, Any], error: type[Exception], why: str
) -> None:
    with pytest.raises(error, match=why):
        built(replace(recipe, **settings), tmp_path)


@pytest.mark.parametrize(("compiler", "word"), [("clang", "LLVM=1"), ("clang-19", "LLVM=-19")])
def test_clang_brings_the_tools_of_llvm(recipe: Recipe, compiler: str, word: str) -> None:
    assert f" {word} " in BUILDER.commands(replace(recipe, compiler=compiler), Variant("v"))[0]


def test_all_processors_are_used_unless_told_otherwise(recipe: Recipe) -> None:
    assert f" -j{len(os.sched_getaffinity(0))} " in BUILDER.commands(replace(recipe, jobs=0), Variant("v"))[0]
