# SPDX-License-Identifier: GPL-2.0-or-later
"""Every way in which a trial can fail, each by its real cause: it is a result, and trials beside it are unharmed."""

from __future__ import annotations

from difflib import unified_diff
from pathlib import Path

import pytest
from tuning.killing import samples_of
from tuning.project import APART, PLAN, QUEUE_C, benched, plan_of, project, silent

from linesmith.analyzer.errors import DiskFull
from linesmith.analyzer.model import FailureKind, Result, Variant
from linesmith.plugins.executors.local import LocalExecutor
from linesmith.tuner.tuning.bench import bench
from linesmith.tuner.tuning.run_directory import RunDirectory

_BUILD_SH = "cc -g -O1 -pthread -o queue queue.c\n"
_TEXT = PLAN.replace("cc -g -O1 -pthread -o queue queue.c", "sh build.sh").replace(
    'run = "{queue} cost"', 'run = "{queue} cost"\nlimit = 2'
)
_PRINTS = '    printf("cost %d'
# Kills the worker that has this program run, however many processes are between.
_KILLS_ITS_WORKER = (
    "p=$PPID; until tr '\\\\\\\\0' ' ' </proc/$p/cmdline | grep -q executors.keeper; do "
    "p=$(awk '/^PPid/{print $2}' /proc/$p/status); done; kill -KILL $p"
)


def changed(file: str, before: str, after: str) -> str:
    """A patch of one file."""
    lines = before.splitlines(keepends=True), after.splitlines(keepends=True)
    return "".join(unified_diff(*lines, f"a/{file}", f"b/{file}"))


def program(statement: str) -> str:
    """A patch that has the program do something else before it prints its number."""
    return changed(
        "queue.c", QUEUE_C, "#include <stdlib.h>\n" + QUEUE_C.replace(_PRINTS, f"    {statement}\n{_PRINTS}")
    )


