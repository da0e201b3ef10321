# SPDX-License-Identifier: GPL-2.0-or-later
"""Which object lies on a line: by what the functions of a program can reach, by a snapshot, and of another build.

``program.c``: a ``mapping`` holds its tree at 24 and its lock at 40; ``file_node`` holds a mapping at 40.
``drifted.c``: ``pages`` holds its mask at 8, root and first at 16 and 24, number and index from 32, count at 56.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from c_source import compiled
from find.lines import (
    Built,
    Case,
    Instructions,
    accesses,
    areas_of,
    cases,
    check,
    explained,
    facts,
    line_of,
    profile_of,
)
from hand_made import held, scalar, struct, table
from linesmith_command import linesmith
from profiles.c2c_text import LineSpec, ReportSpec, RowSpec, render

from linesmith.analyzer.access.access_map import AccessMap
from linesmith.analyzer.access.questions import accesses_in
from linesmith.analyzer.access.store import read_accesses
from linesmith.analyzer.attribution.identify import lines_known_to_hold
from linesmith.analyzer.attribution.placement import is_of_another_build, with_linked_code
from linesmith.analyzer.layouts.containment import Containment
from linesmith.analyzer.layouts.dwarf import read_layouts
from linesmith.analyzer.model import Access, AccessKind, Agreement, Finding, ObjectArea, ObjectKind, Outcome, Profile
from linesmith.analyzer.report.findings import line_facts
from linesmith.analyzer.sharing.analysis import explain
from linesmith.analyzer.sharing.triage import doubted


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


def test_who_is_given_the_inner_lock_may_have_it_from_the_outer_one(tmp_path: Path) -> None:
    source = (
        "struct raw_lock { int word; }; struct lock { union { struct raw_lock raw; }; };\n"
        "struct list { long count; struct lock lock; };\n"
        "long add(struct list *to) { return to->count++; }\n"
        'void raw_unlock(struct raw_lock *lock) { __asm__ volatile("" :: "r"(lock) : "memory"); }\n'
    )
    unit = compiled(tmp_path, source, "-O1")
    (one,) = explained(unit, profile_of(line_of(accesses("0 add 50/50, 8 raw_unlock 0/100"))))[0].objects
    assert (one.type, one.start, one.score) == ("list", 0, 1.0)


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
    assert "swap root and last" in ran.stdout, ran.stderr
    doubt = "The line may not be of struct pages: its members are at other offsets"
    assert doubt in " ".join(ran.stdout.split())


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ("0x8 mask_of, 0x18 first_of, 0x20 last_of, 0x20 set_last 0/100, 0x20 add_last", "lie on different lines"),
        ("0x10 insert 0/100, 0x18 last_of, 0x18 number_of", "which members it has at 0x10, 0x18 is not known"),
    ],
)
def test_nothing_is_proposed_where_nothing_meets(
    rows: str, why: str, built: Built, tmp_path: Path, own_cache: Path
) -> None:
    ran = linesmith("suggest", built("drifted.c"), report(tmp_path, rows), cache=own_cache)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert why in " ".join(ran.stdout.split())


def test_no_move_is_proposed_where_most_waited_for_a_member_that_is_not_known(
    built: Built, tmp_path: Path, own_cache: Path
) -> None:
    seen = "0x8 mask_of, 0x10 insert 0/100, 0x18 first_of, 0x28 number_of 300"
    for more, proposed in (("", True), (", 0x38 own 0/900", False)):
        ran = linesmith("suggest", built("drifted.c"), report(tmp_path, seen + more), cache=own_cache)
        assert ("--candidate" in ran.stdout) is proposed


# What the code of the file touches, not only what it declares: an ``account`` has its balance at 32


@pytest.fixture(scope="module")
def code(built: Built) -> AccessMap:
    return read_accesses(built("touching.c")).accesses


def instruction_in(code: AccessMap | None) -> Instructions:
    """Where a function reads a member."""

    def instruction(function: str, path: str) -> int:
        assert code is not None
        touched = (one for each in accesses_in(function, code) for one in each.accesses)
        return next(one.address for one in touched if one.path == path and one.kind is AccessKind.READ)

    return instruction


def found_by_code(built: Built, code: AccessMap | None, rows: str, areas: tuple[ObjectArea, ...] = ()) -> Finding:
    profile = profile_of(line_of(accesses(rows, instruction_in(code))), areas=areas)
    return explained(built("touching.c"), profile, accesses=code, same_build=True)[0]


@pytest.mark.filterwarnings("error")
@cases("by_code")
def test_by_what_code_touches(case: Case, built: Built, code: AccessMap) -> None:
    check(case, facts(found_by_code(built, code, case.given["rows"], areas_of(case.given.get("memory", "")))))


def test_without_the_code_the_declarations_leave_several_types(built: Built) -> None:
    assert facts(found_by_code(built, None, "32 read_balance, 32 pay 0/100"))["objects"] == "account at 0 (cannot tell)"


def test_a_doubted_member_is_so_as_a_whole(built: Built, code: AccessMap) -> None:
    line = found_by_code(built, code, "0x20 read_balance, 0x28 unlink_account, 0x30 unlink_account, 8 pay")
    assert doubted(line) == {line.members[0].top}
    assert line.objects[0].doubt == line.objects[0].reason


FUNCTIONS = ("pay", "read_balance", "unlink_account", "pay_one")
EVERY = (*FUNCTIONS, "third_opened", "read_clock", "set_clock", "visit")
MOVED = 0x1F400000


def sampled(code: AccessMap, moved: int = MOVED, functions: Sequence[str] = FUNCTIONS) -> list[Access]:
    """A row for every access of these functions, as a report of this build moved by so much has them."""
    met = (one for name in functions for each in accesses_in(name, code) for one in each.accesses)
    return [Access(one.offset or 0, one.function, hitm_local=10, code_address=one.address + moved) for one in met]


def nameless(rows: Sequence[Access]) -> list[Access]:
    return [replace(one, function=None, kernel=True) for one in rows]


def linked(rows: Sequence[Access], code: AccessMap, kernel: bool = False) -> tuple[Profile, int | None]:
    return with_linked_code(profile_of(line_of(rows)), code, kernel)


def remarks(profile: Profile) -> list[str]:
    return [remark.text for remark in profile.remarks]


def test_addresses_that_are_all_moved_by_one_distance_are_of_the_build(code: AccessMap) -> None:
    profile, same = linked(sampled(code), code)
    assert same
    assert profile.lines[0].accesses == tuple(sampled(code, 0))
    assert remarks(profile)[0].endswith("moved by 0x1f400000: what each instruction touches is known")


def test_the_source_column_may_say_how_far_into_the_function(code: AccessMap) -> None:
    starts = {code.functions[number]: int(low) for number, low in enumerate(code.function_low)}
    told = [
        replace(row, source=f"{row.function}+{(row.code_address or 0) - MOVED - starts[row.function or '']}")
        for row in sampled(code)
    ]
    assert {row.function for row in told} == set(FUNCTIONS)
    assert linked(told, code)[1]
    assert not linked([replace(row, source=f"{row.function}+1") for row in told], code)[1]


@pytest.mark.parametrize(
    "options", ["-O2 -fcf-protection=none", "-O0", "-Os", "-O1 -fno-toplevel-reorder -falign-functions=64"]
)
def test_another_build_of_the_same_source_is_told_from_it(options: str, built: Built, code: AccessMap) -> None:
    other = read_accesses(built("touching.c", *options.split(), "-c")).accesses
    profile, same = linked(sampled(other), code)
    assert not same
    assert remarks(profile) == ["the code addresses are not those of the ELF file; functions are matched by name"]
    assert is_of_another_build(profile)


def test_what_does_not_prove_the_build(code: AccessMap) -> None:
    two_distances = sampled(code, MOVED, FUNCTIONS[:2]) + sampled(code, MOVED + 0x1000, FUNCTIONS[2:])
    assert not linked(two_distances, code)[1]
    assert not linked(sampled(code, MOVED, FUNCTIONS[2:]), code)[1], "of two functions"


def test_a_place_in_each_of_three_functions_tells_a_kernel_that_was_moved_as_kaslr_does(code: AccessMap) -> None:
    few = [sampled(code, MOVED, [function])[0] for function in FUNCTIONS[:3]]
    assert linked(few, code, kernel=True)[1] == MOVED
    assert not linked(few, code)[1], "a program is moved by any page"
    by_a_page = [replace(row, code_address=(row.code_address or 0) + 0x1000) for row in few]
    assert linked(by_a_page, code, kernel=True)[1] is None


def test_who_takes_an_entry_out_of_a_list_touches_others_of_any_record(built: Built, code: AccessMap) -> None:
    unlinking = (one for each in accesses_in("unlink_account", code) for one in each.accesses)
    stores = [
        Access(0x28 + (one.offset or 0), one.function, stores_l1_hit=100, code_address=one.address)
        for one in unlinking
        if one.type == "struct link"
    ]
    assert len(stores) == 2
    read = accesses("0x0 pay @name[0], 0x8 read_balance @name[1]", instruction_in(code))
    line = explained(built("touching.c"), profile_of(line_of([*read, *stores])), accesses=code, same_build=True)[0]
    assert facts(line)["objects"] == "customer at 0"


def test_an_object_has_each_member_once(built: Built) -> None:
    """Counters in a row are no object of one number that lies elsewhere at each of them."""
    program = built("rows.cc", "-O1", compiler="g++")
    met = [Access(at, "count_up", hitm_local=90, stores_l1_hit=9, kernel=False) for at in range(16, 56, 4)]
    row = read_accesses(program).accesses
    (finding,) = explain(read_layouts(program), profile_of(line_of(met)), map_of=lambda _: row).findings
    assert finding.objects[0].outcome is not Outcome.RESOLVED


def test_rows_of_other_files_neither_help_nor_harm(code: AccessMap) -> None:
    foreign = Access(0, "elsewhere", hitm_local=1, code_address=0x7F0000001234)
    profile, same = linked([*sampled(code), foreign], code)
    assert same
    assert profile.lines[0].accesses[-1].code_address is None


def test_instructions_of_the_build_tell_the_members(built: Built, code: AccessMap) -> None:
    program = built("touching.c")
    on_account = [row for row in sampled(code) if row.function != "pay_one"]
    explanation = explain(read_layouts(program), profile_of(line_of(on_account)), map_of=lambda _: code)
    assert dict(explanation.findings[0].agreements)[Agreement.BY_INSTRUCTION] > 0


def test_an_object_of_a_general_cache_is_one_of_its_type_from_then_on(built: Built, code: AccessMap) -> None:
    profile = profile_of(
        line_of(accesses("0x20 read_balance, 0x28 unlink_account")), areas=areas_of("slab any-64 0 64")
    )
    explanation = explain(read_layouts(built("touching.c")), profile, map_of=lambda _: code)
    assert [one.types for one in explanation.profile.areas] == [("account",)]


def test_a_kernel_without_symbols_is_known_by_its_code_addresses(code: AccessMap) -> None:
    profile, same = linked(nameless(sampled(code, functions=EVERY)), code, kernel=True)
    assert same
    assert [(one.function, one.code_address) for one in profile.lines[0].accesses] == [
        (one.function, one.code_address) for one in sampled(code, 0, EVERY)
    ]
    assert remarks(profile)[0].endswith("moved by 0x1f400000: it is taken for the same build")


def test_rows_that_tell_nothing_of_the_build_stay_as_they_are(code: AccessMap) -> None:
    for kernel, rows in (
        (False, [replace(row, code_address=None) for row in sampled(code)]),
        (True, nameless(sampled(code, MOVED + 1, EVERY))),  # no instructions that touch memory
        (True, nameless(sampled(code))[:10]),
    ):
        profile = profile_of(line_of(rows))
        assert with_linked_code(profile, code, kernel) == (profile, None)
