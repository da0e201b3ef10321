# SPDX-License-Identifier: GPL-2.0-or-later
"""Every way in which a trial can fail, each by its real cause: it is a result, and trials beside it are unharmed."""

from __future__ import annotations

import errno
from difflib import unified_diff
from pathlib import Path

import pytest
from tuning.project import APART, BRIEF, QUEUE_C, benched, in_processes, project, samples_of

from linesmith.analyzer.base.errors import DiskFull, GuestHung, GuestNotBooted, GuestOutOfMemory, GuestPanicked
from linesmith.analyzer.model import FailureKind, Result, Variant
from linesmith.tuner.run.simulated import failure_of

_BUILD_SH = "cc -g -O1 -pthread -o queue queue.c\n"
_TEXT = BRIEF.replace("cc -g -O1 -pthread -o queue queue.c", "sh build.sh").replace(
    'run = "{queue} cost"', 'run = "{queue} cost"\nlimit = 1'
)
_PRINTS = '    printf("cost %d'
# Kills the worker that has this program run, however many processes are between.
_KILLS_ITS_WORKER = (
    "p=$PPID; until tr '\\\\\\\\0' ' ' </proc/$p/cmdline | grep -q executors.local; do "
    "p=$(awk '/^PPid/{print $2}' /proc/$p/status); done; kill -KILL $p"
)


def changed(file: str, before: str, after: str) -> str:
    lines = before.splitlines(keepends=True), after.splitlines(keepends=True)
    return "".join(unified_diff(*lines, f"a/{file}", f"b/{file}"))


def doing(statement: str) -> str:
    """The source of a program that does something else before it prints its number."""
    return "#include <stdlib.h>\n#include <unistd.h>\n" + QUEUE_C.replace(_PRINTS, f"    {statement}\n{_PRINTS}")


def program(statement: str) -> str:
    """A patch that makes it that program."""
    return changed("queue.c", QUEUE_C, doing(statement))


def project_with_script(place: Path) -> Path:
    """The folder of a project that a script builds, which patches may change."""
    folder = project(place)
    (folder / "tree" / "build.sh").write_text(_BUILD_SH)
    return folder


FAULTS = {
    "does not apply": (FailureKind.PATCH, APART.replace("char name[112]", "char title[112]")),
    "does not compile": (FailureKind.BUILD, program("return nothing;")),
    "kills the compiler": (FailureKind.KILLED, changed("build.sh", _BUILD_SH, "kill -KILL $$\n" + _BUILD_SH)),
    "hangs": (FailureKind.HANG, program("sleep(600);")),
    "crashes": (FailureKind.BENCHMARK, program("abort();")),
    "prints nonsense": (FailureKind.NONSENSE, program('puts("cost: many"); return 0;')),
    "kills its worker": (FailureKind.WORKER, program(f'return system("{_KILLS_ITS_WORKER}");')),
}

pytestmark = pytest.mark.xdist_group("faults of trials")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return project_with_script(tmp_path_factory.mktemp("project"))


@pytest.fixture(scope="module")
def variants() -> list[Variant]:
    """The one that is measured comes first: after that no failure can be the benchmark's own."""
    faults = (Variant(name.replace(" ", "-"), (patch,)) for name, (_, patch) in FAULTS.items())
    return [Variant("apart", (APART,)), *faults]


@pytest.fixture(scope="module")
def result(folder: Path, variants: list[Variant]) -> Result:
    return benched(folder / "run", folder, variants, _TEXT, workers=in_processes)


def test_each_failure_is_a_result_of_its_kind(result: Result) -> None:
    failed = {one.variant: one.failure.kind for one in result.trials if one.failure is not None}
    assert failed == {name.replace(" ", "-"): kind for name, (kind, _) in FAULTS.items()}


def test_the_variant_beside_them_is_measured_as_if_alone(result: Result) -> None:
    assert result.best == "apart"
    assert [one.cost for one in result.trials if one.failure is None] == [0.5]


def test_the_log_of_a_failure_is_where_it_says(folder: Path, result: Result) -> None:
    failures = [one.failure for one in result.trials if one.failure is not None and one.failure.log]
    # Nothing was run for what does not apply, and a worker that is lost leaves no log.
    assert len(failures) >= len(FAULTS) - 2
    for failure in failures:
        assert (folder / "run" / failure.log / "log").read_text().splitlines()[-1].find(" failed: ") > 0


def test_only_accidents_are_tried_again_by_the_next_process(
    folder: Path, variants: list[Variant], result: Result
) -> None:
    again = benched(folder / "run", folder, variants, _TEXT, workers=in_processes)
    accidents = ["kills-the-compiler", "kills-its-worker"]
    assert [one.variant for one in again.trials][-2:] == accidents
    kept = [(one.variant, one.cost, one.failure) for one in again.trials[:-2]]
    assert kept == [(one.variant, one.cost, one.failure) for one in result.trials if one.variant not in accidents]
    assert samples_of(again) == samples_of(result)


@pytest.mark.parametrize("whose", ["variant", pytest.param("baseline", marks=pytest.mark.study)])
def test_an_accident_of_the_machine_costs_no_variant(tmp_path: Path, whose: str) -> None:
    """The program aborts the first time it is run, wherever that is; a failure counts when it comes twice."""
    folder, mark = project_with_script(tmp_path), tmp_path / "mark"
    once = f'if (system("test -e {mark}")) {{ system("touch {mark}"); abort(); }}'
    patches = (APART, program(once)) if whose == "variant" else (APART,)
    if whose == "baseline":
        (folder / "tree" / "queue.c").write_text(doing(once))
    (trial,) = benched(tmp_path / "run", folder, [Variant("apart", patches)], _TEXT).trials
    assert (trial.cost, trial.failure) == (0.5, None)
    assert mark.exists()


def test_a_full_disk_ends_the_run_and_costs_no_trial(tmp_path: Path) -> None:
    folder, disk = project_with_script(tmp_path), tmp_path / "disk"
    filling = changed("build.sh", _BUILD_SH, f"{_BUILD_SH}cat queue > {disk} || exit 1\n")
    variants = [Variant("apart", (APART, filling))]
    disk.symlink_to("/dev/full")
    with pytest.raises(DiskFull, match=r"free some and continue with --resume"):
        benched(tmp_path / "run", folder, variants, _TEXT)
    disk.unlink()
    disk.symlink_to("/dev/null")
    found = benched(tmp_path / "run", folder, variants, _TEXT)
    assert [(one.variant, one.cost, one.failure) for one in found.trials] == [("apart", 0.5, None)]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (GuestPanicked("Kernel panic"), FailureKind.PANIC),
        (GuestHung("still running"), FailureKind.HANG),
        (GuestOutOfMemory("killed"), FailureKind.OUT_OF_MEMORY),
        (GuestNotBooted("no root"), FailureKind.BOOT),
        (OSError(errno.ENOSPC, "no space"), FailureKind.DISK_FULL),
        (ValueError("of ours"), None),
    ],
)
def test_the_kind_of_a_failure_follows_from_the_error(error: Exception, kind: FailureKind | None) -> None:
    found = failure_of(error, "logs/1")
    assert (found and found.kind) == kind
