# SPDX-License-Identifier: GPL-2.0-or-later
"""Layout fixes of the kernel's history: tried on a real kernel, and the parts of the study that its results rest on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from fixes.execution import Event, Source, Spot, interleaved, node_of, sources
from fixes.human import human_layout
from fixes.judgement import Cost, as_good, steps
from fixes.kernel import RealKernel, real_kernel
from fixes.run import main
from fixes.scenario import Answer, Role, Scenario, Step, Touch, cases
from fixes.table import Verdict, table, verdict
from fixes.trial import Trial, Tried, course, tried
from hand_made import held, offsets, scalar, struct, union
from hand_made import table as layouts_of
from keeping import Keeper, product_digest
from replay.traces import write_trace

from linesmith.analyzer.model import ObjectArea, ObjectKind
from linesmith.tuner.plan import unchanged
from linesmith.tuner.replay import open_trace
from linesmith.tuner.scene import scene

pytestmark = pytest.mark.xdist_group("fixes")
START = 0xFFFF_8881_0400_0000


@pytest.fixture(scope="module")
def indexed(vmlinux: Path, kept: Keeper) -> Iterator[Path]:
    """The kernel, with the index of its layouts and accesses from an earlier run: making one takes a minute."""

    def make(folder: Path) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("LINESMITH_CACHE_DIR", str(folder))
            real_kernel(vmlinux)

    folder = kept("fixes-index", f"{product_digest()} {vmlinux.name} {vmlinux.stat().st_size}", make)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LINESMITH_CACHE_DIR", str(folder))
        yield vmlinux


@pytest.mark.real
def test_what_people_did_or_as_good_is_among_the_candidates(indexed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([str(indexed), "--case", "dentry_d_lockref", "--details"])
    row = next(row for row in capsys.readouterr().out.splitlines() if row.startswith("| dentry_d_lockref |"))
    assert row.split(" | ")[-2] == "1 of 1"


@pytest.fixture(scope="module")
def kernel(indexed: Path) -> RealKernel:
    return real_kernel(indexed)


@pytest.mark.real
@pytest.mark.study
@pytest.mark.parametrize("name", ["cgroup_bstat", "root_domain_overload"])
def test_the_same_of_other_fixes(kernel: RealKernel, name: str, tmp_path: Path) -> None:
    (scenario,) = (one for one in cases() if (one.release, one.name) == (kernel.release, name))
    trial = tried(scenario, kernel, tmp_path)
    assert verdict(trial).found, trial


@pytest.mark.real
@pytest.mark.study
def test_scenarios_are_about_code_that_the_kernel_has(kernel: RealKernel) -> None:
    codes = {one.name: course(one, kernel, 100).code.code for one in cases() if one.release == kernel.release}
    assert codes
    assert {name: [key for key, address in code.items() if not address] for name, code in codes.items()} == {
        name: [] for name in codes
    }


def test_every_scenario_can_be_read() -> None:
    found = cases()
    assert "dentry_d_lockref" in [one.name for one in found]
    assert all(one.human for one in found if one.answer is Answer.LAYOUT)


READING = Role("reading", (Touch("look_up", load="key"), Touch("look_up", load="name", often=0.25)), 3)
WRITING = Role("writing", (Touch("count_up", atomic="users"), Touch("count_up", store="last")), 1)
SPOTS = {name: Spot(name, offset, 8) for name, offset in {"key": 0, "name": 8, "users": 16, "last": 72}.items()}


def run(*roles: Role, seed: int = 0) -> list[Event]:
    made = Scenario("run", "", "", "6.1", "thing", "", roles)
    return interleaved(made, SPOTS, 8000, seed)


def test_cpus_do_what_their_role_says_as_often_as_it_says() -> None:
    assert run(READING, WRITING) == run(READING, WRITING) != run(READING, WRITING, seed=1)
    done = Counter((event.cpu < 3, event.spot.member) for event in run(READING, WRITING))
    assert set(done) == {(True, "key"), (True, "name"), (False, "users"), (False, "last")}
    assert done[True, "name"] / done[True, "key"] == pytest.approx(0.25, abs=0.03)


def test_the_replayer_counts_the_modified_lines_that_the_study_counts(tmp_path: Path) -> None:
    record = struct("thing", *(scalar(f"w{number}") for number in range(12)))
    events = run(READING, WRITING, Role("more", (*WRITING.does, *READING.does), 2))
    trace = write_trace(tmp_path / "trace", steps(events, [START]), [node_of(cpu) for cpu in range(6)])
    area = ObjectArea(ObjectKind.SLAB, "thing", START, 96, 96, 42, ("thing",))
    replay = open_trace(trace, (scene(record, (area,), layouts_of(record)),))
    misses = replay.run(0, unchanged(replay.scenes[0])).misses
    found = Counter(source for _, _, source in sources(events, [START]))
    assert found[Source.MODIFIED_NEAR] == misses.hitm_local + misses.taken_local > 0
    assert found[Source.MODIFIED_FAR] == misses.hitm_remote + misses.taken_remote > 0


def test_the_steps_of_a_person_are_made_in_the_record_without_anonymous_structs() -> None:
    choice = union("", scalar("next"), scalar("wait"))
    inner = struct("", scalar("refs"), held("", choice), scalar("flags", 4))
    record = struct("thing", held("", inner), scalar("lock", 4), scalar("users", 8))
    made = human_layout(
        record, [Step("lock", after="flags"), Step("wait", last=True)], layouts_of(record, inner, choice)
    )
    assert offsets(made) == {"refs": 0, "flags": 8, "lock": 12, "users": 16, "": 24}


SCENARIO = Scenario("thing_lock", "123456789abc", "x: y", "6.1", "thing", "the lock leaves", ())


def cost(share: float, pages: int = 32, size: int = 128) -> Cost:
    """So much of 1,000 misses, the same in every window."""
    return Cost(round(1000 * share), (share * 50.0,) * 20, 1, size, pages)


TRIAL = Trial(SCENARIO, None, "thing_cache", cost(1.0), cost(0.6), (), (), (), asked=False)
GOOD = Tried("lock behind name", cost(0.6), recommended=True, same=False, good=True)
POOR = replace(GOOD, cost=cost(0.9), good=False)


@pytest.mark.parametrize(
    ("other", "good"),
    [(cost(0.6), True), (cost(0.61), False), (cost(0.5, pages=48), False), (cost(0.6, size=160), True)],
)
def test_as_good_is_no_more_misses_and_no_more_memory(other: Cost, good: bool) -> None:
    assert as_good(other, cost(0.6), cost(1.0)) is good


@pytest.mark.parametrize(
    ("answer", "candidates", "advice", "said"),
    [
        (Answer.LAYOUT, (GOOD,), (), Verdict.RECOMMENDED),
        (Answer.LAYOUT, (POOR, replace(GOOD, recommended=False)), (), Verdict.IN_SET),
        (Answer.LAYOUT, (POOR,), (), Verdict.MISSED),
        (Answer.LAYOUT, (), (), Verdict.NO_CANDIDATE),
        (Answer.NONE, (replace(POOR, recommended=False),), (), Verdict.LEFT_ALONE),
        (Answer.NONE, (POOR,), (), Verdict.MEDDLED),
        (Answer.STRUCTURE, (), ("shard", "shrink"), Verdict.ADVISED),
        (Answer.STRUCTURE, (), ("shrink",), Verdict.NOT_ADVISED),
        (Answer.STRUCTURE, (replace(POOR, cost=cost(1.5)),), ("shard",), Verdict.MEDDLED),
    ],
)
def test_what_counts_as_found(
    answer: Answer, candidates: tuple[Tried, ...], advice: tuple[str, ...], said: Verdict
) -> None:
    scenario = msgspec.structs.replace(SCENARIO, answer=answer, advice="shard")
    assert verdict(replace(TRIAL, scenario=scenario, tried=candidates, advice=advice)) is said


def test_runs_of_a_scenario_are_one_row_and_the_median_counts() -> None:
    good = replace(TRIAL, tried=(GOOD,))
    other = replace(TRIAL, scenario=msgspec.structs.replace(SCENARIO, name="thing_none", answer=Answer.NONE))
    assert list(table([good, other, TRIAL, replace(TRIAL, posted=Path("report.txt")), good]))[2:] == [
        "| thing_lock | 6.1, thing_cache | 1,000 | -40.0 % | -40.0 % | -40.0 % | 2 of 3 | recommended |",
        "| thing_lock, posted report report.txt | 6.1, thing_cache | 1,000 | -40.0 % | - | - | 0 of 1 | no candidate |",
        "| thing_none | 6.1, thing_cache | 1,000 | -40.0 % | - | - | 1 of 1 | left alone, as it should be |",
        "",
        "1 layout fixes that their scenario shows. The human's layout, or one as good:",
        "in the set of 1 (100.0 %), the recommended one of 1 (100.0 %).",
        "1 records that no layout helps: 1 get the right answer.",
    ]
