# SPDX-License-Identifier: GPL-2.0-or-later
"""Objects by address: a snapshot knows the start, the code only confirms or chooses the type.

``program.c``: a ``mapping`` (its tree at 24, its lock at 40); ``file_node`` holds a mapping at 40.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from linesmith.analyzer.access import read_accesses
from linesmith.analyzer.attribution.evidence import functions_asked
from linesmith.analyzer.dwarf import operands, read_layouts, touched
from linesmith.analyzer.findings import findings
from linesmith.analyzer.model import Access, Finding, ObjectArea, ObjectKind, Outcome, Profile, SharedLine

SOURCE = Path(__file__).with_name("program.c")
LINE = 0x1000


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("program") / "program.o"
    subprocess.run(["gcc", "-g", "-O1", "-c", str(SOURCE), "-o", str(target)], check=True)
    return target


def slab(name: str, start: int, size: int, *types: str) -> ObjectArea:
    return ObjectArea(ObjectKind.SLAB, name, LINE + start, size, size, 1, types)


def explain(program: Path, areas: tuple[ObjectArea, ...], *accesses: Access, wanted: str | None = None) -> Finding:
    line = SharedLine(0, LINE, accesses, hitm_local=sum(access.contended for access in accesses))
    profile = Profile("test", "", "hitm", (line,), areas=areas)
    asked = functions_asked(profile)
    layouts = read_layouts(program).layouts
    return findings(profile, layouts, touched(program, *asked), operands(program, *asked), wanted)[0]


def load(offset: int, function: str | None, hitm: int = 100) -> Access:
    return Access(offset, function, hitm_local=hitm)


def test_a_cache_of_one_type_names_the_object_even_of_unknown_functions(program: Path) -> None:
    one = explain(program, (slab("mapping", -8, 128, "mapping"),), load(0x10, "who_knows")).objects[0]
    assert (one.type, one.start, one.outcome) == ("mapping", -8, Outcome.RESOLVED)
    assert one.origin == "slab mapping (128 bytes)"


def test_the_nested_record_that_holds_all_accesses_is_named(program: Path) -> None:
    found = explain(program, (slab("nodes", -40, 192, "file_node"),), load(0x18, "tree_insert"), load(0x28, None))
    one = found.objects[0]
    assert (one.type, one.start, one.containers) == ("mapping", 0, ("file_node",))
    assert [member.path for member in found.members] == ["tree.root", "lock.count"]


def test_the_outer_record_is_named_when_it_is_asked_for(program: Path) -> None:
    areas = (slab("nodes", -40, 192, "file_node"),)
    one = explain(program, areas, load(0x18, "tree_insert"), wanted="file_node").objects[0]
    assert (one.type, one.start) == ("file_node", -40)


def test_a_cache_of_several_types_leaves_the_type_to_the_functions(program: Path) -> None:
    found = explain(program, (slab("kmalloc-128", 0, 128),), load(0x18, "tree_insert"), load(0x28, "lock_slowpath"))
    one = found.objects[0]
    assert (one.type, one.start) == ("mapping", 0)
    assert one.reason == "start by the snapshot, type by the functions seen"


def test_a_type_that_does_not_fit_at_the_known_start_is_doubted(program: Path) -> None:
    found = explain(program, (slab("kmalloc-128", -16, 128),), load(0x18, "tree_insert"), load(0x28, "lock_slowpath"))
    assert found.objects[0].outcome is Outcome.CANNOT_TELL


def test_functions_that_work_on_other_types_are_told(program: Path) -> None:
    one = explain(program, (slab("mapping", 0, 128, "mapping"),), load(0x0, "lock_slowpath")).objects[0]
    assert one.type == "mapping"
    assert one.reason == "by its address; the functions seen seem to work on other types"


def test_a_plain_variable_stands_by_its_symbol(program: Path) -> None:
    area = ObjectArea(ObjectKind.GLOBAL, "jiffies_64", LINE + 8, 8, 8)
    found = explain(program, (area,), load(8, "tick"), load(0xC, "tick"))
    assert [member.path for member in found.members] == ["jiffies_64", "jiffies_64+0x4"]
    assert found.outcomes == ((Outcome.NO_TYPE, 2),)


def test_a_variable_without_a_known_type_gets_the_one_its_functions_work_on(program: Path) -> None:
    area = ObjectArea(ObjectKind.GLOBAL, "the_mapping", LINE, 96, 96)
    found = explain(program, (area,), load(0x18, "tree_insert"), load(0x28, "lock_slowpath"))
    assert (found.objects[0].type, found.objects[0].origin) == ("mapping", "global the_mapping")


def test_two_variables_on_one_line_meet_by_their_symbols(program: Path) -> None:
    areas = tuple(
        ObjectArea(ObjectKind.GLOBAL, name, LINE + at, 8, 8) for name, at in (("limit", 0), ("hits_counted", 8))
    )
    reads = Access(0, "read_limit", hitm_local=80)
    writes = Access(8, "count", stores_l1_hit=100, taken=20)
    found = explain(program, areas, reads, writes)
    assert [(pair.first, pair.second, pair.writer) for pair in found.triage.pairs] == [
        ("limit", "hits_counted", "hits_counted")
    ]


def test_what_the_snapshot_does_not_cover_is_attributed_by_layout(program: Path) -> None:
    far = (slab("mapping", 4096, 128, "mapping"),)
    found = explain(program, far, load(0x18, "tree_insert"), load(0x20, "tree_first"), load(0x28, "lock_slowpath"))
    assert (found.objects[0].type, found.objects[0].origin) == ("mapping", "")


def test_every_object_of_a_line_keeps_its_accesses(program: Path) -> None:
    areas = (slab("names", 0, 16), slab("mapping", 16, 96, "mapping"))
    found = explain(program, areas, load(0, "who_knows"), load(0x10 + 0x18, "tree_insert"))
    assert [one.origin.split()[1] for one in found.objects] == ["names", "mapping"]
    assert dict(found.outcomes) == {Outcome.NO_TYPE: 1, Outcome.RESOLVED: 1}


def test_a_function_that_touches_a_variable_by_its_address_agrees(tmp_path: Path) -> None:
    (tmp_path / "unit.c").write_text(
        "struct other { long a; }; static struct totals { long taken[4]; } totals;\n"
        "long take(struct other *of) { return totals.taken[2] += of->a; }\n"
    )
    subprocess.run(["gcc", "-g", "-O1", "-c", "unit.c"], cwd=tmp_path, check=True)
    area = ObjectArea(ObjectKind.GLOBAL, "totals", LINE, 32, 32, 1, ("totals",))
    line = SharedLine(0, LINE, (load(0x10, "take"),), hitm_local=100)
    profile = Profile("test", "", "hitm", (line,), areas=(area,))
    unit, asked = tmp_path / "unit.o", functions_asked(profile)
    layouts, accesses = read_layouts(unit).layouts, read_accesses(unit).accesses
    (found,) = findings(profile, layouts, touched(unit, *asked), operands(unit, *asked), accesses=accesses)
    assert (found.objects[0].score, found.objects[0].reason) == (1.0, "")


@pytest.fixture(scope="module")
def scoped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two records called ``node`` in namespaces of their own, one called so in none, and a template."""
    folder = tmp_path_factory.mktemp("scoped")
    (folder / "scoped.cc").write_text(
        "struct node { long a; } plain;\n"
        "namespace app { struct node { long a[4]; } far; template <class T> struct queue { T head, tail; };\n"
        "queue<node> all; }\nnamespace net { struct node { long a[4]; char b; } near; struct peer { long a; } own; }\n"
        "namespace ip { struct peer { char a[8]; } other; }\n"
    )
    subprocess.run(["g++", "-g", "-c", "scoped.cc"], cwd=folder, check=True)
    return folder / "scoped.o"


@pytest.mark.parametrize(
    ("told", "size", "meant"),
    [
        ("node", 8, "node"),
        ("node", 32, "app::node"),
        ("node", 40, "net::node"),
        ("queue<app::node>", 64, "app::queue<app::node>"),
    ],
)
def test_a_type_told_without_its_namespace_is_known_by_its_size(scoped: Path, told: str, size: int, meant: str) -> None:
    area = ObjectArea(ObjectKind.GLOBAL, "one", LINE, size, size, 1, (told,))
    one = explain(scoped, (area,), load(0x0, None)).objects[0]
    assert (one.type, one.outcome) == (meant, Outcome.RESOLVED)


def test_a_last_name_that_two_records_of_one_size_have_tells_none(scoped: Path) -> None:
    area = ObjectArea(ObjectKind.GLOBAL, "one", LINE, 8, 8, 1, ("peer",))
    assert explain(scoped, (area,), load(0x0, None)).objects[0].outcome is Outcome.NO_TYPE
