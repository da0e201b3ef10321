# SPDX-License-Identifier: GPL-2.0-or-later
"""What compiled C touches: one way to a member per row, all of them in one file for each compiler."""

from __future__ import annotations

from pathlib import Path

import pytest
from access.programs import COMPILERS, accesses, compiled, shown

from linesmith.analyzer.access import accesses_of, read_accesses
from linesmith.analyzer.dwarf import read_layouts

COUNT, NEXT, TOTAL = "read struct node.count", "read struct node.next", "read struct node.total"
# FUNCTION stands for the row's own function.
CASES: dict[str, tuple[str, list[str]]] = {
    "member": ("int FUNCTION(struct node *n) { return n->count; }", [COUNT]),
    "store": ("void FUNCTION(struct node *n) { n->count = 3; }", ["write struct node.count"]),
    "update": ("void FUNCTION(struct node *n) { n->total += 3; }", ["read-write struct node.total"]),
    "atomic_update": (
        "void FUNCTION(struct node *n) { __atomic_fetch_add(&n->total, 3, 5); }",
        ["atomic struct node.total"],
    ),
    "exchange": (
        "int FUNCTION(struct lock *l) { return __atomic_exchange_n(&l->word, 1, 5); }",
        ["atomic struct lock.word"],
    ),
    "pointers_to_pointers": ("int FUNCTION(struct node *n) { return n->next->next->count; }", [COUNT, NEXT]),
    "list": (
        "long FUNCTION(struct node *n) { long s = 0; for (; n; n = n->next) s += n->total; return s; }",
        [NEXT, TOTAL],
    ),
    "embedded_member": ("int FUNCTION(struct outer *o) { return o->node.count; }", ["read struct outer.node.count"]),
    "record_around_a_member": (
        "long FUNCTION(struct node *n) { struct outer *o = (void *)((char *)n - 8); return o->key; }",
        ["read struct outer.key"],
    ),
    "embedded_record_by_its_own_pointer": (
        "int FUNCTION(struct outer *o) { struct node *n = &o->node; return n->count + n->guard.word; }",
        ["read struct outer.node.count", "read struct outer.node.guard"],
    ),
    "element_of_an_array": (
        "int FUNCTION(struct outer *o) { return o->many[2].count; }",
        ["read struct outer.many[2].count"],
    ),
    "array_of_pointers": (
        "int FUNCTION(struct node **all, long i) { return all[i]->count; }",
        ["read struct node *", COUNT],
    ),
    "result": (
        (
            "__attribute__((noinline)) struct node *find(struct node **all) { return all[3]->next; }"
            "int FUNCTION(struct node **all) { return find(all)->count; }"
        ),
        [COUNT],
    ),
    "callee_saved_register": ("void g(void); int FUNCTION(struct node *n) { g(); return n->count; }", [COUNT]),
    "global_record": ("struct node first; void FUNCTION(void) { first.count = 1; }", ["write struct node.count"]),
    "global_pointer": (
        "static struct node *head; void set(struct node *n) { head = n; } int FUNCTION(void) { return head->count; }",
        ["read struct node *", COUNT],
    ),
    "bit_field": ("unsigned FUNCTION(struct outer *o) { return o->high; }", ["read struct outer.low"]),
    "one_of_two": (
        "int FUNCTION(struct node *a, struct node *b, int c) { struct node *n = c ? a : b->next; return n->count; }",
        [COUNT, NEXT],
    ),
    "no_type_at_all": ("int FUNCTION(void *p) { return *(int *)((char *)p + 8); }", ["read untyped pointer"]),
    "code_that_lies_apart": (
        (
            "__attribute__((cold)) void cold(long);"
            "int FUNCTION(struct node *n) { if (__builtin_expect(n->count, 0)) cold(n->total); return n->guard.word; }"
        ),
        [COUNT, "read struct node.guard", TOTAL],
    ),
    "inlined": (
        (
            "static inline void deep(struct node *n) { n->count = 1; }"
            "static inline void around(struct outer *o) { deep(&o->node); o->key = 2; }"
            "void FUNCTION(struct outer *o) { around(o); }"
        ),
        ["write struct outer.key", "write struct outer.node.count"],
    ),
    "global_by_name": (
        "static struct node named; int *held = &named.count; void FUNCTION(void) { named.count++; }",
        ["read-write struct node.count"],
    ),
}
WITHOUT_OPTIMISATION = ("member", "pointers_to_pointers", "list", "embedded_member", "result")
SOURCE = "\n".join(text.replace("FUNCTION", name) for name, (text, _) in CASES.items())


@pytest.fixture(scope="module", params=COMPILERS)
def compiler(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def optimised(compiler: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("optimised"), SOURCE, compiler=compiler)


@pytest.fixture(scope="module")
def plain(compiler: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("plain"), SOURCE, "-O0", "-c", compiler=compiler)


@pytest.mark.parametrize("case", CASES)
def test_what_optimised_code_touches(optimised: Path, case: str) -> None:
    assert shown(optimised, case) == CASES[case][1]


@pytest.mark.parametrize("case", WITHOUT_OPTIMISATION)
def test_what_plain_code_touches_besides_its_stack(plain: Path, case: str) -> None:
    assert shown(plain, case) == CASES[case][1]


def test_inlined_code_names_where_it_comes_from(optimised: Path) -> None:
    found = {(one.place, one.inlined) for one in accesses(optimised, "inlined")}
    assert found == {("struct outer.node.count", ("around", "deep")), ("struct outer.key", ("around",))}


def test_the_line_is_that_of_the_source(optimised: Path) -> None:
    (access,) = accesses(optimised, "store")
    line = 1 + optimised.with_suffix(".c").read_text().splitlines().index(
        CASES["store"][0].replace("FUNCTION", "store")
    )
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
