# SPDX-License-Identifier: GPL-2.0-or-later
"""What compiled C touches: one way to a member per line; and the commands that tell it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from access.programs import COMPILERS, accesses, compiled, shown
from documented import obeys
from linesmith_command import linesmith

from linesmith.analyzer.access.questions import accesses_of
from linesmith.analyzer.access.store import read_accesses
from linesmith.analyzer.layouts.dwarf import read_layouts
from linesmith.analyzer.model import AccessOutcome

# A function for each way to a member; the comment says what it touches, without the word struct.
SOURCES = Path(__file__).with_name("sources")
SOURCE = (SOURCES / "ways_to_a_member.c").read_text()
CASES = dict(re.findall(r"(\w+)\([^()]*\) \{.*\}\s+// (.*)$", SOURCE, re.MULTILINE))
WITHOUT_OPTIMISATION = ("member", "pointers_to_pointers", "list", "embedded_member", "result")


@pytest.fixture(scope="module", params=COMPILERS)
def compiler(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def optimised(compiler: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("optimised"), SOURCE, compiler=compiler)


@pytest.fixture(scope="module")
def plain(compiler: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("plain"), SOURCE, "-O0", "-c", compiler=compiler)


def touched(made: Path, function: str) -> str:
    return ", ".join(shown(made, function)).replace("struct ", "")


def test_what_optimised_code_touches(optimised: Path) -> None:
    assert len(CASES) >= 22
    assert {name: touched(optimised, name) for name in CASES} == CASES


def test_what_plain_code_touches_besides_its_stack(plain: Path) -> None:
    assert {name: touched(plain, name) for name in WITHOUT_OPTIMISATION} == {
        name: CASES[name] for name in WITHOUT_OPTIMISATION
    }


def test_inlined_code_names_where_it_comes_from(optimised: Path) -> None:
    found = {(one.place, one.inlined) for one in accesses(optimised, "inlined")}
    assert found == {("struct outer.node.count", ("around", "deep")), ("struct outer.key", ("around",))}


def test_the_line_is_that_of_the_source(optimised: Path) -> None:
    (access,) = accesses(optimised, "store")
    lines = optimised.with_suffix(".c").read_text().splitlines()
    line = next(number for number, text in enumerate(lines, 1) if text.startswith("void store("))
    assert (Path(access.file).name, access.line) == ("subject.c", line)


def test_a_global_has_its_name(optimised: Path) -> None:
    found = {(one.outcome.value, one.variable, one.place) for one in accesses(optimised, "global_by_name")}
    assert found == {("global", "named", "struct node.count")}


@pytest.mark.parametrize("compiler", ["gcc"], indirect=True)
def test_code_that_lies_apart_belongs_to_its_function(optimised: Path) -> None:
    apart = {one.place: one.into is None for one in accesses(optimised, "code_that_lies_apart")}
    assert apart == {"struct node.count": False, "struct node.guard": False, "struct node.total": True}


def test_a_thread_variable_has_its_name(tmp_path: Path) -> None:
    source = "__thread struct node mine; int f(void) { return mine.count; } int main(void) { return f(); }"
    (access,) = accesses(compiled(tmp_path, source, "-O2", "-fno-inline", name="program"))
    assert (access.outcome.value, access.variable, access.place) == ("per-CPU", "mine", "struct node.count")


def test_of_a_union_the_member_of_the_width_is_named_and_others_are_alternatives(tmp_path: Path) -> None:
    source = (
        "struct page { long flags; union { int order; void *owner; long count; }; };"
        "long f(struct page *p) { return p->count + p->order; }"
    )
    made = compiled(tmp_path, source)
    assert shown(made) == ["read struct page.order", "read struct page.owner"]
    layouts = read_layouts(made).layouts
    found = accesses_of(layouts.variants("page")[0], layouts, read_accesses(made).accesses)
    assert {one.path: one.alternatives for one in found.members} == {"order": (), "owner": ("count",)}


@pytest.mark.parametrize("compiler", COMPILERS)
def test_variables_are_known_with_their_elements_and_records(compiler: str, tmp_path: Path) -> None:
    source = """
        typedef struct node pair_t[2];
        struct node one, row[3];
        pair_t typed;
        long plain[2][4];
        struct { int x, y; } unnamed[2];
        static struct node *pointer;
        _Thread_local struct outer own;
        static _Thread_local int mine[2];
        int *f(int n) { static char letters[7]; pointer += n; mine[n] = letters[n]++; return mine + (long)pointer; }
    """
    elf = compiled(tmp_path, source, "-O1", "-shared", "-fPIC", compiler=compiler)
    accesses, layouts = read_accesses(elf).accesses, read_layouts(elf).layouts
    columns = (accesses.static_bytes, accesses.static_element, accesses.static_layout, accesses.static_of_thread)
    found = {
        name: (size, element, layouts.by_id(layout).title if layout >= 0 else "", bool(of_thread))
        for name, size, element, layout, of_thread in zip(
            accesses.statics, *(one.tolist() for one in columns), strict=True
        )
    }
    assert found == {
        "one": (24, 24, "struct node", False),
        "row": (72, 24, "struct node", False),
        "typed": (48, 24, "struct node", False),
        "plain": (64, 8, "", False),
        "unnamed": (16, 8, "struct", False),
        "pointer": (8, 8, "", False),
        "letters": (7, 1, "", False),
        "own": (136, 136, "struct outer", True),
        "mine": (8, 4, "", True),
    }
    assert len(set(accesses.static_address[accesses.static_of_thread == 0].tolist())) == 7


# ``linesmith access`` and ``layout --access`` as a user meets them

LISTED = (SOURCES / "list_under_a_lock.c").read_text()

BY_TYPE = (SOURCES / "of_a_type.txt").read_text()

BY_FUNCTION = (SOURCES / "of_a_function.txt").read_text()

BY_ADDRESS = (SOURCES / "of_an_instruction.txt").read_text()

BEHIND = (SOURCES / "behind_an_instruction.txt").read_text()

BESIDE = (SOURCES / "beside_a_layout.txt").read_text()


HANDED_ON = (SOURCES / "handed_to_functions.c").read_text()


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("program"), LISTED)


def test_who_touches_a_type(program: Path) -> None:
    assert linesmith("access", program, "--type", "node", "--limit", "1").stdout == BY_TYPE
    member = linesmith("access", program, "--type", "node", "--member", "count").stdout
    head, _, rest = BY_TYPE.partition("     0x0")
    assert member == head + rest[rest.index("     0xc") :].partition("  walk w2")[0] + (
        "  2 functions:\n          walk w2\n          get r1\n"
    )


def test_what_functions_and_instructions_touch(program: Path) -> None:
    shown = linesmith("access", program, "--function", "walk").stdout
    assert re.sub(r"to 0x\w+", "to END", shown) == BY_FUNCTION
    shown = linesmith("access", program, "--address", "get+0x0").stdout
    # Whether the parameter is said to be in the register, or was found there, is up to the compiler.
    assert re.sub("outcome    (variable|propagation)", "outcome    RESOLVED", shown) == BY_ADDRESS
    assert linesmith("access", program, "--address", "get+0x3").stdout.startswith(BEHIND)
    assert linesmith("layout", program, "node", "--access").stdout.expandtabs() == BESIDE


def test_every_outcome_has_its_share(program: Path) -> None:
    shown = linesmith("access", program).stdout.splitlines()
    assert shown[1] == "8 accesses by 3 functions (4 reads, 2 writes, 1 update, 1 atomic)"
    assert [line.split("  ")[1] for line in shown[4:-3]] == [outcome.value for outcome in AccessOutcome]
    assert shown[-1] == "resolved: 100.0% of the 8 accesses that are neither to the stack nor in patched text"
    summary = json.loads(linesmith("access", program, "--format", "json").stdout)["summary"]
    assert sum(summary["outcomes"].values()) == sum(summary["kinds"].values()) == summary["accesses"]


@pytest.mark.parametrize(
    "question", [(), ("--type", "node"), ("--function", "walk"), ("--address", "get+0x0"), ("--address", "get+0x1")]
)
def test_documents_obey_their_schema(program: Path, question: tuple[str, ...]) -> None:
    done = linesmith("access", program, *question, "--format", "json")
    obeys(json.loads(done.stdout), "access")


def test_a_layout_with_accesses_obeys_its_schema(program: Path) -> None:
    document = json.loads(linesmith("layout", program, "node", "--access", "--format", "json").stdout)
    obeys(document, "layout")
    count = next(one for one in document["records"][0]["members"] if one["name"] == "count")
    assert count["accesses"]["counts"] == {"reads": 1, "writes": 2, "updates": 0, "atomics": 0}


def test_a_member_that_nobody_touches_may_be_handed_to_functions(program: Path, tmp_path: Path) -> None:
    shown = linesmith("access", program, "--type", "node", "--member", "guard").stdout
    row, more, to, place = shown.splitlines()[-4:]
    assert row.split(maxsplit=6) == ["0x8", "guard", "-", "-", "-", "-", "no access known but to some struct lock"]
    assert more == "          code that is handed its address is not counted here"
    assert (to.strip(), place.split()[0]) == ("its address goes to lock:", "walk")
    words = ("access", compiled(tmp_path, HANDED_ON), "--type", "table", "--member", "size_mutex")
    lines = linesmith(*words).stdout.splitlines()
    assert lines[-7].endswith("no access known but to some struct mutex")
    assert [re.sub(r"\(.*/", "(", line) for line in lines[-6:]] == [
        "          code that is handed its address is not counted here",
        "          its address goes to acquire:",
        "            grow > size_mutex_lock (subject.c:9)",
        "            peek > size_mutex_lock (subject.c:9)",
        "          its address goes to release:",
        "            peek > size_mutex_unlock (subject.c:10)",
    ]
    document = json.loads(linesmith(*words, "--format", "json").stdout)
    obeys(document, "access")
    (member,) = document["types"][0]["members"]
    assert member["alone"] == "struct mutex"
    assert {(one["to"], one["function"]) for one in member["handed"]} >= {("acquire", "grow"), ("acquire", "peek")}
