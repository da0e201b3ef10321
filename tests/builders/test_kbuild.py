# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels: a configuration over a base, what became of it, and what a kernel needs to be built."""

from __future__ import annotations

import os
import platform
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from builders.projects import CASES, SOURCES, plant

from linesmith.analyzer.errors import BuildFailed, ToolMissing, TreeError
from linesmith.analyzer.model import Built, Recipe, Variant, Workplace
from linesmith.plugins.builders import kconfig
from linesmith.plugins.builders.kbuild import KbuildBuilder

BUILDER = KbuildBuilder()
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


def test_products_and_configuration(recipe: Recipe, tmp_path: Path) -> None:
    kernel = built(recipe, tmp_path)
    assert [name for name, _ in kernel.products] == ["kernel", "vmlinux"]
    assert (kernel.directory / ".config").read_text() == 'CONFIG_A=y\nCONFIG_DEBUG_INFO=y\nCONFIG_BUILD_SALT=""\n'
    assert kernel.configuration


def test_a_fragment_goes_over_the_base(recipe: Recipe, tmp_path: Path) -> None:
    kernel = built(fragment(recipe, "CONFIG_B=y\n# CONFIG_A is not set\n"), tmp_path)
    options = kconfig.options((kernel.directory / ".config").read_text())
    assert options == {"DEBUG_INFO": "y", "BUILD_SALT": '""', "A": "n", "B": "y"}


def test_options_that_did_not_survive_are_told(recipe: Recipe, tmp_path: Path) -> None:
    told: list[str] = []
    built(fragment(recipe, "CONFIG_B=y\nCONFIG_UNKNOWN=m\nCONFIG_DEBUG_INFO=n\n"), tmp_path, told=told)
    assert told[1:] == ["options that Kconfig decided otherwise: CONFIG_UNKNOWN is n, not m"]


def test_a_kernel_without_debug_information_is_told(recipe: Recipe, tmp_path: Path) -> None:
    told: list[str] = []
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


def test_a_placebo_has_another_build_salt(recipe: Recipe, tmp_path: Path) -> None:
    kernel = built(recipe, tmp_path, Variant("placebo", salt=3))
    assert 'CONFIG_BUILD_SALT="linesmith-3"' in (kernel.directory / ".config").read_text()


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
        KbuildBuilder().commands(recipe, Variant("v"))[-1].rpartition(" ")[2],
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


def test_no_configuration_at_all(recipe: Recipe, tmp_path: Path) -> None:
    with pytest.raises(TreeError, match=r"has no \.config; name a configuration, or a base such as tinyconfig"):
        built(replace(recipe, base=""), tmp_path)
    with pytest.raises(TreeError, match="there is no configuration"):
        built(replace(recipe, configuration=tmp_path / "none"), tmp_path)


def test_no_kernel_tree(recipe: Recipe, tmp_path: Path) -> None:
    with pytest.raises(TreeError, match="is no kernel tree: it has no Kbuild"):
        built(replace(recipe, tree=tmp_path), tmp_path)


def test_a_base_that_there_is_not(recipe: Recipe, tmp_path: Path) -> None:
    with pytest.raises(BuildFailed, match="No rule to make target 'no_such_config'"):
        built(replace(recipe, base="no_such_config"), tmp_path)


def test_a_compiler_that_is_not_installed(recipe: Recipe, tmp_path: Path) -> None:
    with pytest.raises(ToolMissing, match="gcc-99 is not installed; install the package gcc-99"):
        built(replace(recipe, compiler="gcc-99"), tmp_path)


@pytest.mark.parametrize(("compiler", "word"), [("clang", "LLVM=1"), ("clang-19", "LLVM=-19")])
def test_clang_brings_the_tools_of_llvm(recipe: Recipe, compiler: str, word: str) -> None:
    assert f" {word} " in BUILDER.commands(replace(recipe, compiler=compiler), Variant("v"))[0]


def test_all_processors_are_used_unless_told_otherwise(recipe: Recipe) -> None:
    assert f" -j{len(os.sched_getaffinity(0))} " in BUILDER.commands(replace(recipe, jobs=0), Variant("v"))[0]


def test_merging_takes_the_fragments_word() -> None:
    base = '#\n# Automatic\n#\nCONFIG_A=y\n# CONFIG_B is not set\nCONFIG_NAME="x"\nCONFIG_AB=m\n'
    assert kconfig.merged(base, "CONFIG_A=n\nCONFIG_B=y\nCONFIG_NEW=7\n") == (
        '#\n# Automatic\n#\nCONFIG_NAME="x"\nCONFIG_AB=m\n# CONFIG_A is not set\nCONFIG_B=y\nCONFIG_NEW=7\n'
    )
