# SPDX-License-Identifier: GPL-2.0-or-later
"""What every builder promises, as checks that take one and a tree that it builds."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from builders.projects import Case

from linesmith.analyzer.dwarf import read_layouts
from linesmith.analyzer.errors import BuildFailed, CompilerKilled, PatchRefused
from linesmith.analyzer.model import Built, Recipe, Variant, Workplace
from linesmith.plugins.registry import builder

BASELINE = Variant("baseline")
MOVED = (
    "--- a/queue.h\n+++ b/queue.h\n@@ -1,5 +1,5 @@\n"
    " struct queue {\n-\tlong head;\n \tlong tail;\n+\tlong head;\n \tint lock;\n };\n"
)
REFUSED = MOVED.replace("\tlong tail", "\tlong tale")
BROKEN = "--- a/queue.c\n+++ b/queue.c\n@@ -4,3 +4,3 @@\n {\n-\tlong sum = 0;\n+\tlong sum = nothing;\n \n"
SECONDS = 600


def waiting_for(pipe: Path) -> Variant:
    """A variant whose compiler waits until someone writes into the named pipe, and takes no memory meanwhile."""
    text = f'--- a/queue.c\n+++ b/queue.c\n@@ -1,2 +1,3 @@\n #include "queue.h"\n+#include "{pipe}"\n \n'
    return Variant("waiting", (text,))


@dataclass(frozen=True, slots=True)
class Bench:
    """A planted tree, the recipe for it, and where it is built."""

    case: Case
    recipe: Recipe
    place: Workplace

    def build(self, variant: Variant) -> Built:
        """One build by the builder that the recipe names."""
        return builder(self.recipe.builder).build(self.recipe, variant, self.place, lambda _: None)

    def content(self, variant: Variant) -> bytes:
        """What the product of that variant consists of."""
        return self.build(variant).product(self.case.product).read_bytes()

    def elsewhere(self, folder: Path) -> Bench:
        """The same in the place of another worker that shares nothing."""
        return replace(self, place=Workplace(folder / "warm", folder / "artifacts"))


def check_baseline(bench: Bench) -> None:
    """A build leaves its products, its log and what it was made with, in a folder named after its key."""
    built = bench.build(BASELINE)
    assert built.directory == bench.place.artifacts / built.key
    assert built.product(bench.case.product).is_relative_to(built.directory)
    assert os.access(built.product(bench.case.product), os.X_OK)
    assert (built.directory / "build.log").stat().st_size > 0
    assert (built.directory / "build.json").is_file()
    assert "gcc" in built.compiler.lower() or "clang" in built.compiler or "Debian" in built.compiler
    assert built.commands
    assert built.seconds > 0
    assert built.sources == bench.build(Variant("moved", (MOVED,), salt=1)).sources != ""
    assert not built.reused


def check_reuse(bench: Bench) -> None:
    """The same input is built once."""
    first, second = bench.build(BASELINE), bench.build(replace(BASELINE, name="again"))
    assert second == replace(first, reused=True, seconds=0.0)


def check_same_bits(bench: Bench, folder: Path) -> None:
    """Another worker, somewhere else and with nothing to reuse, makes the same bits."""
    assert bench.content(BASELINE) == bench.elsewhere(folder).content(BASELINE)


def check_variant(bench: Bench) -> None:
    """A patch changes the layout, and is gone in the next build."""
    before = bench.content(BASELINE)
    patched = bench.build(Variant("moved", (MOVED,)))
    assert offsets(patched.product(bench.case.product)) == {"tail": 0, "head": 8, "lock": 16}
    bench.place.artifacts.rename(bench.place.artifacts.with_name("old"))
    again = bench.build(BASELINE)
    assert not again.reused
    assert again.product(bench.case.product).read_bytes() == before


def check_placebo(bench: Bench) -> None:
    """Another salt gives another build whose layouts are the same."""
    baseline, placebos = bench.build(BASELINE), [bench.build(Variant(f"salt {salt}", salt=salt)) for salt in (1, 2)]
    products = [built.product(bench.case.product) for built in (baseline, *placebos)]
    assert len({product.read_bytes() for product in products}) == len(products)
    assert len({built.key for built in (baseline, *placebos)}) == len(products)
    for product in products:
        assert offsets(product) == {"head": 0, "tail": 8, "lock": 16}


def check_refused_patch(bench: Bench) -> None:
    """A patch for another state of the tree is refused, with its place, and nothing is built."""
    refused, reason = Variant("refused", (REFUSED,)), r"hunk 1 of queue\.h \(line 1\) does not apply"
    with pytest.raises(PatchRefused, match=reason):
        builder(bench.recipe.builder).commands(bench.recipe, refused)
    with pytest.raises(PatchRefused, match=reason):
        bench.build(refused)
    assert artifacts(bench) == []


def check_compile_error(bench: Bench) -> None:
    """The compiler's first complaint is told, its log is kept, and the warm folder is good for the next build."""
    before = bench.content(BASELINE)
    with pytest.raises(BuildFailed, match=r"queue\.c:5:\d+: error: .*nothing.* see (\S+)$") as raised:
        bench.build(Variant("broken", (BROKEN,)))
    assert "error:" in Path(str(raised.value).rpartition(" ")[2]).read_text()
    assert len(artifacts(bench)) == 1
    bench.place.artifacts.rename(bench.place.artifacts.with_name("old"))
    assert bench.content(BASELINE) == before


