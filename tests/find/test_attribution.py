# SPDX-License-Identifier: GPL-2.0-or-later
"""Which object lies on a line: by what the functions of a compiled program can reach, and by what a snapshot knows.

``program.c``: a ``mapping`` holds its tree at 24 and its lock at 40; ``file_node`` holds a mapping at 40.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from c_source import compiled
from find.lines import Built, Case, accesses, areas_of, cases, check, explained, facts, line_of, profile_of
from hand_made import held, scalar, struct, table

from linesmith.analyzer.access.store import read_accesses
from linesmith.analyzer.attribution.identify import lines_known_to_hold
from linesmith.analyzer.layouts.containment import Containment
from linesmith.analyzer.model import ObjectArea, ObjectKind


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
