# SPDX-License-Identifier: GPL-2.0-or-later
"""What every builder promises: each is tried on a tree of its kind."""

from __future__ import annotations

import multiprocessing
import os
import platform
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
from builders.projects import CASES, SOURCES, Bench, plant

from linesmith.analyzer.base.errors import BuildFailed, PatchRefused, ToolMissing, TreeError
from linesmith.analyzer.layouts.dwarf import read_layouts
from linesmith.analyzer.model import Built, Recipe, Variant, Workplace
from linesmith.plugins.builders import kbuild
from linesmith.plugins.registry import builder

BASELINE = Variant("baseline")
MOVED = (
    "--- a/queue.h\n+++ b/queue.h\n@@ -1,5 +1,5 @@\n"
    " struct queue {\n-\tlong head;\n \tlong tail;\n+\tlong head;\n \tint lock;\n };\n"
)
REFUSED = MOVED.replace("\tlong tail", "\tlong tale")
BROKEN = "--- a/queue.c\n+++ b/queue.c\n@@ -4,3 +4,3 @@\n {\n-\tlong sum = 0;\n+\tlong sum = nothing;\n \n"
SECONDS = 600
# What all builders have from the steps around their commands is tried on one tree.
on_one_tree = pytest.mark.parametrize("bench", ["make", pytest.param("kbuild", marks=pytest.mark.study)], indirect=True)


# The tree with CMake is built by the same builder as the one with make.
@pytest.fixture(params=["kbuild", "make", pytest.param("cmake", marks=pytest.mark.study)])
def bench(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """Each tree in turn, with its builder; the compiler cache is the test's own."""
    monkeypatch.setenv("CCACHE_DIR", str(tmp_path / "ccache"))
    case = CASES[request.param]
    tree = plant(case.files, tmp_path / "tree")
    return Bench(case, case.recipe(tree), Workplace(tmp_path / "place/warm", tmp_path / "place/artifacts"))


def offsets(product: Path) -> dict[str, int]:
    """Where the members of the queue lie, in bytes."""
    (found,) = read_layouts(product).layouts.variants("queue")
    return {member.name: member.offset for member in found.members}


def test_every_installed_builder_has_a_case() -> None:
    builders = {case.recipe(Path()).builder for case in CASES.values()}
    assert builders == set(entry_points(group="linesmith.builders").names)


@pytest.mark.parametrize("bench", sorted(CASES), indirect=True)
def test_a_build_leaves_its_products_its_log_and_how_it_was_made(bench: Bench) -> None:
    built = bench.build(BASELINE)
    assert (built.directory, built.reused) == (bench.place.artifacts / built.key, False)
    assert built.product(bench.case.product).is_relative_to(built.directory)
    assert os.access(built.product(bench.case.product), os.X_OK)
    assert (built.directory / "build.log").stat().st_size > 0
    assert (built.directory / "build.json").is_file()
    assert "gcc" in built.compiler.lower() or "clang" in built.compiler or "Debian" in built.compiler
    assert built.seconds > 0
    # The same input is built once.
    assert bench.build(replace(BASELINE, name="again")) == replace(built, reused=True, seconds=0.0)
    # A dry run shows the same commands, but for the place.
    found = builder(bench.recipe.builder)
    slot = next(path for path in bench.place.warm.iterdir() if path.is_dir())
    assert found.products(bench.recipe) == tuple(name for name, _ in built.products)
    shown = found.commands(bench.recipe, BASELINE)
    assert shown == tuple(command.replace(str(slot), "WARM") for command in built.commands) != ()


def test_a_worker_elsewhere_makes_the_same_bits(bench: Bench, tmp_path: Path) -> None:
    elsewhere = replace(bench, place=Workplace(tmp_path / "else/warm", tmp_path / "else/artifacts"))
    assert bench.content(BASELINE) == elsewhere.content(BASELINE)


def test_a_patch_changes_the_layout_and_is_gone_in_the_next_build(bench: Bench) -> None:
    before = bench.build(BASELINE)
    content = before.product(bench.case.product).read_bytes()
    patched = bench.build(Variant("moved", (MOVED,)))
    assert offsets(patched.product(bench.case.product)) == {"tail": 0, "head": 8, "lock": 16}
    assert patched.sources == before.sources != ""
    bench.forget()
    again = bench.build(BASELINE)
    assert (again.reused, again.product(bench.case.product).read_bytes()) == (False, content)


def test_a_placebo_is_another_build_with_the_same_layouts(bench: Bench) -> None:
    builds = [bench.build(variant) for variant in (BASELINE, *(Variant(f"salt {salt}", salt=salt) for salt in (1, 2)))]
    products = [built.product(bench.case.product) for built in builds]
    assert len({product.read_bytes() for product in products}) == 3
    assert len({built.key for built in builds}) == 3
    assert all(offsets(product) == {"head": 0, "tail": 8, "lock": 16} for product in products)


@on_one_tree
def test_a_patch_that_does_not_apply_is_refused_with_its_place(bench: Bench) -> None:
    refused, reason = Variant("refused", (REFUSED,)), r"patch failed: queue\.h:1"
    with pytest.raises(PatchRefused, match=reason):
        builder(bench.recipe.builder).commands(bench.recipe, refused)
    with pytest.raises(PatchRefused, match=reason):
        bench.build(refused)
    assert bench.artifacts() == []


@on_one_tree
def test_a_compile_error_harms_no_later_build_and_the_tree_is_only_read(bench: Bench) -> None:
    tree = state(bench.recipe.tree)
    before = bench.content(BASELINE)
    with pytest.raises(BuildFailed, match=r"queue\.c:5:\d+: error: .*nothing.* see (\S+)$") as raised:
        bench.build(Variant("broken", (BROKEN,)))
    assert "error:" in Path(str(raised.value).rpartition(" ")[2]).read_text()
    assert len(bench.artifacts()) == 1
    bench.forget()
    assert bench.content(BASELINE) == before
    assert state(bench.recipe.tree) == tree


def state(tree: Path) -> dict[str, tuple[bytes, int]]:
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in tree.rglob("*") if path.is_file()}


