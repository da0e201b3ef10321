# SPDX-License-Identifier: GPL-2.0-or-later
"""A pasted report whose code addresses fit the ELF file, all moved by one distance, is of that build; no other is."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from linesmith.analyzer.access import AccessMap, accesses_in, read_accesses
from linesmith.analyzer.addresses.same_code import is_of_another_build, with_linked_code
from linesmith.analyzer.dwarf import read_layouts
from linesmith.analyzer.explain import explain
from linesmith.analyzer.model import Access, Agreement, Profile, SharedLine

SOURCE = Path(__file__).with_name("touching.c")
FUNCTIONS = ("pay", "read_balance", "unlink_account", "pay_one")
EVERY = (*FUNCTIONS, "third_opened", "read_clock", "set_clock", "visit")
MOVED = 0x1F400000


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    folder = tmp_path_factory.mktemp("same_code")

    def compile_(name: str, *options: str) -> Path:
        target = folder / name
        subprocess.run(["gcc", "-g", "-O1", *options, "-c", str(SOURCE), "-o", str(target)], check=True)
        return target

    return compile_


def rows(accesses: AccessMap, moved: int, functions: Sequence[str] = FUNCTIONS) -> list[Access]:
    """A row for every access of these functions, as a report of this build moved by so much has them."""
    found = (one for name in functions for each in accesses_in(name, accesses) for one in each.accesses)
    return [Access(one.offset or 0, one.function, hitm_local=10, code_address=one.address + moved) for one in found]


def report(sampled: Sequence[Access]) -> Profile:
    return Profile("text", "", "hitm", (SharedLine(0, 0x1000, tuple(sampled), hitm_local=10 * len(sampled)),))


def told(profile: Profile) -> list[str]:
    return [remark.text for remark in profile.remarks]


def test_addresses_that_are_all_moved_by_one_distance_are_of_the_build(compiled: Callable[..., Path]) -> None:
    accesses = read_accesses(compiled("own.o")).accesses
    profile, same = with_linked_code(report(rows(accesses, MOVED)), accesses, kernel=False)
    assert same
    assert [one.code_address for one in profile.lines[0].accesses] == [
        one.code_address for one in rows(accesses, moved=0)
    ]
    assert told(profile)[0].endswith("moved by 0x1f400000: what each instruction touches is known")


def test_the_source_column_may_say_how_far_into_the_function(compiled: Callable[..., Path]) -> None:
    accesses = read_accesses(compiled("own.o")).accesses
    begin = {name: min(one.code_address or 0 for one in rows(accesses, 0, [name])) for name in FUNCTIONS}
    starts = {accesses.functions[number]: int(low) for number, low in enumerate(accesses.function_low)}
    sampled = [
        replace(row, source=f"{row.function}+{(row.code_address or 0) - MOVED - starts[row.function or '']}")
        for row in rows(accesses, MOVED)
    ]
    assert begin.keys() == set(FUNCTIONS)
    assert with_linked_code(report(sampled), accesses, kernel=False)[1]
    shifted = [replace(row, source=f"{row.function}+1") for row in sampled]
    assert not with_linked_code(report(shifted), accesses, kernel=False)[1]


def test_another_build_of_the_same_source_is_told_from_it(compiled: Callable[..., Path]) -> None:
    own = read_accesses(compiled("own.o")).accesses
    for options in (
        ("-O2", "-fcf-protection=none"),
        ("-O0",),
        ("-Os",),
        ("-fno-toplevel-reorder", "-falign-functions=64"),
    ):
        other = read_accesses(compiled("other.o", *options)).accesses
        profile, same = with_linked_code(report(rows(other, MOVED)), own, kernel=False)
        assert not same, options
        assert told(profile) == ["the code addresses are not those of the ELF file; functions are matched by name"]
        assert is_of_another_build(profile)


def test_a_distance_that_is_not_one_is_no_distance(compiled: Callable[..., Path]) -> None:
    accesses = read_accesses(compiled("own.o")).accesses
    sampled = rows(accesses, MOVED, FUNCTIONS[:2]) + rows(accesses, MOVED + 0x1000, FUNCTIONS[2:])
    assert not with_linked_code(report(sampled), accesses, kernel=False)[1]


def test_two_functions_are_not_enough(compiled: Callable[..., Path]) -> None:
    accesses = read_accesses(compiled("own.o")).accesses
    assert not with_linked_code(report(rows(accesses, MOVED, FUNCTIONS[2:])), accesses, kernel=False)[1]


def test_rows_of_other_files_neither_help_nor_harm(compiled: Callable[..., Path]) -> None:
    accesses = read_accesses(compiled("own.o")).accesses
    foreign = Access(0, "elsewhere", hitm_local=1, code_address=0x7F0000001234)
    profile, same = with_linked_code(report([*rows(accesses, MOVED), foreign]), accesses, kernel=False)
    assert same
    assert profile.lines[0].accesses[-1].code_address is None


def test_a_report_without_code_addresses_gets_no_remark(compiled: Callable[..., Path]) -> None:
    accesses = read_accesses(compiled("own.o")).accesses
    bare = report([replace(row, code_address=None) for row in rows(accesses, MOVED)])
    assert with_linked_code(bare, accesses, kernel=False) == (bare, None)


def test_instructions_of_the_build_tell_the_members(compiled: Callable[..., Path]) -> None:
    program = compiled("own.o")
    accesses = read_accesses(program).accesses
    on_account = [row for row in rows(accesses, MOVED) if row.function != "pay_one"]
    found = explain(read_layouts(program), program, report(on_account), accesses=accesses)
    assert dict(found.findings[0].agreements)[Agreement.BY_INSTRUCTION] > 0


def nameless(sampled: Sequence[Access]) -> list[Access]:
    return [replace(one, function=None, kernel=True) for one in sampled]


def test_a_kernel_without_symbols_is_told_by_its_code_addresses(compiled: Callable[..., Path]) -> None:
    accesses = read_accesses(compiled("own.o")).accesses
    named = rows(accesses, 0, EVERY)
    profile, same = with_linked_code(report(nameless(rows(accesses, MOVED, EVERY))), accesses, kernel=True)
    assert same
    assert [(one.function, one.code_address) for one in profile.lines[0].accesses] == [
        (one.function, one.code_address) for one in named
    ]
    assert told(profile)[0].endswith("moved by 0x1f400000: it is taken for the same build")


def test_addresses_without_names_that_are_no_accesses_tell_nothing(compiled: Callable[..., Path]) -> None:
    accesses = read_accesses(compiled("own.o")).accesses
    shifted = [replace(one, code_address=(one.code_address or 0) + 1) for one in nameless(rows(accesses, MOVED, EVERY))]
    given = report(shifted)
    assert with_linked_code(given, accesses, kernel=True) == (given, None)


def test_few_addresses_without_names_tell_nothing(compiled: Callable[..., Path]) -> None:
    accesses = read_accesses(compiled("own.o")).accesses
    given = report(nameless(rows(accesses, MOVED))[:10])
    assert with_linked_code(given, accesses, kernel=True) == (given, None)
