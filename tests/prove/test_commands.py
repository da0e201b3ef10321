# SPDX-License-Identifier: GPL-2.0-or-later
"""`linesmith bench` and `linesmith report` as a user meets them, on a program whose speed its patch decides."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest
from linesmith_command import LINESMITH, linesmith

_PROGRAM = """\
#include <stdio.h>
#include "speed.h"
int main(void) { printf("speed %d\\n", SPEED); }
"""
_PLAN = """\
[judge]
placebos = 0
warm_up = 0

[source]
tree = "."
command = "cc -g -o answer answer.c"
products = ["answer"]

[[benchmark]]
name = "command"
run = "{answer}"
pattern = 'speed (?P<value>\\d+)'
better = "higher"
"""
_PATCH = """\
speed: be faster

--- a/speed.h
+++ b/speed.h
@@ -1 +1 @@
-#define SPEED 100
+#define SPEED %s
"""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    """A plan in the root of its own tree, with two patches beside it."""
    (tmp_path / "answer.c").write_text(_PROGRAM)
    (tmp_path / "speed.h").write_text("#define SPEED 100\n")
    (tmp_path / "faster.patch").write_text(_PATCH % "120")
    (tmp_path / "broken.patch").write_text(_PATCH % "(")
    (tmp_path / "tune.toml").write_text(_PLAN)
    return tmp_path / "tune.toml"


def test_a_patch_that_helps_is_said_to_be_better(plan: Path) -> None:
    done = linesmith("bench", plan, plan.with_name("faster.patch"))
    assert done.returncode == 0, done.stderr
    assert "faster: better, +20.0%" in done.stdout


def test_a_patch_that_does_not_build_is_a_result_too(plan: Path) -> None:
    done = linesmith("bench", plan, plan.with_name("broken.patch"), plan.with_name("faster.patch"))
    assert done.returncode == 0, done.stderr
    assert "build failed" in done.stdout
    assert "faster: better" in done.stdout


def test_the_run_directory_keeps_reports_that_can_be_read_again(plan: Path) -> None:
    done = linesmith("bench", plan, plan.with_name("faster.patch"))
    run = plan.with_suffix(".run")
    again = linesmith("report", run)
    assert again.stdout == done.stdout == (run / "report.txt").read_text()
    assert json.loads((run / "report.json").read_text())["result"]["best"] == "faster"
    samples = json.loads((run / "matrix.json").read_text())
    assert set(samples["faster"]["command.value"]) == {120.0}


def test_a_run_that_is_there_is_not_begun_again(plan: Path) -> None:
    patch = plan.with_name("faster.patch")
    linesmith("bench", plan, patch)
    done = linesmith("bench", plan, patch)
    assert done.returncode == 2
    assert done.stderr.endswith("holds a run already; go on with it by --resume, or choose another --run\n")
    assert linesmith("bench", plan, patch, "--resume").returncode == 0


def test_another_plan_does_not_go_on_with_the_run_of_this_one(plan: Path) -> None:
    patch = plan.with_name("faster.patch")
    linesmith("bench", plan, patch)
    plan.write_text(_PLAN.replace("warm_up = 0", "warm_up = 1"))
    done = linesmith("bench", plan, patch, "--resume")
    assert done.returncode == 2
    assert "is not the plan that" in done.stderr


def test_a_plan_that_was_wrong_is_mended_and_begun_again(plan: Path) -> None:
    plan.write_text(_PLAN.replace("speed (", "velocity ("))
    done = linesmith("bench", plan, plan.with_name("faster.patch"))
    assert done.returncode == 2
    plan.write_text(_PLAN)
    assert "faster: better" in linesmith("bench", plan, plan.with_name("faster.patch")).stdout


def test_a_run_goes_on_with_what_it_was_begun_for(plan: Path) -> None:
    linesmith("bench", plan, plan.with_name("faster.patch"))
    done = linesmith("bench", plan, plan.with_name("broken.patch"), "--resume")
    assert done.returncode == 2
    assert "this run was begun as a bench of faster and is not a bench of broken; choose another --run" in done.stderr


def test_an_interrupt_says_how_to_go_on_and_what_was_measured_is_kept(plan: Path) -> None:
    slow = _PROGRAM.replace("int main(void) {", "#include <unistd.h>\nint main(void) { usleep(300000);")
    (plan.parent / "answer.c").write_text(slow)
    words = [str(LINESMITH), "bench", str(plan), str(plan.with_name("faster.patch"))]
    running = subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    while not list(plan.with_suffix(".run").glob("logs/block-2")):
        assert running.poll() is None
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=300)
    assert running.returncode == 130
    assert f"interrupted; go on with: linesmith bench {plan} {plan.with_name('faster.patch')} --resume" in errors
    assert linesmith("report", plan.with_suffix(".run")).returncode == 0
    assert "faster: better" in linesmith(*words[1:], "--resume").stdout


def test_a_dry_run_shows_the_build_and_what_is_run_and_makes_nothing(plan: Path) -> None:
    done = linesmith("bench", plan, plan.with_name("faster.patch"), "--dry-run")
    build, run = done.stdout.splitlines()
    assert build.endswith("sh -c 'cc -g -o answer answer.c'")
    assert run.endswith("/answer")
    assert not plan.with_suffix(".run").exists()


def test_a_dry_run_that_compiles_a_benchmark_leaves_the_run_to_be_begun(plan: Path) -> None:
    plan.write_text(_PLAN + '[[benchmark]]\nname = "page-faults"\nguard = true\n')
    assert linesmith("tune", plan, "--dry-run").returncode == 0
    assert not plan.with_suffix(".run").exists()


def test_a_dry_run_of_a_search_shows_the_recording(plan: Path) -> None:
    done = linesmith("tune", plan, "--dry-run")
    build, record, run = done.stdout.splitlines()
    assert build.endswith("sh -c 'cc -g -o answer answer.c'")
    assert "-plugin" in record
    assert record.endswith(f"{plan.with_suffix('.run')}/artifacts/KEY/answer")
    assert run == f"{plan.with_suffix('.run')}/artifacts/KEY/answer"


def test_a_dry_run_names_the_patches_that_would_not_be_measured(plan: Path) -> None:
    plan.with_name("late.patch").write_text((_PATCH % "120").replace("SPEED 100", "SPEED 90"))
    done = linesmith("bench", plan, plan.with_name("late.patch"), plan.with_name("faster.patch"), "--dry-run")
    assert done.returncode == 0
    assert done.stderr.startswith("linesmith: late would not be measured: hunk 1 of speed.h (line 1) does not apply")


def test_patches_of_which_none_applies_end_the_bench_before_anything_is_built(plan: Path) -> None:
    plan.with_name("garbage.patch").write_text("hello\n")
    for dry in ((), ("--dry-run",)):
        done = linesmith("bench", plan, plan.with_name("garbage.patch"), *dry)
        assert done.returncode == 2
        assert "no patch can be measured: garbage: the patch holds no unified diff" in done.stderr
    assert not list(plan.with_suffix(".run").glob("artifacts/*"))


def test_a_bench_in_which_every_patch_failed_exits_with_1(plan: Path) -> None:
    done = linesmith("bench", plan, plan.with_name("broken.patch"))
    assert done.returncode == 1
    assert "build failed" in done.stdout


@pytest.mark.parametrize("dry", [(), ("--dry-run",)])
def test_a_name_in_braces_that_is_no_product_is_told_before_anything_is_built(plan: Path, dry: tuple[str, ...]) -> None:
    plan.write_text(_PLAN.replace("{answer}", "{anwser}"))
    done = linesmith("bench", plan, plan.with_name("faster.patch"), *dry)
    assert done.returncode == 2
    assert "benchmark command: {anwser} is no product of the build; name one of {answer}, or" in done.stderr
    assert not list(plan.with_suffix(".run").glob("artifacts/*"))


def test_an_executor_without_its_scheduler_leaves_the_run_to_be_begun(plan: Path) -> None:
    done = linesmith("tune", plan, "--executor", "dask")
    assert done.returncode == 2
    assert "--executor dask needs its scheduler: --scheduler tcp://HOST:PORT" in done.stderr
    assert not plan.with_suffix(".run").exists()


def test_an_executor_that_there_is_not_leaves_the_run_to_be_begun(plan: Path) -> None:
    done = linesmith("tune", plan, "--executor", "cloud")
    assert done.returncode == 2
    assert "no executor is called cloud" in done.stderr
    assert not plan.with_suffix(".run").exists()


def test_options_of_another_executor_are_refused(plan: Path) -> None:
    done = linesmith("tune", plan, "--scheduler", "tcp://127.0.0.1:1")
    assert done.returncode == 2
    assert "--scheduler and --machines go with --executor dask" in done.stderr


def test_patches_of_one_name_cannot_be_told_apart(plan: Path) -> None:
    patch = plan.with_name("faster.patch")
    done = linesmith("bench", plan, patch, patch)
    assert done.returncode == 2
    assert "two variants would be called faster" in done.stderr


def test_a_folder_without_a_run_is_told(tmp_path: Path) -> None:
    done = linesmith("report", tmp_path)
    assert done.returncode == 2
    assert f"{tmp_path} holds no run" in done.stderr