@on_one_tree
def test_of_two_workers_that_want_the_same_one_builds_and_the_other_waits(bench: Bench, tmp_path: Path) -> None:
    place = replace(bench.place, warm=tmp_path / "other")
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        jobs = [pool.apply_async(replace(bench, place=one).build, (BASELINE,)) for one in (bench.place, place)]
        first, second = (job.get(SECONDS) for job in jobs)
    assert first.key == second.key
    assert sorted((first.reused, second.reused)) == [False, True]


@pytest.fixture
def waiting(tmp_path: Path) -> Variant:
    """A variant whose compiler waits until someone writes into a named pipe, and takes no memory meanwhile."""
    pipe = tmp_path / "pipe.h"
    os.mkfifo(pipe)
    text = f'--- a/queue.c\n+++ b/queue.c\n@@ -1,2 +1,3 @@\n #include "queue.h"\n+#include "{pipe}"\n \n'
    return Variant("waiting", (text,))


@on_one_tree
def test_a_killed_builder_leaves_no_artifact_and_no_process(bench: Bench, waiting: Variant, tmp_path: Path) -> None:
    before = bench.content(BASELINE)
    process = multiprocessing.get_context("spawn").Process(target=bench.build, args=(waiting,))
    process.start()
    awaited(lambda: compilers(bench.place.warm))
    os.kill(process.pid or 0, signal.SIGKILL)
    process.join(SECONDS)
    awaited(lambda: not compilers(bench.place.warm))
    assert len(bench.artifacts()) == 1
    (tmp_path / "pipe.h").unlink()
    (tmp_path / "pipe.h").write_text("\n")
    assert bench.content(waiting)
    assert list(bench.place.artifacts.glob(".draft*")) == []
    bench.forget()
    assert bench.content(BASELINE) == before


def compilers(folder: Path) -> list[int]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (process / "cwd").readlink().is_relative_to(folder):
                found.append(int(process.name))
    return found


def awaited(condition: Callable[[], object]) -> None:
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, "what was waited for did not happen"
        time.sleep(0.05)


# Kernels: a configuration over a base, what became of it, and what a kernel needs to be built


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
