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
from text_cases import files_in

pytestmark = pytest.mark.xdist_group("prove")

_PROGRAM, _PLAN, _PATCH = files_in(Path(__file__).with_name("project.txt")).values()


def planned(folder: Path) -> Path:
    """A plan in the root of its own tree, with patches beside it."""
    (folder / "answer.c").write_text(_PROGRAM)
    (folder / "speed.h").write_text("#define SPEED 100\n")
    (folder / "faster.patch").write_text(_PATCH % "120")
    (folder / "broken.patch").write_text(_PATCH % "(")
    (folder / "late.patch").write_text((_PATCH % "120").replace("SPEED 100", "SPEED 90"))
    (folder / "garbage.patch").write_text("hello\n")
    (folder / "tune.toml").write_text(_PLAN)
    return folder / "tune.toml"


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    return planned(tmp_path)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plan of a run that has benchmarked a patch that helps; what it prints is the report."""
    plan = planned(tmp_path_factory.mktemp("finished"))
    done = bench(plan, "faster")
    assert done.returncode == 0, done.stderr
    assert "faster: better, +20.0%" in done.stdout
    assert done.stdout == (plan.with_suffix(".run") / "report.txt").read_text()
    return plan


def bench(plan: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """``bench`` with options, and with patches by their names."""
    arguments = (word if word.startswith("-") else plan.with_name(f"{word}.patch") for word in words)
    return linesmith("bench", plan, *arguments)


def refusal(done: subprocess.CompletedProcess[str]) -> str:
    """The error of a command that has printed nothing else."""
    assert (done.returncode, done.stdout) == (2, "")
    return done.stderr


def test_the_run_directory_keeps_reports_that_can_be_read_again(finished: Path) -> None:
    run = finished.with_suffix(".run")
    assert linesmith("report", run).stdout == (run / "report.txt").read_text()
    assert json.loads((run / "report.json").read_text())["result"]["best"] == "faster"


def test_a_run_that_is_there_goes_on_only_with_what_it_was_begun_for(finished: Path) -> None:
    begun = "already holds a run; continue it with --resume, or choose another --run\n"
    assert refusal(bench(finished, "faster")).endswith(begun)
    other = "this run was started as a bench of faster, not as a bench of broken; choose another --run"
    assert other in refusal(bench(finished, "broken", "--resume"))
    finished.write_text(_PLAN.replace("warm_up = 0", "warm_up = 1"))
    assert "is not the plan of" in refusal(bench(finished, "faster", "--resume"))
    finished.write_text(_PLAN)
    assert bench(finished, "faster", "--resume").returncode == 0


def test_a_patch_that_does_not_build_is_a_result_too(plan: Path) -> None:
    done = bench(plan, "broken")
    assert done.returncode == 1, done.stderr
    assert "build failed" in done.stdout


def test_a_plan_that_was_wrong_is_mended_and_begun_again(plan: Path) -> None:
    plan.write_text(_PLAN.replace("speed (", "velocity ("))
    assert bench(plan, "faster").returncode == 2
    plan.write_text(_PLAN)
    assert "faster: better" in bench(plan, "faster").stdout


def test_an_interrupt_says_how_to_go_on_and_what_was_measured_is_kept(plan: Path) -> None:
    slow = _PROGRAM.replace("int main(void) {", "#include <unistd.h>\nint main(void) { usleep(100000);")
    (plan.parent / "answer.c").write_text(slow)
    patch = plan.with_name("faster.patch")
    running = subprocess.Popen(
        [LINESMITH, "bench", plan, patch], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    while not list(plan.with_suffix(".run").glob("logs/block-2")):
        assert running.poll() is None
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=300)
    assert running.returncode == 130
    assert f"interrupted; continue with: linesmith bench {plan} {patch} --resume" in errors
    assert linesmith("report", plan.with_suffix(".run")).returncode == 0
    assert "faster: better" in bench(plan, "faster", "--resume").stdout


def test_a_dry_run_shows_what_is_run_and_leaves_the_run_to_be_begun(plan: Path) -> None:
    run = plan.with_suffix(".run")
    done = bench(plan, "late", "faster", "--dry-run")
    assert done.stderr.startswith("linesmith: late would not be measured: git does not apply the patch (patch failed")
    build, command = done.stdout.splitlines()
    assert build.endswith("sh -c 'cc -g -o answer answer.c'")
    assert command.endswith("/answer")
    searched, record, measured = linesmith("tune", plan, "--dry-run").stdout.splitlines()
    assert searched == build
    assert "-plugin" in record
    assert record.endswith(f"{run}/artifacts/KEY/answer")
    assert measured == f"{run}/artifacts/KEY/answer"
    plan.write_text(_PLAN + '[[benchmark]]\nname = "page-faults"\nguard = true\n')
    assert linesmith("tune", plan, "--dry-run").returncode == 0
    assert not run.exists()


@pytest.mark.parametrize("dry", [(), ("--dry-run",)])
def test_what_cannot_be_measured_is_told_before_anything_is_built(plan: Path, dry: tuple[str, ...]) -> None:
    why = "no patch can be measured: garbage: git does not apply the patch"
    assert why in refusal(bench(plan, "garbage", *dry))
    assert "two variants have the name faster" in refusal(bench(plan, "faster", "faster", *dry))
    plan.write_text(_PLAN.replace("{answer}", "{anwser}"))
    why = "benchmark command: {anwser} is not a product of the build; name one of {answer}, or"
    assert why in refusal(bench(plan, "faster", *dry))
    assert not list(plan.with_suffix(".run").glob("artifacts/*"))


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--executor", "dask"), "--executor dask needs --scheduler tcp://HOST:PORT"),
        (("--executor", "cloud"), "no executor has the name cloud"),
        (("--scheduler", "tcp://127.0.0.1:1"), "--scheduler and --machines need --executor dask"),
    ],
)
def test_an_executor_that_is_no_use_leaves_the_run_to_be_begun(plan: Path, words: tuple[str, ...], why: str) -> None:
    assert why in refusal(linesmith("tune", plan, *words))
    assert not plan.with_suffix(".run").exists()


def test_a_folder_without_a_run_is_told(tmp_path: Path) -> None:
    assert f"{tmp_path} is not a run directory" in refusal(linesmith("report", tmp_path))
