# SPDX-License-Identifier: GPL-2.0-or-later
"""What the code of the file touches, not only what it declares, decides the object on a line.

``touching.c``: an ``account`` has its balance at 32, a ``customer`` its visits; both hold a ``link`` at 40.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
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

from linesmith.analyzer.access.access_map import AccessMap
from linesmith.analyzer.access.questions import accesses_in
from linesmith.analyzer.access.store import read_accesses
from linesmith.analyzer.attribution.placement import is_of_another_build, with_linked_code
from linesmith.analyzer.layouts.dwarf import read_layouts
from linesmith.analyzer.model import Access, AccessKind, Agreement, Finding, ObjectArea, Profile
from linesmith.analyzer.sharing.analysis import explain
from linesmith.analyzer.sharing.triage import doubted


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


def found(built: Built, code: AccessMap | None, rows: str, areas: tuple[ObjectArea, ...] = ()) -> Finding:
    profile = profile_of(line_of(accesses(rows, instruction_in(code))), areas=areas)
    return explained(built("touching.c"), profile, accesses=code, same_build=True)[0]


@pytest.mark.filterwarnings("error")
@cases("by_code")
def test_by_what_code_touches(case: Case, built: Built, code: AccessMap) -> None:
    check(case, facts(found(built, code, case.given["rows"], areas_of(case.given.get("memory", "")))))


def test_without_the_code_the_declarations_leave_several_types(built: Built) -> None:
    assert facts(found(built, None, "32 read_balance, 32 pay 0/100"))["objects"] == "account at 0 (cannot tell)"


def test_a_doubted_member_is_so_as_a_whole(built: Built, code: AccessMap) -> None:
    line = found(built, code, "0x20 read_balance, 0x28 unlink_account, 0x30 unlink_account, 8 pay")
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
