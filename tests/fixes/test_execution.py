# SPDX-License-Identifier: GPL-2.0-or-later
"""The run of a scenario: repeatable, as its roles say, with the costs that the replayer counts too."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from fixes.coherence import Source, sources
from fixes.execution import Event, Spot, interleaved, node_of
from fixes.judgement import steps
from fixes.report import SLIDE, report
from fixes.scenario import Kind, Object, Objects, Role, Scenario, ScenarioError, Touch
from hand_made import scalar, struct, table
from replay.traces import write_trace

from linesmith.analyzer.model import Layout, ObjectArea, ObjectKind
from linesmith.plugins.registry import read_profiles
from linesmith.tuner.plan import unchanged
from linesmith.tuner.replay import open_trace
from linesmith.tuner.scene import scene

READING = Role("reading", (Touch("look_up", Kind.LOAD, "key"), Touch("look_up", Kind.LOAD, "name", 0.25)), 3)
WRITING = Role("writing", (Touch("count_up", Kind.ATOMIC, "users"), Touch("count_up", Kind.STORE, "last")), 1)
SPOTS = {name: Spot(name, offset, 8) for name, offset in {"key": 0, "name": 8, "users": 16, "last": 72}.items()}
RECORD: Layout = struct("thing", *(scalar(f"w{number}") for number in range(12)))
START = 0xFFFF_8881_0400_0000
CODE = {
    ("look_up", "key", Kind.LOAD): 0xFFFFFFFF81000010,
    ("look_up", "name", Kind.LOAD): 0xFFFFFFFF81000018,
    ("count_up", "users", Kind.ATOMIC): 0xFFFFFFFF81000110,
    ("count_up", "last", Kind.STORE): 0xFFFFFFFF81000118,
}


def scenario(*roles: Role, count: int = 1) -> Scenario:
    return Scenario("run", "", "", "6.1", "thing", "", roles, (), objects=Objects(count))


def run(*roles: Role, count: int = 1) -> list[Event]:
    return interleaved(scenario(*roles, count=count), SPOTS, 8000)


def test_scenario_and_seed_decide_the_run() -> None:
    assert run(READING, WRITING) == run(READING, WRITING)
    assert interleaved(scenario(READING, WRITING), SPOTS, 8000, seed=1) != run(READING, WRITING)


def test_cpus_do_what_their_role_says_as_often_as_it_says() -> None:
    events = run(READING, WRITING)
    done = Counter((event.cpu < 3, event.spot.member) for event in events)
    assert set(done) == {(True, "key"), (True, "name"), (False, "users"), (False, "last")}
    assert done[True, "name"] / done[True, "key"] == pytest.approx(0.25, abs=0.03)
    assert abs(done[False, "users"] - done[False, "last"]) <= 1


def test_a_role_of_all_cpus_is_done_beside_the_others() -> None:
    housekeeping = Role("housekeeping", (Touch("tick", Kind.LOAD, "last"),), None, share=0.5)
    done = Counter((event.cpu, event.function) for event in run(WRITING, WRITING, housekeeping))
    assert set(done) == {(cpu, function) for cpu in (0, 1) for function in ("count_up", "tick")}
    assert done[0, "tick"] / done[0, "count_up"] == pytest.approx(0.25, abs=0.05)


def test_a_slow_role_has_fewer_turns() -> None:
    slow = Role("seldom", WRITING.touches, 1, share=0.1)
    done = Counter(event.cpu for event in run(WRITING, slow))
    assert done[1] / done[0] == pytest.approx(0.1, abs=0.03)


@pytest.mark.parametrize(
    ("which", "reached"),
    [(Object.SAME, {0: {0}, 1: {0}}), (Object.OWN, {0: {0}, 1: {1}}), (Object.ANY, {0: {0, 1}, 1: {0, 1}})],
)
def test_a_role_reaches_one_object_its_own_or_any(which: Object, reached: dict[int, set[int]]) -> None:
    events = run(Role("reading", READING.touches, 2, which), count=2)
    assert {cpu: {one.object for one in events if one.cpu == cpu} for cpu in (0, 1)} == reached


def test_one_cpu_at_a_time_holds_a_lock_and_the_others_wait() -> None:
    take, leave = Touch("take", Kind.ATOMIC, "users"), Touch("leave", Kind.STORE, "users")
    holding = Role(
        "holding", (take, *WRITING.touches, leave), 3, lock="users", waits=(Touch("spin", Kind.LOAD, "users"),)
    )
    holder, spins = None, 0
    for event in run(holding):
        if event.function == "take":
            assert holder is None
            holder = event.cpu
        elif event.function == "spin":
            spins += 1
            assert holder != event.cpu
        else:
            assert holder == event.cpu
            holder = None if event.function == "leave" else holder
    assert spins > 1000


def test_a_lock_changes_hands() -> None:
    turns = Counter(event.cpu for event in run(Role("holding", WRITING.touches, 3, lock="users")))
    assert len(turns) == 3
    assert min(turns.values()) > 0.8 * max(turns.values())


def test_the_next_reader_finds_the_line_modified_and_the_writer_finds_it_shared() -> None:
    read, write = (Event(cpu, "f", kind, SPOTS["key"], 0) for cpu, kind in ((0, Kind.LOAD), (1, Kind.STORE)))
    order = [read, read, write, write, read, write]
    found = [source for _, _, source in sources(order, [START])]
    assert found == [Source.MEMORY, Source.OWN, Source.SHARED, Source.OWN, Source.MODIFIED_FAR, Source.OWN]


def test_the_replayer_counts_the_same_modified_lines(tmp_path: Path) -> None:
    events = run(READING, WRITING, Role("more", (*WRITING.touches, *READING.touches), 2))
    trace = write_trace(tmp_path / "trace", steps(events, [START]), [node_of(cpu) for cpu in range(6)])
    area = ObjectArea(ObjectKind.SLAB, "thing", START, 96, 96, 42, ("thing",))
    replay = open_trace(trace, (scene(RECORD, (area,), table(RECORD)),))
    misses = replay.run(0, unchanged(replay.scenes[0])).misses
    found = Counter(source for _, _, source in sources(events, [START]))
    assert found[Source.MODIFIED_NEAR] == misses.hitm_local + misses.taken_local > 0
    assert found[Source.MODIFIED_FAR] == misses.hitm_remote + misses.taken_remote > 0


def test_the_report_is_one_that_the_tool_reads(tmp_path: Path) -> None:
    path = tmp_path / "thing.c2c"
    path.write_text(report(run(READING, WRITING), [START], CODE))
    ((profile,),) = (read_profiles(path),)
    (line,) = profile.lines
    rows = {(row.function, row.offset, row.code_address) for row in line.accesses}
    assert line.address == START
    assert rows == {
        ("look_up", 0, 0xFFFFFFFF81000010 + SLIDE),
        ("look_up", 8, 0xFFFFFFFF81000018 + SLIDE),
        ("count_up", 16, 0xFFFFFFFF81000110 + SLIDE),
    }
    writer = next(row for row in line.accesses if row.offset == 16)
    assert (writer.stores > 100, writer.cpus) == (True, 1)


def test_a_run_without_contention_has_no_report() -> None:
    with pytest.raises(ScenarioError, match="no line is contended"):
        report(run(READING), [START], CODE)
