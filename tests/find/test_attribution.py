# SPDX-License-Identifier: GPL-2.0-or-later
"""Which object lies on a line: by what the functions of a program can reach, by a snapshot, and of another build.

``program.c``: a ``mapping`` holds its tree at 24 and its lock at 40; ``file_node`` holds a mapping at 40.
``drifted.c``: ``pages`` holds its mask at 8, root and first at 16 and 24, number and index from 32, count at 56.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from c_source import compiled
from find.lines import Built, Case, accesses, areas_of, cases, check, explained, facts, line_of, profile_of
from hand_made import held, scalar, struct, table
from linesmith_command import linesmith
from profiles.c2c_text import LineSpec, ReportSpec, RowSpec, render

from linesmith.analyzer.access.store import read_accesses
from linesmith.analyzer.attribution.identify import lines_known_to_hold
from linesmith.analyzer.layouts.containment import Containment
from linesmith.analyzer.model import ObjectArea, ObjectKind
from linesmith.analyzer.report.findings import line_facts


def found(elf: Path, case: Case) -> dict[str, str]:
    given = case.given
    profile = profile_of(line_of(accesses(given["rows"])), areas=areas_of(given.get("memory", "")))
    return facts(explained(elf, profile)[0])


@pytest.mark.parametrize("compiler", ["gcc", "clang-19"])
@cases("by_functions")
def test_by_what_functions_reach(compiler: str, case: Case, built: Built) -> None:
    check(case, found(built("program.c", compiler=compiler), case))


@cases("by_snapshot")
def test_by_what_a_snapshot_knows(case: Case, built: Built) -> None:
    check(case, found(built("program.c"), case))


@cases("nested")
def test_of_nested_records(case: Case, built: Built) -> None:
    check(case, found(built("nested.c"), case))


def test_a_function_that_touches_a_variable_by_its_address_agrees(tmp_path: Path) -> None:
    source = (
        "struct other { long a; }; static struct totals { long taken[4]; } totals;\n"
        "long take(struct other *of) { return totals.taken[2] += of->a; }\n"
    )
    unit = compiled(tmp_path, source, "-O1")
    profile = profile_of(line_of(accesses("0x10 take")), areas=areas_of("global totals 0 32 totals"))
    (one,) = explained(unit, profile, accesses=read_accesses(unit).accesses)[0].objects
    assert (one.score, one.reason) == (1.0, "")


MAPPING = struct("mapping", scalar("tree"))
NODE = struct("node", scalar("mode"), held("data", MAPPING))
CONTAINMENT = Containment(table(MAPPING, NODE, struct("task", scalar("state"))))


@pytest.mark.parametrize(
    ("record", "memory", "known"),
    [
        ("mapping", ("mapping", "node", "task"), [0, 1]),
        ("node", ("mapping", "node"), [1]),  # a part does not hold the whole
        ("mapping", ("task node", "", "mapping", "task"), [2]),  # the likeliest of several types counts
    ],
)
def test_lines_that_cannot_hold_a_type_are_passed_over(record: str, memory: tuple[str, ...], known: list[int]) -> None:
    lines = (line_of(accesses("0 function"), 64 * rank, rank) for rank in range(len(memory)))
    areas = tuple(
        ObjectArea(ObjectKind.SLAB, "cache", 64 * rank, 64, 64, types=tuple(types.split()))
        for rank, types in enumerate(memory)
    )
    profile = profile_of(*lines, areas=areas)
    assert [line.rank for line in lines_known_to_hold(record, profile, CONTAINMENT)] == known


@cases("drifted")
def test_members_of_another_layout(case: Case, built: Built) -> None:
    elf = built("drifted.c")
    profile = profile_of(line_of(accesses(case.given["rows"])))
    (found,) = explained(elf, profile, accesses=read_accesses(elf).accesses)
    check(case, facts(found) | {"where": dict(line_facts(found))["object"]})


def report(folder: Path, rows: str) -> Path:
    met = enumerate(accesses(rows))
    specs = (
        RowSpec(one.offset or 0, (0, one.contended, one.stores, 0, 0), 16 * at, one.function or "", "prog", "", "u")
        for at, one in met
    )
    (folder / "report.txt").write_text(render(ReportSpec((LineSpec(0x1000, tuple(specs)),))))
    return folder / "report.txt"


GROWN = "0x8 mask_of, 0x10 insert 0/100, 0x28 first_of, 0x30 number_of"


def test_the_json_has_the_places_in_this_build(built: Built, tmp_path: Path, own_cache: Path) -> None:
    ran = linesmith("hot", built("drifted.c"), report(tmp_path, GROWN), "--format", "json", cache=own_cache)
    (found,) = json.loads(ran.stdout)["lines"][0]["objects"]
    assert (found["layout"], found["places"]) == ("other", {"0x8": 8, "0x10": 16, "0x28": 24, "0x30": 32})


def test_what_meets_in_this_build_too_can_be_parted(built: Built, tmp_path: Path, own_cache: Path) -> None:
    ran = linesmith("suggest", built("drifted.c"), report(tmp_path, GROWN), cache=own_cache)
    assert "move root" in ran.stdout, ran.stderr
    doubt = "The line may not be of struct pages: its members are at other offsets"
    assert doubt in " ".join(ran.stdout.split())


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ("0x8 mask_of, 0x18 first_of, 0x20 last_of, 0x20 set_last 0/100, 0x20 add_last", "lie on different lines"),
        ("0x10 insert 0/100, 0x18 last_of, 0x18 number_of", "which members of pages are at 0x10, 0x18 is unknown"),
    ],
)
def test_nothing_is_proposed_where_nothing_meets(
    rows: str, why: str, built: Built, tmp_path: Path, own_cache: Path
) -> None:
    ran = linesmith("suggest", built("drifted.c"), report(tmp_path, rows), cache=own_cache)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert why in " ".join(ran.stdout.split())
