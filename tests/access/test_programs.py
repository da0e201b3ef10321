# SPDX-License-Identifier: GPL-2.0-or-later
"""What compiled C touches: one way to a member per line, all of them in one file for each compiler."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from access.programs import COMPILERS, accesses, compiled, shown

from linesmith.analyzer.access.questions import accesses_of
from linesmith.analyzer.access.store import read_accesses
from linesmith.analyzer.layouts.dwarf import read_layouts

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
