# SPDX-License-Identifier: GPL-2.0-or-later
"""What functions and instructions really touch decides where what they declare leaves several types open.

``touching.c``: an ``account`` has its balance at 32, a ``customer`` its visits; both hold a ``link`` at 40.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from linesmith.analyzer.access import AccessMap, accesses_in, read_accesses
from linesmith.analyzer.attribution.evidence import functions_asked
from linesmith.analyzer.dwarf import operands, read_layouts, touched
from linesmith.analyzer.findings import findings
from linesmith.analyzer.model import (
    Access,
    AccessKind,
    Agreement,
    Finding,
    ObjectArea,
    ObjectKind,
    Outcome,
    Profile,
    SharedLine,
    TriageKind,
)
from linesmith.analyzer.sharing.triage import doubted

SOURCE = Path(__file__).with_name("touching.c")
LINE = 0x1000


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("touching") / "touching.o"
    subprocess.run(["gcc", "-g", "-O1", "-c", str(SOURCE), "-o", str(target)], check=True)
    return target


@pytest.fixture(scope="module")
def accesses(program: Path) -> AccessMap:
    return read_accesses(program).accesses


def load(offset: int, function: str, code_address: int | None = None, hitm: int = 100) -> Access:
    return Access(offset, function, hitm_local=hitm, code_address=code_address)


def store(offset: int, function: str) -> Access:
    return Access(offset, function, hitm_local=0, stores_l1_hit=100)


def explain(program: Path, accesses: AccessMap | None, *sampled: Access, areas: tuple[ObjectArea, ...] = ()) -> Finding:
    line = SharedLine(0, LINE, sampled, hitm_local=sum(access.contended for access in sampled))
    profile = Profile("test", "", "hitm", (line,), areas=areas)
    asked = functions_asked(profile)
    layouts = read_layouts(program).layouts
    said = touched(program, *asked), operands(program, *asked)
    return findings(profile, layouts, *said, accesses=accesses, same_build=True)[0]


def slab(name: str, size: int, *types: str) -> ObjectArea:
    return ObjectArea(ObjectKind.SLAB, name, LINE, size, size, 1, types)


def instruction(accesses: AccessMap, function: str, path: str, kind: AccessKind = AccessKind.READ) -> int:
    """The address of the instruction of ``function`` that touches the member called ``path``."""
    found = (one for each in accesses_in(function, accesses) for one in each.accesses)
    return next(one.address for one in found if one.path == path and one.kind is kind)


def test_what_a_function_touches_outweighs_what_it_declares(program: Path, accesses: AccessMap) -> None:
    sampled = load(32, "read_balance"), store(32, "pay")
    assert explain(program, None, *sampled).objects[0].outcome is Outcome.CANNOT_TELL
    one = explain(program, accesses, *sampled).objects[0]
    assert (one.type, one.start, one.outcome) == ("account", 0, Outcome.RESOLVED)


def test_a_place_that_is_touched_by_code_of_another_place_is_told(program: Path, accesses: AccessMap) -> None:
    """In the build of the report the balance may lie at 8; here the function touches it at 32 and nothing else."""
    fitting = load(0x20, "read_balance"), load(0x28, "unlink_account"), load(0x30, "unlink_account")
    assert explain(program, accesses, *fitting).objects[0].reason == ""
    one = explain(program, accesses, *fitting, load(8, "pay")).objects[0]
    assert (one.type, one.start, one.outcome) == ("account", 0, Outcome.RESOLVED)
    assert one.reason == one.doubt == "what is touched at 0x8 hardly fits it: the type may be laid out otherwise there"


def test_the_member_that_stands_at_such_a_place_is_named_with_a_question_mark(
    program: Path, accesses: AccessMap
) -> None:
    fitting = load(0x20, "read_balance"), load(0x28, "unlink_account"), load(0x30, "unlink_account")
    line = explain(program, accesses, *fitting, load(8, "pay"))
    assert [one.called for one in line.members if one.doubted] == [f"{line.members[0].path} (?)"]
    assert doubted(line) == {line.members[0].top}


def test_a_layout_is_not_doubted_where_an_instruction_says_that_the_file_is_the_one_that_ran(
    program: Path, accesses: AccessMap
) -> None:
    known = load(0x20, "read_balance", instruction(accesses, "read_balance", "balance"))
    one = explain(program, accesses, known, load(0x28, "unlink_account"), load(8, "pay")).objects[0]
    assert (one.type, one.start, one.outcome) == ("account", 0, Outcome.RESOLVED)
    assert (one.reason, one.misfits) == ("", ())


def test_a_sampled_store_is_met_by_one_that_writes(program: Path, accesses: AccessMap) -> None:
    one = explain(program, accesses, store(32, "pay")).objects[0]
    assert (one.type, one.start) == ("account", 0)


def test_code_that_knows_a_link_only_speaks_for_the_record_it_works_on(program: Path, accesses: AccessMap) -> None:
    one = explain(program, accesses, store(40, "unlink_account"), load(32, "read_balance")).objects[0]
    assert (one.type, one.start) == ("account", 0)


def test_code_whose_places_are_known_speaks_against_a_record_that_has_none_of_them_there(
    program: Path, accesses: AccessMap
) -> None:
    """Both records have a gate 8 bytes on; what removes areas knows the tree in front of the one, and no numbers."""
    sampled = load(0, "remove_area"), load(8, "enter"), store(16, "enter")
    one = explain(program, accesses, *sampled).objects[0]
    assert (one.type, one.start, one.outcome) == ("mapping", -80, Outcome.RESOLVED)
    assert one.runner_up is not None
    assert one.runner_up.type == "numbers"


def test_an_element_of_an_array_is_as_good_as_the_first(program: Path, accesses: AccessMap) -> None:
    found = explain(program, accesses, store(32, "pay_one"), areas=(slab("table", 456, "table"),))
    assert [member.path for member in found.members] == ["accounts[0].opened[3]"]
    third = ObjectArea(ObjectKind.SLAB, "table", LINE - 8 - 2 * 56, 456, 456, 1, ("table",))
    found = explain(program, accesses, store(32, "pay_one"), areas=(third,))
    assert [member.path for member in found.members] == ["accounts[2].balance"]
    assert found.members[0].write_inferred == "pay_one writes it"


def test_the_end_of_one_object_and_the_beginning_of_the_next_are_told(program: Path, accesses: AccessMap) -> None:
    found = explain(program, accesses, store(16, "visit"), load(16, "visit"), load(40, "rows"))
    assert [(one.type, one.start) for one in found.objects] == [("customer", -16), ("table", 40)]
    assert [member.path for member in found.members] == ["visits", "size"]
    assert TriageKind.SEVERAL_OBJECTS in found.triage.kinds


@pytest.mark.filterwarnings("error")
def test_a_function_that_only_reads_an_element_votes_by_what_it_declares_where_a_store_was_sampled(
    program: Path, accesses: AccessMap
) -> None:
    one = explain(program, accesses, store(32, "third_opened")).objects[0]
    assert one.outcome is Outcome.CANNOT_TELL
    assert {one.type, one.runner_up.type if one.runner_up else ""} == {"table"}


def test_a_function_that_writes_elsewhere_does_not_make_a_member_written(program: Path, accesses: AccessMap) -> None:
    found = explain(program, accesses, load(0, "pay"), areas=(slab("customer", 56, "customer"),))
    assert found.members[0].write_inferred == ""


def test_address_and_instruction_confirm_each_other(program: Path, accesses: AccessMap) -> None:
    code = instruction(accesses, "read_balance", "balance")
    found = explain(program, accesses, load(32, "read_balance", code), areas=(slab("accounts", 56, "account"),))
    assert found.agreements == ((Agreement.CONFIRMED, 1),)
    assert found.members[0].instructions == ()


def test_address_and_instruction_that_disagree_are_told(program: Path, accesses: AccessMap) -> None:
    code = instruction(accesses, "read_balance", "balance")
    found = explain(program, accesses, load(32, "read_balance", code), areas=(slab("people", 56, "customer"),))
    assert found.agreements == ((Agreement.DISAGREE, 1),)
    assert [(one.path, one.instructions) for one in found.members] == [("visits", ("struct account.balance",))]
    assert found.objects[0].reason == "by its address; the functions seen seem to work on other types"


def test_the_instruction_names_the_type_where_a_cache_serves_several(program: Path, accesses: AccessMap) -> None:
    code = instruction(accesses, "read_balance", "name[1]")
    found = explain(program, accesses, load(8, "read_balance", code), areas=(slab("kmalloc-64", 64),))
    assert (found.objects[0].type, found.objects[0].start) == ("customer", 0)
    assert found.agreements == ((Agreement.BY_INSTRUCTION, 1),)


def test_every_access_is_counted_once(program: Path, accesses: AccessMap) -> None:
    code = instruction(accesses, "read_balance", "balance")
    sampled = load(32, "read_balance", code), load(32, "read_balance", 1), load(0x30, "who_knows")
    found = explain(program, accesses, *sampled, areas=(slab("accounts", 48, "account"),))
    assert sum(count for _, count in found.agreements) == len(sampled)


def test_who_only_reads_a_lock_does_not_make_it_written(program: Path, accesses: AccessMap) -> None:
    clock = slab("clock", 16, "clock")
    reader = explain(program, accesses, load(0, "read_clock"), areas=(clock,)).members[0]
    assert (reader.path, reader.lock, reader.write_inferred) == ("seq", True, "")
    writer = explain(program, accesses, load(0, "read_clock"), load(0, "set_clock"), areas=(clock,)).members[0]
    assert writer.write_inferred == "taking or releasing a lock writes it"
