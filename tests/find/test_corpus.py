# SPDX-License-Identifier: GPL-2.0-or-later
"""Collected reports: each names the right type and members first, or says that it cannot tell; none is surely wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from find.lines import Built, Case, cases, check
from keeping import Keeper
from kernel_index import index_of
from linesmith_command import linesmith

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("reports on vmlinux")]

SURE = ("resolved", "inner type only")
LOCKS = {"raw_spinlock", "spinlock", "qspinlock", "rw_semaphore"}
# The figures of a public report on kernel 6.4, whose address_space is laid out as in 6.1; the rows are our own.
I_MMAP = Path(__file__).with_name("texts") / "i_mmap.txt"


@pytest.fixture(scope="module")
def program(built: Built) -> Path:
    return built("reported_programs.c", "-O1", "-pthread")


@pytest.fixture(scope="module", autouse=True)
def _index(vmlinux: Path, kept: Keeper) -> Iterator[None]:
    """Commands on the kernel find its index."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("LINESMITH_CACHE_DIR", str(index_of(vmlinux, kept)))
        yield


@cache
def lines_of(elf: Path, report: Path, *options: str, own_cache: Path | None = None) -> dict[int, dict[str, Any]]:
    ran = linesmith("hot", elf, report, "--format", "json", *options, cache=own_cache)
    assert ran.returncode == 0, ran.stderr
    return {line["rank"]: line for line in json.loads(ran.stdout)["lines"]}


def collected(corpus: Path, number: str) -> Path:
    """``002`` is a report, ``seed 000`` a mail."""
    seed = number.partition("seed ")[2]
    return next(corpus.parent.glob(f"seeds/{seed}_*") if seed else corpus.glob(f"c2c/{number}-*"))


def sure(lines: dict[int, dict[str, Any]]) -> set[str]:
    """What is said with high confidence of any line."""
    objects = (one for line in lines.values() for one in line["objects"])
    return {one["type"] for one in objects if one["outcome"] in SURE}


def told(line: dict[str, Any]) -> dict[str, str]:
    """What a case may say of a line."""
    one = line["objects"][0]
    return {
        "object": f"{one['type']} at {one['start']}" if one["outcome"] == "resolved" else one["outcome"],
        "inner": one["type"],
        "members": ", ".join(f"{member['offset']:#x} {member['path']}" for member in line["members"]),
        "kinds": ", ".join(line["triage"]["kinds"]),
        "first kind": line["triage"]["kinds"][0],
        "pair": " ".join(pair[word] for pair in line["triage"]["pairs"][:1] for word in ("first", "second", "writer")),
    }


@cases("collected_reports")
def test_the_hottest_line(case: Case, vmlinux: Path, corpus: Path) -> None:
    options = ("--section", case.given["section"]) if "section" in case.given else ()
    lines = lines_of(vmlinux, collected(corpus, case.given["report"]), *options)
    check(case, told(lines[min(lines)]))


def test_the_i_mmap_line(vmlinux: Path) -> None:
    line = told(lines_of(vmlinux, I_MMAP)[0])
    assert (line["object"], line["kinds"]) == ("address_space at -48", "false sharing, lock contention")
    assert line["pair"] == "i_mmap i_mmap_rwsem i_mmap_rwsem"


GROUPS = LOCKS | {"cgroup_subsys_state", "lruvec", "mem_cgroup", "page_counter"}
# Of 020 a program and an old kernel, of 022 another program, of 026 no names are known.
SURE_TYPES = {"002": {"rw_semaphore"}, "010": GROUPS, "015": LOCKS, "seed 000": LOCKS | {"address_space"}}


@pytest.mark.parametrize("number", [*SURE_TYPES, "020", "022", "026"])
def test_no_line_is_surely_wrong(number: str, vmlinux: Path, corpus: Path) -> None:
    lines = lines_of(vmlinux, collected(corpus, number), *(("--section", "2") if number == "002" else ()))
    assert sure(lines) <= SURE_TYPES.get(number, set())
    for line in lines.values():
        assert sum(line["outcomes"].values()) >= sum(len(member["functions"]) for member in line["members"])
    if number == "010":
        assert lines[1]["objects"][0]["type"] in LOCKS
        # Two of these locks, of which the second has nonresident_age 24 bytes behind.
        assert told(lines[2])["object"] == "lruvec at -64"
        assert told(lines[2])["members"] == "0x10 lru_lock, 0x12 lru_lock, 0x28 nonresident_age"
    if number == "026":
        outcomes = {one["outcome"] for line in lines.values() for one in line["objects"]}
        assert outcomes <= {"no evidence", "no offsets"}


@pytest.mark.parametrize("number", ["028", "seed 001", "seed 002"])
def test_what_holds_no_offsets_is_refused(number: str, vmlinux: Path, corpus: Path) -> None:
    ran = linesmith("hot", vmlinux, collected(corpus, number))
    assert (ran.returncode, "Traceback" in ran.stderr) == (2, False)
    assert "lists shared lines but no offsets" in ran.stderr or number != "028"


def test_a_tree_beside_its_lock_and_then_the_lock_alone(program: Path, corpus: Path, own_cache: Path) -> None:
    """Whose words cannot be told: the C library's code is not in the program."""
    reports = (collected(corpus, number) for number in ("031", "032"))
    before, after = (lines_of(program, report, own_cache=own_cache) for report in reports)
    assert told(before[0])["object"] == "maps at 24"
    assert "0x18 entries, 0x20 lock" in told(before[0])["members"]
    assert (told(after[0])["inner"], told(after[0])["first kind"]) == ("pthread_rwlock_t", "lock contention")
    assert sure(after) == {"pthread_rwlock_t"}


@pytest.mark.parametrize(
    ("before", "after", "fates"),
    [
        ("002", "002",
            "vma_interval_tree_remove vanished, rwsem_spin_on_owner fell, vma_interval_tree_insert vanished"),
        ("031", "032", "maps__find_by_time vanished, __pthread_rwlock_rdlock rose"),
    ],
)  # fmt: skip
def test_what_a_fix_did_comes_out_by_itself(before: str, after: str, fates: str, vmlinux: Path, corpus: Path) -> None:
    pair = collected(corpus, before), collected(corpus, after)
    ran = linesmith("compare", vmlinux, *pair, "--format", "json")
    assert ran.returncode == 0, ran.stderr
    document = json.loads(ran.stdout)
    found = {one["functions"][0]: one["change"]["fate"] for one in document["functions"]}
    for function, fate in map(str.split, fates.split(", ")):
        assert found[function] == fate
    if before == after:
        (hottest,) = (one for one in document["objects"] if one["type"] == "address_space")
        members = {one["member"]: one["change"]["fate"] for one in hottest["members"]}
        assert members == {"i_mmap": "vanished", "i_mmap_rwsem": "may be unseen"}
    else:
        assert document["total"]["fate"] == "rose"
        assert any("contended loads are not time" in caution for caution in document["cautions"])
