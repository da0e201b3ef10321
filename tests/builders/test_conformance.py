# SPDX-License-Identifier: GPL-2.0-or-later
"""What every builder promises: each is tried on a tree of its kind."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from builders.projects import CASES, Bench, plant

from linesmith.analyzer.base.errors import BuildFailed, CompilerKilled, PatchRefused
from linesmith.analyzer.layouts.dwarf import read_layouts
from linesmith.analyzer.model import Variant, Workplace
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
def test_what_the_tree_is_now_is_built(bench: Bench) -> None:
    first = bench.build(BASELINE)
    header = bench.recipe.tree / "queue.h"
    header.write_text(header.read_text().replace("\tint lock;\n", "\tlong spare;\n\tint lock;\n"))
    second = bench.build(BASELINE)
    assert second.key != first.key
    assert offsets(second.product(bench.case.product)) == {"head": 0, "tail": 8, "spare": 16, "lock": 24}


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


@on_one_tree
def test_a_compiler_that_the_system_kills_is_no_error_in_the_source(bench: Bench, waiting: Variant) -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        job = pool.apply_async(bench.build, (waiting,))
        while not job.ready():
            # ccache runs the compiler once more when it could not preprocess.
            for process in filter(compiling, compilers(bench.place.warm)):
                with suppress(ProcessLookupError):  # it may have ended by itself
                    os.kill(process, signal.SIGKILL)
            job.wait(0.05)
        with pytest.raises(CompilerKilled, match="cc1"):
            job.get(SECONDS)
    assert bench.build(BASELINE)


@on_one_tree
def test_a_build_that_takes_too_long_ends_with_all_its_processes(bench: Bench, waiting: Variant) -> None:
    hasty = replace(bench, recipe=replace(bench.recipe, seconds=1))
    with pytest.raises(BuildFailed, match="did not finish in time"):
        hasty.build(waiting)
    awaited(lambda: not compilers(bench.place.warm))
    assert bench.build(BASELINE)


def compilers(folder: Path) -> list[int]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (process / "cwd").readlink().is_relative_to(folder):
                found.append(int(process.name))
    return found


def compiling(process: int) -> bool:
    """Whether the process is the compiler proper of the unit that waits, below make, the shell, ccache and gcc.

    What tries the compiler out before the build is left alone: it would settle for another way to build.
    """
    with suppress(OSError):
        place = Path(f"/proc/{process}")
        words = (place / "cmdline").read_bytes().split(b"\0")
        return (place / "comm").read_text().strip() == "cc1" and any(word.endswith(b"queue.c") for word in words)
    return False


def awaited(condition: Callable[[], object]) -> None:
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, "what was waited for did not happen"
        time.sleep(0.05)
