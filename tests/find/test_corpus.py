# SPDX-License-Identifier: GPL-2.0-or-later
"""Collected reports: each names the right type and members first, or says that it cannot tell; none is surely wrong."""

from __future__ import annotations

import json
import os
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from linesmith_command import linesmith

pytestmark = pytest.mark.real

SURE = ("resolved", "inner type only")
LOCKS = {"raw_spinlock", "spinlock", "qspinlock", "rw_semaphore"}


@pytest.fixture(scope="session")
def rt_kernel() -> Path:
    """A 6.x kernel, or its scheduler linked with ``ld -r``, with CONFIG_RT_GROUP_SCHED, which Debian's lack."""
    given = os.environ.get("LINESMITH_TEST_RT_KERNEL")
    if not given:
        pytest.skip("LINESMITH_TEST_RT_KERNEL names no kernel with CONFIG_RT_GROUP_SCHED")
    return Path(given)


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("reported") / "program"
    source = Path(__file__).with_name("reported_programs.c")
    subprocess.run(["gcc", "-g", "-O1", "-pthread", str(source), "-o", str(target)], check=True)
    return target


@cache
def lines_of(elf: Path, report: Path, *options: str) -> dict[int, dict[str, Any]]:
    """The lines of a report by rank."""
    ran = linesmith("hot", elf, report, "--format", "json", *options)
    assert ran.returncode == 0, ran.stderr
    return {line["rank"]: line for line in json.loads(ran.stdout)["lines"]}


def case(corpus: Path, number: str) -> Path:
    return next(corpus.glob(f"c2c/{number}-*"))


def first(line: dict[str, Any]) -> tuple[str, int]:
    """The type and the start of a line that is resolved."""
    one = line["objects"][0]
    assert one["outcome"] == "resolved", one
    return one["type"], one["start"]


def members(line: dict[str, Any]) -> dict[int, str]:
    return {one["offset"]: one["path"] for one in line["members"]}


def told(lines: dict[int, dict[str, Any]]) -> set[tuple[str, str]]:
    """What is said with high confidence, as (outcome, type)."""
    objects = (one for line in lines.values() for one in line["objects"])
    return {(one["outcome"], one["type"]) for one in objects if one["outcome"] in SURE}


def test_002_before(vmlinux: Path, corpus: Path) -> None:
    (line,) = lines_of(vmlinux, case(corpus, "002")).values()
    assert first(line) == ("address_space", -48)
    assert members(line) == {
        0x18: "i_mmap.rb_root",
        0x20: "i_mmap.rb_leftmost",
        0x28: "i_mmap_rwsem.count",
        0x30: "i_mmap_rwsem.owner",
    }


def test_002_after_with_the_layout_from_before(vmlinux: Path, corpus: Path) -> None:
    (line,) = lines_of(vmlinux, case(corpus, "002"), "--section", "2").values()
    assert told({0: line}) == {("inner type only", "rw_semaphore")}
    assert members(line)[0x18] == "count"


def test_004(rt_kernel: Path, corpus: Path) -> None:
    (line,) = lines_of(rt_kernel, case(corpus, "004")).values()
    assert first(line)[0] == "task_group"
    assert members(line) == {0x0: "load_avg", 0x8: "rt_se", 0x10: "rt_rq"}
    assert line["triage"]["kinds"] == ["false sharing", "true sharing"]


def test_010(vmlinux: Path, corpus: Path) -> None:
    lines = lines_of(vmlinux, case(corpus, "010"))
    assert lines[0]["objects"][0]["type"] == "cgroup_subsys_state"
    assert members(lines[0])[0x0].endswith("cgroup")
    assert members(lines[0])[0x10].endswith("refcnt.percpu_count_ptr")
    assert lines[1]["objects"][0]["type"] in LOCKS
    assert lines[2]["objects"][0]["type"] in LOCKS
    assert {type_ for _, type_ in told(lines)} <= LOCKS | {"cgroup_subsys_state", "mem_cgroup", "page_counter"}


def test_013(vmlinux: Path, corpus: Path) -> None:
    (line,) = lines_of(vmlinux, case(corpus, "013")).values()
    assert first(line)[0] == "mem_cgroup_per_node"
    assert members(line) == {0x8: "lruvec.pgdat", 0x10: "lruvec_stats_percpu"}


def test_015_is_of_a_program_and_of_a_clock(vmlinux: Path, corpus: Path) -> None:
    lines = lines_of(vmlinux, case(corpus, "015"))
    assert lines[0]["objects"][0]["outcome"] == "user space"
    assert lines[0]["triage"]["kinds"][0] == "false sharing"
    assert told(lines) <= {("inner type only", lock) for lock in LOCKS}


def test_020_is_of_a_program_and_of_an_old_kernel(vmlinux: Path, corpus: Path) -> None:
    lines = lines_of(vmlinux, case(corpus, "020"))
    assert [lines[rank]["objects"][0]["outcome"] for rank in (0, 1)] == ["user space"] * 2
    assert lines[0]["triage"]["kinds"][0] == "false sharing"
    assert told(lines) == set()


@pytest.mark.parametrize("number", ["022", "026"])
def test_nothing_is_told_of_what_has_no_names_or_another_program(number: str, vmlinux: Path, corpus: Path) -> None:
    assert told(lines_of(vmlinux, case(corpus, number))) == set()


def test_028_has_no_offsets(vmlinux: Path, corpus: Path) -> None:
    ran = linesmith("hot", vmlinux, case(corpus, "028"))
    assert ran.returncode == 2
    assert "lists shared lines but no offsets" in ran.stderr


def test_022_has_two_counters_that_are_written(vmlinux: Path, corpus: Path) -> None:
    (line,) = lines_of(vmlinux, case(corpus, "022")).values()
    assert set(members(line)) == {0x30, 0x38}
    assert line["triage"]["kinds"][0] == "false sharing"


def test_031_the_tree_beside_its_lock(program: Path, corpus: Path) -> None:
    line = lines_of(program, case(corpus, "031"))[0]
    assert first(line) == ("maps", 0x18)
    assert members(line)[0x18] == "entries"
    assert members(line)[0x20].startswith("lock")


def test_032_the_lock_alone(program: Path, corpus: Path) -> None:
    """Whose start cannot be told: the C library's code is not in the program, and any of its words may be met."""
    lines = lines_of(program, case(corpus, "032"))
    assert lines[0]["objects"][0]["type"] == "pthread_rwlock_t"
    assert lines[0]["triage"]["kinds"][0] == "lock contention"
    assert told(lines) == set()


@pytest.mark.parametrize("seed", ["000", "001", "002"])
def test_what_the_seeds_report(seed: str, vmlinux: Path, corpus: Path) -> None:
    report = next(corpus.parent.glob(f"seeds/{seed}_*"))
    ran = linesmith("hot", vmlinux, report, "--format", "json")
    if ran.returncode:
        assert ran.returncode == 2
        assert "Traceback" not in ran.stderr
        return
    lines = {line["rank"]: line for line in json.loads(ran.stdout)["lines"]}
    assert {type_ for _, type_ in told(lines)} <= LOCKS | {"address_space"}