def check_tree_untouched(bench: Bench) -> None:
    """Builds, good and bad ones, leave every file of the tree and its times as they were."""
    before = state(bench.recipe.tree)
    check_compile_error(bench)
    bench.build(Variant("moved", (MOVED,)))
    assert state(bench.recipe.tree) == before


def check_changed_tree(bench: Bench) -> None:
    """The user may go on working: what the tree is now is built."""
    first = bench.build(BASELINE)
    header = bench.recipe.tree / "queue.h"
    header.write_text(header.read_text().replace("\tint lock;\n", "\tlong spare;\n\tint lock;\n"))
    second = bench.build(BASELINE)
    assert second.key != first.key
    assert offsets(second.product(bench.case.product)) == {"head": 0, "tail": 8, "spare": 16, "lock": 24}


def check_two_at_once(bench: Bench, folder: Path) -> None:
    """Of two workers that want the same, one builds and the other waits for it."""
    place = replace(bench.place, warm=folder / "other")
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        jobs = [pool.apply_async(replace(bench, place=one).build, (BASELINE,)) for one in (bench.place, place)]
        first, second = (job.get(SECONDS) for job in jobs)
    assert first.key == second.key
    assert sorted((first.reused, second.reused)) == [False, True]


def check_killed_builder(bench: Bench, pipe: Path) -> None:
    """kill -9 in mid-build leaves no artifact and no process, and the next build is as good as any."""
    before = bench.content(BASELINE)
    os.mkfifo(pipe)
    process = multiprocessing.get_context("spawn").Process(target=bench.build, args=(waiting_for(pipe),))
    process.start()
    awaited(lambda: compilers(bench.place.warm))
    os.kill(process.pid or 0, signal.SIGKILL)
    process.join(SECONDS)
    awaited(lambda: not compilers(bench.place.warm))
    assert len(artifacts(bench)) == 1
    pipe.unlink()
    pipe.write_text("\n")
    assert bench.content(waiting_for(pipe))
    assert list(bench.place.artifacts.glob(".draft*")) == []
    bench.place.artifacts.rename(bench.place.artifacts.with_name("old"))
    assert bench.content(BASELINE) == before


def check_killed_compiler(bench: Bench, pipe: Path) -> None:
    """A compiler that the system kills is told apart from an error in the source."""
    os.mkfifo(pipe)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        job = pool.apply_async(bench.build, (waiting_for(pipe),))
        while not job.ready():
            # ccache runs the compiler once more when it could not preprocess.
            for process in filter(compiling, compilers(bench.place.warm)):
                with suppress(ProcessLookupError):  # it may have ended by itself
                    os.kill(process, signal.SIGKILL)
            job.wait(0.05)
        with pytest.raises(CompilerKilled, match="cc1"):
            job.get(SECONDS)
    assert bench.build(BASELINE)


def check_time_limit(bench: Bench, pipe: Path) -> None:
    """A build that takes too long ends with all its processes."""
    os.mkfifo(pipe)
    hasty = replace(bench, recipe=replace(bench.recipe, seconds=3))
    with pytest.raises(BuildFailed, match="did not end in its time"):
        hasty.build(waiting_for(pipe))
    awaited(lambda: not compilers(bench.place.warm))
    assert bench.build(BASELINE)


def check_commands(bench: Bench) -> None:
    """What a dry run shows is what was run, but for the place."""
    shown = builder(bench.recipe.builder).commands(bench.recipe, BASELINE)
    built = bench.build(BASELINE)
    assert builder(bench.recipe.builder).products(bench.recipe) == tuple(name for name, _ in built.products)
    slot = next(path for path in bench.place.warm.iterdir() if path.is_dir())
    assert shown == tuple(command.replace(str(slot), "WARM") for command in built.commands)


def offsets(product: Path) -> dict[str, int]:
    """Where the members of the queue lie, in bytes."""
    (found,) = read_layouts(product).layouts.variants("queue")
    return {member.name: member.offset for member in found.members}


def artifacts(bench: Bench) -> list[str]:
    """The keys that the store has."""
    return [path.name for path in bench.place.artifacts.glob("[!.]*")]


def state(tree: Path) -> dict[str, tuple[bytes, int]]:
    """Every file with its content and time."""
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in tree.rglob("*") if path.is_file()}


def compilers(folder: Path) -> list[int]:
    """The processes that work below the folder."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and (process / "cwd").readlink().is_relative_to(folder):
                found.append(int(process.name))
        except OSError:
            continue
    return found


def compiling(process: int) -> bool:
    """Whether the process is the compiler proper of the unit that waits, below make, the shell, ccache and gcc.

    What tries the compiler out before the build is left alone: it would settle for another way to build.
    """
    try:
        place = Path(f"/proc/{process}")
        words = (place / "cmdline").read_bytes().split(b"\0")
        return (place / "comm").read_text().strip() == "cc1" and any(word.endswith(b"queue.c") for word in words)
    except OSError:
        return False


def awaited(condition: Callable[[], object]) -> None:
    """Wait until the condition holds."""
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, "what was waited for did not happen"
        time.sleep(0.05)
