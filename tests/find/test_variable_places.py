# SPDX-License-Identifier: GPL-2.0-or-later
"""A variable of the very build that was sampled lies where its symbol says: named by its address, with one phase.

``globals.c`` is linked, and a report is written as perf would of the program moved as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from find.lines import Build, Built

from linesmith.analyzer.access.questions import accesses_in
from linesmith.analyzer.base.errors import NothingToSuggest
from linesmith.analyzer.model import Access, CacheLine, LineObject, Outcome, Profile, VariableRow
from linesmith.analyzer.sharing.analysis import Explanation, explain, narrowed
from linesmith.patches.edit.verify import Located, starts_of
from linesmith.tuner.propose.candidates import propose

MOVED = 0x5566_0000_0000
# Byte of a record that each function touches, and the variable; the second element of an array.
METER = {"take": 32, "give": 36, "least": 12, "wanted": 8}
RINGS = {"push": 24, "pull": 24 + 8}


class Program(Build):
    """The program, and reports of it."""

    def at(self, variable: str) -> int:
        return self.symbols[variable] + MOVED

    def rows(self, variable: str, offsets: dict[str, int]) -> list[tuple[int, Access]]:
        """Addresses with the accesses of these functions to the variable."""
        found = []
        for function, offset in offsets.items():
            for each in accesses_in(function, self.accesses)[0].accesses:
                if each.variable == variable:
                    stores = 90 if each.kind.value != "read" else 0
                    access = Access(0, function, hitm_local=50, stores_l1_hit=stores, code_address=each.address + MOVED)
                    found.append((self.at(variable) + offset, access))
        return found

    def report(self, *rows: Sequence[tuple[int, Access]]) -> Profile:
        lines: dict[int, list[Access]] = {}
        for address, access in (one for group in rows for one in group):
            lines.setdefault(address // 64 * 64, []).append(replace(access, offset=address % 64))
        shared = (
            CacheLine(rank, start, tuple(met), hitm_local=sum(one.contended for one in met))
            for rank, (start, met) in enumerate(lines.items())
        )
        return Profile("text", "", "hitm", tuple(shared))

    def explained(self, profile: Profile) -> Explanation:
        """What the profile is found to be about."""
        return explain(self.reading, profile, map_of=lambda _: self.accesses)

    def clock(self, begin: int) -> list[tuple[int, Access]]:
        """Accesses to the clock that begins at an address."""
        return [
            (begin + offset, Access(0, function, hitm_local=50, code_address=each.address + MOVED))
            for function, offset in {"advance": 8, "now": 16}.items()
            for each in accesses_in(function, self.accesses)[0].accesses
        ]


@pytest.fixture(scope="module")
def program(built: Built) -> Program:
    return Program(built("globals.c", "-O1", "-fPIE", "-pie"))


@pytest.fixture(scope="module")
def explained(program: Program) -> Explanation:
    return with_others(program)


def with_others(program: Program, *more: Sequence[tuple[int, Access]]) -> Explanation:
    """Of enough functions, on a record and an array of records, that the build is known; and of more."""
    others = program.rows("meter", METER), program.rows("rings", RINGS)
    return program.explained(program.report(*others, *more))


def object_of(type_: str, found: Explanation) -> LineObject:
    (one,) = (met for finding in found.findings for met in finding.objects if met.type == type_)
    return one


def counters(program: Program) -> list[tuple[int, Access]]:
    """Two functions that touch four elements of an array of plain values."""
    return [row for at in range(0, 32, 8) for row in program.rows("used", {"count": at, "counted": at})]


@pytest.mark.parametrize(
    ("type_", "origin", "variable", "begin", "stride", "count"),
    [
        ("meter", "global meter", "meter", 0, 60, 1),
        ("ring", "global rings[1]", "rings", 0, 24, 8),
        ("clock", "global core", "core", 8, 40, 1),  # within a type without a name
    ],
)
def test_a_report_of_this_very_build_names_variables_by_their_addresses(
    type_: str, origin: str, variable: str, begin: int, stride: int, count: int, program: Program
) -> None:
    one = object_of(type_, with_others(program, program.clock(program.at("core") + 8)))
    assert (one.outcome, one.origin, one.by_address) == (Outcome.RESOLVED, origin, True)
    assert one.row == VariableRow(variable, program.at(variable) + begin, stride, count)


ELEMENTS = ["used[0]", "used[1]", "used[2]", "used[3]"]


def test_elements_of_an_array_of_plain_values_are_told_apart(program: Program) -> None:
    (finding,) = (one for one in with_others(program, counters(program)).findings if one.objects[0].variable)
    assert [one.variable for one in finding.objects] == ELEMENTS
    assert [(one.path, one.offset) for one in finding.members] == [(f"used[{n}]", 8 * n) for n in range(4)]
    sentence = "false sharing between used[0], used[1], used[2], used[3]: pad or align the elements of used"
    assert finding.triage.sentence == sentence


HEAP = 0x7777_0000_1000


def clocks(found: Explanation) -> dict[int | None, Outcome]:
    """The lines whose first object is a clock, and how sure that is."""
    return {one.address: one.objects[0].outcome for one in found.findings if one.objects[0].type == "clock"}


def test_lines_in_doubt_are_no_more_of_a_variable(program: Program) -> None:
    """Its type is a filter: what is in doubt does not become one because it is named."""
    (at, advance), (_, now) = program.clock(HEAP)
    thin = [(at, advance), (at + 24, now)]
    assert clocks(with_others(program, thin)).get(HEAP) is not Outcome.RESOLVED, "from one of two starts"
    beside = with_others(program, program.clock(program.at("core") + 8), thin)
    line = program.at("core") // 64 * 64
    assert clocks(beside)[line] is Outcome.RESOLVED
    shown = narrowed(beside, "clock").findings
    assert [one.address for one in shown] == [line]
    assert set(shown) <= set(beside.findings)


def test_of_few_functions_the_variables_that_they_touch_tell_the_build(program: Program) -> None:
    (finding,) = program.explained(program.report(counters(program))).findings
    assert [one.variable for one in finding.objects] == ELEMENTS
    with pytest.raises(NothingToSuggest) as refused:
        propose(finding, program.reading.layouts)
    assert str(refused.value) == (
        "Line 0: moving members does not help, because elements of used meet. Instead: align each element to a line"
        " (8 -> 64 bytes each, 128 -> 1,024 in all); or give each thread or CPU a variable of its own, and add up on"
        " reading."
    )


def test_suggest_tells_of_a_plain_variable_that_it_has_no_members(program: Program) -> None:
    found = with_others(program, program.rows("here", {"count": 0, "counted": 0}))
    (finding,) = (one for one in found.findings if one.objects[0].variable)
    with pytest.raises(NothingToSuggest, match="because here is a variable without members"):
        propose(finding, program.reading.layouts)


@pytest.mark.parametrize("moved", [-64, 128, 4096])
def test_data_that_is_not_where_the_code_has_it_is_of_another_build(program: Program, moved: int) -> None:
    found = program.explained(program.report([(at + moved, one) for at, one in counters(program)]))
    assert (found.profile.areas, found.profile.remarks) == ((), ())


def test_a_report_of_another_build_names_no_variable(program: Program) -> None:
    rows = [*program.rows("meter", METER), *program.rows("rings", RINGS)]
    shifted = [(at, replace(one, code_address=(one.code_address or 0) + 16 * n)) for n, (at, one) in enumerate(rows)]
    found = program.explained(program.report(shifted))
    assert not found.profile.areas
    assert all(one.row is None for finding in found.findings for one in finding.objects)


def test_a_variable_has_one_place_in_which_members_meet_or_do_not(program: Program, explained: Explanation) -> None:
    phase = program.at("meter") % 128
    (finding,) = (one for one in explained.findings if one.objects[0].type == "meter")
    found = propose(finding, program.reading.layouts)
    assert found
    for one in found:
        assert one.firsts is not None
        assert (one.granules, one.firsts[0]) == ((128, 128), phase)
        assert {share for met in one.residuals for share in (met.before, met.after)} <= {0.0, 1.0}
        assert {proof.phases for proof in one.proofs if proof.place == "meter"} == {1}
    located = [Located(layout, layout, program.reading.layouts) for layout in (found[0].before, found[0].after)]
    before, _ = starts_of(found[0], *located)
    assert (before.step, before.first) == (128, phase), "a patch counts the place too"
