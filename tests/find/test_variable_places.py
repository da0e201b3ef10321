# SPDX-License-Identifier: GPL-2.0-or-later
"""A variable of the very build that was sampled lies where its symbol says: named by its address, with one phase.

``globals.c`` is linked, and a report is written as perf would of the program moved as a whole.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from linesmith.analyzer.access import AccessMap, accesses_in, read_accesses
from linesmith.analyzer.addresses.elf_symbols import ElfSymbols, read_symbols
from linesmith.analyzer.dwarf import Reading, read_layouts
from linesmith.analyzer.errors import NothingToSuggest
from linesmith.analyzer.explain import Explanation, explain, holding
from linesmith.analyzer.model import Access, Candidate, LineObject, Outcome, Profile, SharedLine, VariableRow
from linesmith.analyzer.report.elements import objects_told
from linesmith.patches.located import Located
from linesmith.patches.verify import starts_of
from linesmith.tuner.candidates import propose

SOURCE = Path(__file__).with_name("globals.c")
MOVED = 0x5566_0000_0000
# Byte of a record that each function touches, and the variable; the second element of an array.
METER = {"take": 32, "give": 36, "least": 12, "wanted": 8}
RINGS = {"push": 24, "pull": 24 + 8}


class Program:
    """The program, and reports of it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.reading: Reading = read_layouts(path)
        self.accesses: AccessMap = read_accesses(path).accesses
        self.symbols: ElfSymbols = read_symbols(self.reading.identity)

    def at(self, variable: str) -> int:
        """Where a variable lies when the program runs."""
        return (self.symbols.address_of(variable) or 0) + MOVED

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
        """The rows as lines of 64 bytes."""
        lines: dict[int, list[Access]] = {}
        for address, access in (one for group in rows for one in group):
            lines.setdefault(address // 64 * 64, []).append(replace(access, offset=address % 64))
        shared = (
            SharedLine(rank, start, tuple(met), hitm_local=sum(one.contended for one in met))
            for rank, (start, met) in enumerate(lines.items())
        )
        return Profile("text", "", "hitm", tuple(shared))

    def explained(self, profile: Profile, wanted: str | None = None) -> Explanation:
        """What the profile is found to be about."""
        return explain(self.reading, self.path, profile, wanted, accesses=self.accesses)

    def clock(self, begin: int) -> list[tuple[int, Access]]:
        """Accesses to the clock that begins at an address."""
        return [
            (begin + offset, Access(0, function, hitm_local=50, code_address=each.address + MOVED))
            for function, offset in {"advance": 8, "now": 16}.items()
            for each in accesses_in(function, self.accesses)[0].accesses
        ]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    target = tmp_path_factory.mktemp("globals") / "globals"
    subprocess.run(["gcc", "-g", "-O1", "-fPIE", "-pie", str(SOURCE), "-o", str(target)], check=True)
    return Program(target)


@pytest.fixture(scope="module")
def explained(program: Program) -> Explanation:
    return program.explained(program.report(program.rows("meter", METER), program.rows("rings", RINGS)))


def object_of(type_: str, found: Explanation) -> LineObject:
    """The object of that type."""
    (one,) = (met for finding in found.findings for met in finding.objects if met.type == type_)
    return one


def candidates(program: Program, found: Explanation) -> tuple[Candidate, ...]:
    (finding,) = (one for one in found.findings if one.objects[0].type == "meter")
    return propose(finding, program.reading.layouts)


def test_a_report_of_this_very_build_names_variables_by_their_addresses(
    program: Program, explained: Explanation
) -> None:
    one = object_of("meter", explained)
    assert (one.outcome, one.origin, one.by_address) == (Outcome.RESOLVED, "global meter", True)
    assert one.row == VariableRow("meter", program.at("meter"), 60, 1)


def test_an_element_of_an_array_knows_its_row(program: Program, explained: Explanation) -> None:
    one = object_of("ring", explained)
    assert one.origin == "global rings[1]"
    assert one.row == VariableRow("rings", program.at("rings"), 24, 8)


def test_elements_of_an_array_of_plain_values_are_told_apart(program: Program) -> None:
    used = [row for place in range(4) for row in program.rows("used", {"count": 8 * place, "counted": 8 * place})]
    found = program.explained(program.report(program.rows("meter", METER), program.rows("rings", RINGS), used))
    (finding,) = (one for one in found.findings if one.objects[0].variable)
    assert [one.variable for one in finding.objects] == ["used[0]", "used[1]", "used[2]", "used[3]"]
    assert [(one.path, one.offset) for one in finding.members] == [(f"used[{n}]", 8 * n) for n in range(4)]
    assert finding.triage.sentence == (
        "false sharing between used[0], used[1], used[2], used[3]: pad or align the elements of used"
    )


def test_a_record_in_a_variable_whose_type_has_no_name_is_known_by_the_code(program: Program) -> None:
    rows = program.clock(program.at("core") + 8)
    found = program.explained(program.report(program.rows("meter", METER), program.rows("rings", RINGS), rows))
    one = object_of("clock", found)
    assert (one.outcome, one.origin, one.by_address) == (Outcome.RESOLVED, "global core", True)
    assert one.row == VariableRow("core", program.at("core") + 8, 32, 1)


HEAP = 0x7777_0000_1000


def clocks(found: Explanation) -> list[tuple[int | None, Outcome]]:
    """The lines whose first object is a clock, and how sure that is."""
    return [(one.address, one.objects[0].outcome) for one in found.findings if one.objects[0].type == "clock"]


def test_lines_in_doubt_are_no_more_of_a_variable_that_was_asked_for(program: Program) -> None:
    others = program.rows("meter", METER), program.rows("rings", RINGS)
    (at, advance), (_, now) = program.clock(HEAP)
    thin = [(at, advance), (at + 24, now)]
    alone = program.explained(program.report(*others, thin), "clock")
    assert clocks(alone) == [(HEAP, Outcome.RESOLVED)], "from one of two starts"
    variable = program.clock(program.at("core") + 8)
    beside = program.explained(program.report(*others, variable, thin), "clock")
    assert dict(clocks(beside))[program.at("core") // 64 * 64] is Outcome.RESOLVED
    assert dict(clocks(beside)).get(HEAP) is not Outcome.RESOLVED
    assert [one.address for one in holding(beside.findings, "clock")] == [program.at("core") // 64 * 64]


def test_suggest_tells_what_helps_elements_that_meet(program: Program) -> None:
    (finding,) = program.explained(few(program)).findings
    with pytest.raises(NothingToSuggest) as refused:
        propose(finding, program.reading.layouts)
    assert str(refused.value) == (
        "Line 0: moving members does not help, because elements of used meet. Instead: align each element to a line"
        " (8 -> 64 bytes each, 128 -> 1,024 in all); or give each thread or CPU a variable of its own, and add up on"
        " reading."
    )


def test_suggest_tells_of_a_plain_variable_that_it_has_no_members(program: Program) -> None:
    used = program.rows("here", {"count": 0, "counted": 0})
    found = program.explained(program.report(program.rows("meter", METER), program.rows("rings", RINGS), used))
    (finding,) = (one for one in found.findings if one.objects[0].variable)
    with pytest.raises(NothingToSuggest, match="because here is a variable without members"):
        propose(finding, program.reading.layouts)


def few(program: Program, moved: int = 0) -> Profile:
    """A report of two functions that touch one array, whose data lies ``moved`` bytes off."""
    places = range(0, 32, 8)
    rows = [row for place in places for row in program.rows("used", {"count": place, "counted": place})]
    return program.report([(at + moved, one) for at, one in rows])


def test_elements_are_listed_in_one_row(program: Program) -> None:
    (finding,) = program.explained(few(program)).findings
    (one,) = objects_told(finding.objects)
    assert (one.origin, one.start) == ("global used[0], used[1], used[2] and 1 more", 0)
    (record,) = program.explained(program.report(program.rows("meter", METER), program.rows("rings", RINGS))).findings[
        :1
    ]
    assert tuple(objects_told(record.objects)) == record.objects


def test_of_few_functions_the_variables_that_they_touch_tell_the_build(program: Program) -> None:
    (finding,) = program.explained(few(program)).findings
    assert [one.variable for one in finding.objects] == ["used[0]", "used[1]", "used[2]", "used[3]"]


@pytest.mark.parametrize("moved", [-64, 128, 4096])
def test_data_that_is_not_where_the_code_has_it_is_of_another_build(program: Program, moved: int) -> None:
    found = program.explained(few(program, moved))
    assert not found.profile.areas
    assert not found.profile.remarks


def test_a_report_of_another_build_names_no_variable(program: Program) -> None:
    rows = [*program.rows("meter", METER), *program.rows("rings", RINGS)]
    shifted = [(at, replace(one, code_address=(one.code_address or 0) + 16 * n)) for n, (at, one) in enumerate(rows)]
    found = program.explained(program.report(shifted))
    assert not found.profile.areas
    assert all(one.row is None for finding in found.findings for one in finding.objects)


def test_a_variable_has_one_place_in_which_members_meet_or_do_not(program: Program, explained: Explanation) -> None:
    phase = program.at("meter") % 128
    found = candidates(program, explained)
    assert found
    for one in found:
        assert one.granules == (128, 128)
        assert one.firsts is not None
        assert one.firsts[0] == phase
        assert {share for met in one.residuals for share in (met.before, met.after)} <= {0.0, 1.0}
        assert {proof.phases for proof in one.proofs if proof.place == "meter"} == {1}


def test_a_patch_counts_the_place_of_the_variable_too(program: Program, explained: Explanation) -> None:
    one = candidates(program, explained)[0]
    located = [Located(layout, layout, program.reading.layouts) for layout in (one.before, one.after)]
    before, _ = starts_of(one, *located)
    assert (before.step, before.first) == (128, program.at("meter") % 128)
