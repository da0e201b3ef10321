# SPDX-License-Identifier: GPL-2.0-or-later
"""Which object lies on a line: decided by what the functions of a really compiled program can reach.

``program.c``: a ``mapping`` holds its tree at 24 and its lock at 40; ``file_node`` holds a mapping at 40.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from linesmith.analyzer.attribution.evidence import functions_asked
from linesmith.analyzer.dwarf import operands, read_layouts, touched
from linesmith.analyzer.findings import findings
from linesmith.analyzer.model import Access, Finding, Outcome, Profile, SharedLine, TriageKind

SOURCE = Path(__file__).with_name("program.c")


@pytest.fixture(scope="module", params=["gcc", "clang-19"])
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program compiled by gcc and by clang; both must lead to the same answers."""
    target = tmp_path_factory.mktemp("program") / "program.o"
    subprocess.run([request.param, "-g", "-O1", "-c", str(SOURCE), "-o", str(target)], check=True)
    return target


def load(offset: int, function: str | None, hitm: int = 100, stores: int = 0) -> Access:
    return Access(offset, function, hitm_local=hitm, stores_l1_hit=stores)


ALL = (
    load(0x18, "tree_insert"),
    load(0x20, "tree_first"),
    load(0x28, "lock_slowpath"),
    load(0x30, "lock_spin_on_owner"),
)


def explain(program: Path, *accesses: Access, wanted: str | None = None) -> Finding:
    hitm = sum(access.contended for access in accesses)
    line = SharedLine(0, 0x1000, accesses, hitm_local=hitm, stores_l1_hit=sum(one.stores for one in accesses))
    profile = Profile("test", "", "hitm", (line,))
    layouts = read_layouts(program).layouts
    asked = functions_asked(profile)
    return findings(profile, layouts, touched(program, *asked), operands(program, *asked), wanted)[0]


def paths(finding: Finding) -> list[str]:
    return [member.path for member in finding.members]


def test_two_members_at_the_right_distance_name_the_record(program: Path) -> None:
    found = explain(program, *ALL)
    one = found.objects[0]
    assert (one.type, one.start, one.outcome) == ("mapping", 0, Outcome.RESOLVED)
    assert paths(found) == ["tree.root", "tree.leftmost", "lock.count", "lock.owner"]


def test_an_object_may_begin_before_the_line(program: Path) -> None:
    found = explain(program, load(0x8, "tree_insert"), load(0x18, "lock_slowpath"), load(0x20, "lock_spin_on_owner"))
    assert (found.objects[0].start, found.objects[0].phase) == (-16, 48)


def test_the_container_is_the_same_object_not_a_rival(program: Path) -> None:
    found = explain(program, *ALL)
    one = found.objects[0]
    assert one.containers == ("file_node",)
    assert one.runner_up is not None
    assert one.runner_up.type != "file_node"


def test_the_container_wins_when_something_outside_the_inner_record_was_touched(program: Path) -> None:
    accesses = (load(0x0, "touch_file"), load(0x28 + 0x18 - 40, "tree_insert"), load(0x28, "lock_slowpath"))
    found = explain(program, *accesses)
    assert found.objects[0].type in {"file_node", "mapping"}


def test_the_order_of_the_same_members_tells_two_records_apart(program: Path) -> None:
    found = explain(program, load(0x0, "lock_slowpath"), load(0x8, "lock_spin_on_owner"), load(0x18, "tree_insert"))
    assert (found.objects[0].type, found.objects[0].start) == ("other", 0)


def test_variables_of_inlined_functions_count(program: Path) -> None:
    found = explain(program, load(0x28, "update_share"), load(0x30, "update_share"))
    assert (found.objects[0].type, found.objects[0].start) == ("group", 0)
    assert paths(found) == ["load", "entities"]


def test_one_offset_that_two_types_explain_is_no_answer(program: Path) -> None:
    found = explain(program, load(0x28, "update_share", 5))
    one = found.objects[0]
    assert one.outcome is Outcome.CANNOT_TELL
    assert {one.type, one.runner_up.type if one.runner_up else ""} == {"group", "member_of"}


def test_a_lock_alone_names_no_owner(program: Path) -> None:
    found = explain(program, load(0x28, "lock_slowpath"), load(0x30, "lock_spin_on_owner"))
    assert found.objects[0].type == "sleep_lock"
    assert paths(found) == ["count", "owner"]


def test_functions_that_the_program_does_not_have_are_no_evidence(program: Path) -> None:
    found = explain(program, load(0x28, "elsewhere"))
    assert found.objects[0].outcome is Outcome.NO_EVIDENCE
    assert "elsewhere" in found.objects[0].reason
    assert paths(found) == ["0x28"]


def test_unresolved_symbols_are_no_evidence(program: Path) -> None:
    assert explain(program, load(0x28, None)).objects[0].outcome is Outcome.NO_EVIDENCE


def test_compiler_suffixes_of_symbols_do_not_matter(program: Path) -> None:
    found = explain(program, load(0x28, "update_share.isra.0"), load(0x30, "update_share.constprop.0"))
    assert found.objects[0].type == "group"


def test_false_sharing_over_lock_contention(program: Path) -> None:
    found = explain(
        program, load(0x18, "tree_insert", 100), load(0x28, "lock_slowpath", 200), load(0x30, "lock_spin_on_owner", 700)
    )
    assert found.triage.kinds == (TriageKind.FALSE_SHARING, TriageKind.LOCK_CONTENTION)
    pair = found.triage.pairs[0]
    assert (pair.first, pair.second, pair.writer, pair.weight) == ("tree", "lock", "lock", 1000)


def test_every_access_ends_in_one_outcome(program: Path) -> None:
    found = explain(program, load(0x18, "tree_insert"), load(0x28, "lock_slowpath"), load(0x3C, None))
    assert sum(count for _, count in found.outcomes) == 3


def test_asking_for_a_type_settles_what_cannot_be_told(program: Path) -> None:
    found = explain(program, load(0x28, "update_share", 5), wanted="group")
    one = found.objects[0]
    assert (one.type, one.start, one.outcome) == ("group", 0, Outcome.RESOLVED)
    assert one.asked_for
    assert one.reason.startswith("because group was asked for")


def test_asking_for_a_type_does_not_overrule_a_sure_answer(program: Path) -> None:
    one = explain(program, *ALL, wanted="other").objects[0]
    assert (one.type, one.asked_for) == ("mapping", False)


def test_asking_for_the_container_sees_the_object_from_outside(program: Path) -> None:
    found = explain(program, *ALL, wanted="file_node")
    assert (found.objects[0].type, found.objects[0].start) == ("file_node", -40)
    assert paths(found)[0] == "mapping.tree.root"


def test_a_line_without_names_tells_both_that_could_have_named_its_functions(program: Path) -> None:
    found = explain(program, Access(0x8, None, hitm_local=5))
    assert found.objects[0].reason == (
        "no function of this line is named: its code is not in the ELF file, and the profile has no name for it"
    )