FAULTS = {
    "does not apply": (FailureKind.PATCH, APART.replace("char name[112]", "char title[112]")),
    "does not compile": (FailureKind.BUILD, program("return nothing;")),
    "kills the compiler": (FailureKind.KILLED, changed("build.sh", _BUILD_SH, "kill -KILL $$\n" + _BUILD_SH)),
    "hangs": (FailureKind.HANG, program("for (;;) {}")),
    "crashes": (FailureKind.BENCHMARK, program("abort();")),
    "prints nonsense": (FailureKind.NONSENSE, program('puts("cost: many"); return 0;')),
    "kills its worker": (FailureKind.WORKER, program(f'return system("{_KILLS_ITS_WORKER}");')),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = project(tmp_path_factory.mktemp("project"))
    (folder / "tree" / "build.sh").write_text(_BUILD_SH)
    return folder


@pytest.fixture(scope="module")
def variants() -> list[Variant]:
    return [
        *(Variant(name.replace(" ", "-"), (patch,)) for name, (_, patch) in FAULTS.items()),
        Variant("apart", (APART,)),
    ]


@pytest.fixture(scope="module")
def result(folder: Path, variants: list[Variant]) -> Result:
    return benched(folder / "run", folder, variants, _TEXT)


@pytest.mark.parametrize("name", FAULTS)
def test_a_variant_that(result: Result, name: str) -> None:
    (trial,) = (one for one in result.trials if one.variant == name.replace(" ", "-"))
    assert trial.failure is not None
    assert trial.failure.kind is FAULTS[name][0], trial.failure
    assert trial.cost is None


def test_the_variant_beside_them_is_measured_as_if_alone(result: Result) -> None:
    assert result.best == "apart"
    assert [one.cost for one in result.trials if one.failure is None] == [0.5]


def test_the_log_of_a_failure_is_where_it_says(folder: Path, result: Result) -> None:
    failures = [one.failure for one in result.trials if one.failure is not None and one.failure.log]
    # Nothing was run for what does not apply, and a worker that is lost leaves no log.
    assert len(failures) >= len(FAULTS) - 2
    for failure in failures:
        assert (folder / "run" / failure.log / "log").read_text().splitlines()[-1].find(" failed: ") > 0


def test_only_accidents_of_the_machine_are_tried_again_by_the_next_process(
    folder: Path, variants: list[Variant], result: Result
) -> None:
    again = benched(folder / "run", folder, variants, _TEXT)
    accidents = ["kills-the-compiler", "kills-its-worker"]
    assert [one.variant for one in again.trials][-2:] == accidents
    kept = [(one.variant, one.cost, one.failure) for one in again.trials[:-2]]
    assert kept == [(one.variant, one.cost, one.failure) for one in result.trials if one.variant not in accidents]
    assert samples_of(again) == samples_of(result)


def test_an_accident_of_the_machine_costs_no_variant(tmp_path: Path) -> None:
    """The program aborts the first time it is run, wherever that is; a failure counts when it comes twice."""
    folder, mark = project(tmp_path), tmp_path / "mark"
    (folder / "tree" / "build.sh").write_text(_BUILD_SH)
    once = program(f'if (system("test -e {mark}")) {{ system("touch {mark}"); abort(); }}')
    (trial,) = benched(tmp_path / "run", folder, [Variant("apart", (APART, once))], _TEXT).trials
    assert (trial.cost, trial.failure) == (0.5, None)
    assert mark.exists()


def test_an_accident_of_the_baseline_costs_no_variant(tmp_path: Path) -> None:
    folder, mark = project(tmp_path), tmp_path / "mark"
    (folder / "tree" / "build.sh").write_text(_BUILD_SH)
    source = folder / "tree" / "queue.c"
    flaky = f'if (system("test -e {mark}")) {{ system("touch {mark}"); abort(); }}'
    source.write_text("#include <stdlib.h>\n" + QUEUE_C.replace(_PRINTS, f"    {flaky}\n{_PRINTS}"))
    (trial,) = benched(tmp_path / "run", folder, [Variant("apart", (APART,))], _TEXT).trials
    assert (trial.cost, trial.failure) == (0.5, None)


def test_a_full_disk_ends_the_run_and_costs_no_trial(tmp_path: Path) -> None:
    folder, disk = project(tmp_path), tmp_path / "disk"
    (folder / "tree" / "build.sh").write_text(_BUILD_SH)
    filling = changed("build.sh", _BUILD_SH, f"{_BUILD_SH}cat queue > {disk} || exit 1\n")
    variants = [Variant("apart", (APART, filling))]
    disk.symlink_to("/dev/full")
    with pytest.raises(DiskFull, match=r"free some and go on with --resume"):
        benched(tmp_path / "run", folder, variants, _TEXT)
    disk.unlink()
    disk.symlink_to("/dev/null")
    found = benched(tmp_path / "run", folder, variants, _TEXT)
    assert [(one.variant, one.cost, one.failure) for one in found.trials] == [("apart", 0.5, None)]


@pytest.mark.real
def test_a_kernel_that_panics_is_a_result(tmp_path: Path, kernel_image: Path) -> None:
    """The baseline's kernel runs the benchmark; the variant's dies of it."""
    folder = tmp_path / "project"
    (folder / "tree").mkdir(parents=True)
    (folder / "tree" / "crash").write_text("m\n")
    text = f"""
[source]
tree = "tree"
command = "cp {kernel_image} kernel"
products = ["kernel", "crash"]
[machine]
name = "qemu"
cpus = 2
memory = "256M"
accelerator = "tcg"
[[benchmark]]
name = "command"
run = "sh -c 'cat {{crash}} >/proc/sysrq-trigger; echo 5'"
[judge]
least_blocks = 2
most_blocks = 2
warm_up = 0
placebos = 0
"""
    panics = Variant("panics", (changed("crash", "m\n", "c\n"),))
    with RunDirectory.create(tmp_path / "run", text, folder) as run, LocalExecutor().open({}, run.workers) as pool:
        (trial,) = bench(plan_of(folder, text), [panics], run, pool, silent).trials
    assert trial.failure is not None
    assert trial.failure.kind is FailureKind.PANIC
    assert "sysrq triggered crash" in trial.failure.reason
