# SPDX-License-Identifier: GPL-2.0-or-later
"""What a plan leaves open is completed, what is wrong with it is said at once, and how a build is recorded by it."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from builders.projects import CASES, plant
from profiles.c2c_text import LineSpec, ReportSpec, RowSpec, render
from tuning.project import APART, PLAN, SOURCES, project, tuned

from linesmith.analyzer.base.errors import BenchmarkFailed, JournalError, PlanError, ProfileError, ToolMissing
from linesmith.analyzer.model import Built, Evidence, Fidelity, Step, Use, Variant
from linesmith.tuner.replay.simulated import MeasuredRecord
from linesmith.tuner.run.evidence import RunProfile, run_profile
from linesmith.tuner.run.plan_file import plan_in, stray
from linesmith.tuner.run.preparation import CompletePlan, completed, of_bench, of_tune
from linesmith.tuner.run.run_directory import RunDirectory
from linesmith.tuner.run.simulated import SimulatedBenchmark, order_of, planned_order, recorded, simulated_block

_SOURCE = """
[source]
tree = "."
command = "make"
products = ["server"]
"""
_COUNTED = '[[benchmark]]\nname = "page-faults"\nthreads = [1, 4]\noperations = 100\npages = 32\n'
_TIMED = '[[benchmark]]\nname = "page-faults"\nseconds = 2\n'
_COMMAND = '[record]\ncommand = "{server} 4"\n'
_SIMULATED = (Fidelity.ESTIMATE, Fidelity.REPLAY, Fidelity.SIMULATION)
_MEASURED = (Fidelity.ESTIMATE, Fidelity.BENCHMARK)
_NAMED = '[machine]\nname = "qemu"\n[search]\nladder = ["estimate", "benchmark"]\n'


def settle(text: str, folder: Path) -> CompletePlan:
    return completed(plan_in(_SOURCE + text, folder))


@pytest.mark.parametrize(
    ("text", "ladder"),
    [
        (_COUNTED, tuple(Fidelity)),
        (_COMMAND, _SIMULATED),  # without a benchmark the simulation is the top
        (_COUNTED + '[record]\nprofile = "c2c.txt"\n', _MEASURED),  # a profile leaves nothing to replay or to simulate
        (_TIMED, _MEASURED),  # the work of a set time is not the same each time
        (_COUNTED + _NAMED, _MEASURED),
    ],
)
def test_the_ladder_of_a_plan(text: str, ladder: tuple[Fidelity, ...], tmp_path: Path) -> None:
    (tmp_path / "c2c.txt").touch()
    assert settle(text, tmp_path).plan.search.ladder == ladder


def evidence(text: str, folder: Path) -> Evidence:
    found = settle(text, folder).plan.evidence
    assert found is not None
    return found


def test_misses_are_counted_for_each_operation_of_what_is_recorded(tmp_path: Path) -> None:
    counted = evidence(_COUNTED, tmp_path)
    assert (counted.operations, counted.metric) == (4 * 128, "cycles")  # of four threads, in whole rounds of 32 pages
    assert evidence(_COMMAND, tmp_path).operations == 1


def test_work_for_a_set_time_is_not_simulated_and_that_is_said(tmp_path: Path) -> None:
    (sentence,) = settle(_TIMED, tmp_path).remarks
    assert sentence.startswith("nothing was replayed or simulated: a run of page-faults does not do the same work")
    with pytest.raises(PlanError, match="give it a number of operations"):
        settle(_TIMED + '[search]\nladder = ["estimate", "simulate"]\n', tmp_path)


def test_the_time_of_an_emulated_machine_decides_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linesmith.tuner.run.preparation.kvm_obstacle", lambda: "there is no KVM here")
    complete = completed(plan_in('[source]\ntree = "."\nbuilder = "kbuild"\n' + _COUNTED, tmp_path))
    assert complete.plan.search.ladder == _SIMULATED
    assert complete.remarks[0].startswith("the benchmarks decide nothing: there is no KVM here")


_RECORD = 'command = "{queue} work"'
_WRONG = {
    "elf": (f'elf = "quue"\n{_RECORD}', PlanError, "elf = 'quue' is not a product of the build; name one of queue$"),
    "name": ('command = "{quue} work"', PlanError, r"\[record\]: \{quue\} is not a product of the build"),
    "program": ('command = "no-such-program"', ToolMissing, "the program no-such-program is not found"),
    "profile": ('profile = "tree/queue.c"', ProfileError, "is not a profile in a known format"),
}


@pytest.mark.parametrize("wrong", _WRONG)
def test_a_mistake_in_what_is_recorded_is_told_before_anything_is_built(tmp_path: Path, wrong: str) -> None:
    record, error, message = _WRONG[wrong]
    folder, text = project(tmp_path), PLAN.replace(_RECORD, record)
    with pytest.raises(error, match=message):
        of_tune(plan_in(text, folder), tmp_path / "run")
    with pytest.raises(error, match=message):
        tuned(tmp_path / "run", folder, text)
    assert not list((tmp_path / "run" / "artifacts").glob("*"))


@pytest.mark.parametrize(
    "word", ["{server}", "--log={server}.log", "${HOME}", "{}", "{ print }", "a{3}", "{print $2}", '{"a": 1}', "{a,b}"]
)
def test_other_braces_are_left_alone(word: str) -> None:
    assert stray([Step(("sh", "-c", word))], ("server", "libq.so")) is None


def test_a_name_that_is_no_product_is_told_with_those_that_are() -> None:
    assert stray([Step(("{sever}", "4"))], ("server", "libq.so")) == (
        "{sever} is not a product of the build; name one of {server}, {libq.so}, or put blanks into other braces: {"
        " sever }"
    )


_ROW = RowSpec(8, (1, 2, 3, 4, 5), 0x1139, "push", "[.]", "push+0x9")
_PREPARED = '[record.benchmark]\nname = "command"\nprepare = ["touch begun"]\nrun = "{queue} work"\n'
_RECORDED, _RUN = "qemu-x86_64: queue work", "queue: cost"


def words(command: str) -> str:
    """The program of a command and the words of the recorded one, without the paths on the way."""
    program, *rest = (word.rpartition("/")[2] for word in command.split())
    return f"{program}: {' '.join(rest[-2:])}"


@pytest.mark.parametrize(
    ("record", "shown"),
    [
        (_RECORD, [_RECORDED, _RUN]),
        ('profile = "c2c.txt"', [_RUN]),  # is not recorded again
        (_PREPARED, ["touch: begun", _RECORDED, _RUN]),
    ],
)
def test_a_dry_run_of_a_search_builds_records_and_benchmarks(tmp_path: Path, record: str, shown: list[str]) -> None:
    folder = project(tmp_path)
    (folder / "c2c.txt").write_text(render(ReportSpec((LineSpec(0x4040, (_ROW,)),))))
    build, *rest = of_tune(plan_in(PLAN.replace(_RECORD, record), folder), tmp_path / "run").commands
    assert "cc -g -O1 -pthread -o queue queue.c" in build
    assert [words(one) for one in rest] == shown
    traced = [one for one in rest if f"trace={tmp_path}/run/profile.trace " in one]
    assert len(traced) == shown.count(_RECORDED)
    assert not (tmp_path / "run").exists()


def test_patches_are_recorded_where_the_simulation_measures_them(tmp_path: Path) -> None:
    plan = plan_in(PLAN.replace('"estimate", "benchmark"', '"simulate"'), project(tmp_path))
    shown = of_bench(plan, [Variant("apart", (APART,))], tmp_path / "run")
    assert [words(one) for one in shown.commands[1:]] == [_RECORDED]


_KERNEL = (SOURCES / "kernel.toml").read_text()


def test_a_kernel_that_is_yet_to_be_built_is_booted_to_be_recorded(tmp_path: Path) -> None:
    plant(CASES["kbuild"].files, tmp_path / "tree")
    *build, record = of_tune(plan_in(_KERNEL, tmp_path), tmp_path / "run").commands
    assert build[-1].endswith(" bzImage")
    assert record.startswith("/usr/bin/qemu-system-x86_64 ")
    assert f" -kernel {tmp_path}/run/artifacts/KEY/kernel " in record
    assert "-m 256M -smp 2" in record
    assert "slub_debug=-" in record


def test_the_profile_of_a_run_is_its_recording_or_lies_where_the_plan_says(tmp_path: Path) -> None:
    folder = project(tmp_path)
    named = PLAN.replace(_RECORD, 'profile = "seen.txt"').replace("[search]", "[search]\nsection = 2")
    expected = {PLAN: RunProfile(tmp_path / "run-0/profile"), named: RunProfile(tmp_path / "seen.txt", 2)}
    for number, (text, profile) in enumerate(expected.items()):
        run = tmp_path / f"run-{number}"
        RunDirectory.create(run, text, folder).close()
        assert run_profile(run) is None
        profile.path.write_text("{}")
        assert run_profile(run) == profile
    (run / "tune.toml").write_text("[source")
    assert run_profile(run) is None
    with pytest.raises(JournalError, match="is not a run directory"):
        run_profile(tmp_path)


# A build is recorded as the plan's benchmark or command runs it; programs here, kernels in tests/e2e

TWO_COUNTERS = (SOURCES / "two_counters.c").read_text()
QUESTION = MeasuredRecord("counters", frozenset([frozenset(("first", "second"))]))


def compiled(folder: Path, source: str) -> Built:
    folder.mkdir(exist_ok=True)
    (folder / "count.c").write_text(source)
    argv = ["gcc", "-g", "-O1", "-pthread", "-o", str(folder / "count"), str(folder / "count.c")]
    subprocess.run(argv, check=True)
    return Built(folder.name, folder, (("count", folder / "count"),))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return compiled(tmp_path_factory.mktemp("shared"), TWO_COUNTERS)


EVIDENCE = Evidence("count", command=("{count}", "40000"), operations=40000)


def test_a_program_runs_in_an_empty_folder_and_its_output_is_kept(built: Built, tmp_path: Path) -> None:
    profile = recorded(built, EVIDENCE, tmp_path, 1, print)
    assert profile.lines
    assert (tmp_path / "output.txt").read_text() == "counted\n"
    assert (tmp_path / "place" / "made").is_file()


def test_both_sides_of_a_block_have_the_same_seed_and_are_told_apart(built: Built, tmp_path: Path) -> None:
    parted = compiled(tmp_path / "parted", TWO_COUNTERS.replace("first, second", "first, pad[8], second"))
    simulation = SimulatedBenchmark(EVIDENCE, QUESTION, tmp_path)
    samples = simulated_block(simulation, ("baseline", built), ("v1", parted), 3, 7, print)
    pair = {sample.variant: sample.value for sample in samples if sample.metric == "pair"}
    assert pair["baseline"] > 0
    assert pair["v1"] == 0
    assert {(sample.variant, sample.boot, sample.block) for sample in samples} == {("baseline", 0, 3), ("v1", 1, 3)}


def test_a_recording_of_the_same_build_and_seed_is_made_once(built: Built, tmp_path: Path) -> None:
    told: list[str] = []
    simulation = SimulatedBenchmark(EVIDENCE, QUESTION, tmp_path)
    first = simulation.values(built, 1, told.append)
    said = len(told)
    assert simulation.values(built, 1, told.append) == first
    assert len(told) == said > 0


def test_preparations_are_run_as_they_are(built: Built, tmp_path: Path) -> None:
    made = tmp_path / "prepared-file"
    use = Use("command", (("run", "{count} 100"), ("prepare", (f"touch {made}",))))
    order = order_of(built, replace(EVIDENCE, use=use), tmp_path, 1, print)
    assert made.is_file()
    assert order.command == (str(built.product("count")), "100")
    failing = Use("command", (("run", "{count} 100"), ("prepare", ("false",))))
    with pytest.raises(BenchmarkFailed, match="false ended with status 1 before the recording"):
        order_of(built, replace(EVIDENCE, use=failing), tmp_path, 1, print)


def test_a_program_has_its_environment_and_is_one_that_is_built(built: Built, tmp_path: Path) -> None:
    step = Step(("{count}", "1"), environment=(("MODE", "fast"),))
    assert planned_order(built, EVIDENCE, [step], 1, tmp_path).environment == (("MODE", "fast"),)
    with pytest.raises(PlanError, match="elf = 'server' is not a product of the build; name one of count"):
        planned_order(built, replace(EVIDENCE, elf="server"), [step], 1, tmp_path)


def test_a_kernel_does_all_steps_one_after_the_other(tmp_path: Path) -> None:
    kernel = Built("key", tmp_path, (("kernel", tmp_path / "bzImage"), ("vmlinux", tmp_path / "vmlinux")))
    steps = (Step(("mkdir", "/data/a b"), silent=True), Step(("storm",), cpus=(1, 3), environment=(("N", "2"),)))
    order = planned_order(kernel, Evidence("vmlinux", cpus=8), steps, 5, tmp_path)
    assert order.command == ("sh", "-c", "mkdir '/data/a b' && env N=2 taskset -c 1,3 storm")
    assert order.guest is not None
    assert (order.guest.cpus, order.emulation.seed) == (8, 5)
