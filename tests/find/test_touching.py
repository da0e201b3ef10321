# SPDX-License-Identifier: GPL-2.0-or-later
"""What the code of the file touches, not only what it declares, decides the object on a line.

``touching.c``: an ``account`` has its balance at 32, a ``customer`` its visits; both hold a ``link`` at 40.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from find.lines import Built, Case, accesses, areas_of, cases, check, explained, facts, line_of, profile_of

from linesmith.analyzer.access import AccessMap, accesses_in, read_accesses
from linesmith.analyzer.addresses.same_code import is_of_another_build, with_linked_code
from linesmith.analyzer.dwarf import read_layouts
from linesmith.analyzer.explain import explain
from linesmith.analyzer.model import Access, AccessKind, Agreement, Finding, ObjectArea, Profile
from linesmith.analyzer.sharing.triage import doubted


@pytest.fixture(scope="module")
def code(built: Built) -> AccessMap:
    return read_accesses(built("touching.c")).accesses


def found(built: Built, code: AccessMap | None, rows: str, areas: tuple[ObjectArea, ...] = ()) -> Finding:
    def instruction(function: str, path: str) -> int:
        assert code is not None
        touched = (one for each in accesses_in(function, code) for one in each.accesses)
        return next(one.address for one in touched if one.path == path and one.kind is AccessKind.READ)

    profile = profile_of(line_of(accesses(rows, instruction)), areas=areas)
    return explained(built("touching.c"), profile, accesses=code, same_build=True)[0]


@pytest.mark.filterwarnings("error")
@cases("""
what a function touches outweighs what it declares
    32 read_balance, 32 pay 0/100
    => objects: account at 0
a place that is touched by code of another place is named with a question mark
    0x20 read_balance, 0x28 unlink_account, 0x30 unlink_account, 8 pay
    => objects: account at 0 | reason: what is touched at 0x8 hardly fits it: the type may be laid out otherwise there
    => members: opened[1] (?), balance, link.next, link.previous
no place is doubted where all fit
    0x20 read_balance, 0x28 unlink_account, 0x30 unlink_account
    => reason: none
a layout is not doubted where an instruction says that the file is the one that ran
    0x20 read_balance @balance, 0x28 unlink_account, 8 pay
    => objects: account at 0 | reason: none | misfits: 0
a sampled store is met by one that writes
    32 pay 0/100
    => objects: account at 0
code that knows a link only speaks for the record it works on
    40 unlink_account 0/100, 32 read_balance
    => objects: account at 0
code whose places are known speaks against a record that has none of them there
    0 remove_area, 8 enter, 16 enter 0/100
    => objects: mapping at -80 | runner-up: numbers
an element of an array is as good as the first
    32 pay_one 0/100 | memory: slab table 0 456 table
    => members: accounts[0].opened[3]
the third element of an array
    32 pay_one 0/100 | memory: slab table -120 456 table
    => members: accounts[2].balance | written: accounts[2].balance: pay_one writes it
the end of one object and the beginning of the next
    16 visit 0/100, 16 visit, 40 rows
    => objects: customer at -16; table at 40 | members: visits, size
    => kinds: false sharing, true sharing, several objects
a function that only reads an element votes by what it declares where a store was sampled
    32 third_opened 0/100
    => objects: table at 32 (cannot tell) | runner-up: table
a function that writes elsewhere does not make a member written
    0 pay | memory: slab customer 0 56 customer
    => written: none
address and instruction confirm each other
    32 read_balance @balance | memory: slab accounts 0 56 account
    => agreements: 1 confirmed | instructions: none
address and instruction that disagree
    32 read_balance @balance | memory: slab people 0 56 customer
    => agreements: 1 disagree | members: visits | instructions: struct account.balance
    => reason: by its address; the functions seen seem to work on other types
the instruction names the type where a cache serves several
    8 read_balance @name[1] | memory: slab kmalloc-64 0 64
    => objects: customer at 0 | agreements: 1 inferred by instruction
every access is counted once
    32 read_balance @balance, 32 read_balance, 0x30 who_knows | memory: slab accounts 0 48 account
    => agreements: 1 inferred by instruction, 2 known by neither
who only reads a lock does not make it written
    0 read_clock | memory: slab clock 0 16 clock
    => members: seq | written: none
who takes a lock writes it
    0 read_clock, 0 set_clock | memory: slab clock 0 16 clock
    => written: seq: taking or releasing a lock writes it
""")
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
    explanation = explain(read_layouts(program), program, profile_of(line_of(on_account)), accesses=code)
    assert dict(explanation.findings[0].agreements)[Agreement.BY_INSTRUCTION] > 0


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
