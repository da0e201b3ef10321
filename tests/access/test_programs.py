# SPDX-License-Identifier: GPL-2.0-or-later
"""What compiled C touches: one way to a member per test."""

from __future__ import annotations

from pathlib import Path

import pytest
from access.programs import COMPILERS, accesses, compiled, shown

from linesmith.analyzer.access import accesses_of, read_accesses
from linesmith.analyzer.dwarf import read_layouts

CASES = {
    "a member": ("int f(struct node *n) { return n->count; }", ["read struct node.count"]),
    "a store": ("void f(struct node *n) { n->count = 3; }", ["write struct node.count"]),
    "an update": ("void f(struct node *n) { n->total += 3; }", ["read-write struct node.total"]),
    "an atomic update": (
        "void f(struct node *n) { __atomic_fetch_add(&n->total, 3, 5); }",
        ["atomic struct node.total"],
    ),
    "an exchange": (
        "int f(struct lock *l) { return __atomic_exchange_n(&l->word, 1, 5); }",
        ["atomic struct lock.word"],
    ),
    "pointers to pointers": (
        "int f(struct node *n) { return n->next->next->count; }",
        ["read struct node.count", "read struct node.next"],
    ),
    "a list": (
        "long f(struct node *n) { long s = 0; for (; n; n = n->next) s += n->total; return s; }",
        ["read struct node.next", "read struct node.total"],
    ),
    "an embedded member": ("int f(struct outer *o) { return o->node.count; }", ["read struct outer.node.count"]),
    "the record around a member": (
        "long f(struct node *n) { struct outer *o = (void *)((char *)n - 8); return o->key; }",
        ["read struct outer.key"],
    ),
    "an embedded record by its own pointer": (
        "int f(struct outer *o) { struct node *n = &o->node; return n->count + n->guard.word; }",
        ["read struct outer.node.count", "read struct outer.node.guard"],
    ),
    "an element of an array": (
        "int f(struct outer *o) { return o->many[2].count; }",
        ["read struct outer.many[2].count"],
    ),
    "an array of pointers": (
        "int f(struct node **all, long i) { return all[i]->count; }",
        ["read struct node *", "read struct node.count"],
    ),
    "a result": (
        """
        __attribute__((noinline)) struct node *find(struct node **all) { return all[3]->next; }
        int f(struct node **all) { return find(all)->count; }
        """,
        ["read struct node.count"],
    ),
    "a callee-saved register": (
        "void g(void); int f(struct node *n) { g(); return n->count; }",
        ["read struct node.count"],
    ),
    "a global record": (
        "struct node first; void f(void) { first.count = 1; }",
        ["write struct node.count"],
    ),
    "through a global pointer": (
        "static struct node *head; void set(struct node *n) { head = n; } int f(void) { return head->count; }",
        ["read struct node *", "read struct node.count"],
    ),
    "a bit-field": ("unsigned f(struct outer *o) { return o->high; }", ["read struct outer.low"]),
    "one of two": (
        "int f(struct node *a, struct node *b, int c) { struct node *n = c ? a : b->next; return n->count; }",
        ["read struct node.count", "read struct node.next"],
    ),
    "no type at all": ("int f(void *p) { return *(int *)((char *)p + 8); }", ["read untyped pointer"]),
}


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("case", CASES)
def test_what_optimised_code_touches(tmp_path: Path, case: str, compiler: str) -> None:
    source, expected = CASES[case]
    assert shown(compiled(tmp_path, source, compiler=compiler)) == expected


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("case", ["a member", "pointers to pointers", "a list", "an embedded member", "a result"])
def test_what_plain_code_touches_besides_its_stack(tmp_path: Path, case: str, compiler: str) -> None:
    source, expected = CASES[case]
    assert shown(compiled(tmp_path, source, "-O0", "-c", compiler=compiler)) == expected


@pytest.mark.parametrize("compiler", COMPILERS)
def test_inlined_code_names_where_it_comes_from(tmp_path: Path, compiler: str) -> None:
    source = (
        "static inline void deep(struct node *n) { n->count = 1; }"
        "static inline void outer(struct outer *o) { deep(&o->node); o->key = 2; }"
        "void f(struct outer *o) { outer(o); }"
    )
    found = {(one.place, one.inlined) for one in accesses(compiled(tmp_path, source, compiler=compiler))}
    assert found == {("struct outer.node.count", ("outer", "deep")), ("struct outer.key", ("outer",))}


@pytest.mark.parametrize("compiler", COMPILERS)
def test_the_line_is_that_of_the_source(tmp_path: Path, compiler: str) -> None:
    (access,) = accesses(compiled(tmp_path, "int f(struct node *n)\n{\n\treturn n->count;\n}", compiler=compiler))
    assert (Path(access.file).name, access.line) == ("subject.c", 7)


def test_of_a_union_the_member_with_the_width_is_told_and_others_are_counted(tmp_path: Path) -> None:
    source = (
        "struct page { long flags; union { int order; void *owner; long count; }; };"
        "long f(struct page *p) { return p->count + p->order; }"
    )
    made = compiled(tmp_path, source)
    assert shown(made) == ["read struct page.order", "read struct page.owner"]
    layouts = read_layouts(made).layouts
    found = accesses_of(layouts.variants("page")[0], layouts, read_accesses(made).accesses)
    assert {one.path: one.alternatives for one in found.members} == {"order": (), "owner": ("count",)}


def test_a_thread_variable_is_told_by_name(tmp_path: Path) -> None:
    source = "__thread struct node mine; int f(void) { return mine.count; } int main(void) { return f(); }"
    (access,) = accesses(compiled(tmp_path, source, "-O2", "-fno-inline", name="program"))
    assert (access.outcome.value, access.variable, access.place) == ("per-CPU", "mine", "struct node.count")


def test_a_global_is_told_by_name(tmp_path: Path) -> None:
    (access,) = accesses(
        compiled(tmp_path, "static struct node first; int *g = &first.count; void f(void) { first.count++; }")
    )
    assert (access.outcome.value, access.variable, access.place) == ("global", "first", "struct node.count")


def test_code_that_lies_apart_belongs_to_its_function(tmp_path: Path) -> None:
    source = (
        "__attribute__((cold)) void g(long);"
        "int f(struct node *n) { if (__builtin_expect(n->count, 0)) g(n->total); return n->guard.word; }"
    )
    apart = {one.place: one.into is None for one in accesses(compiled(tmp_path, source))}
    assert apart == {"struct node.count": False, "struct node.guard": False, "struct node.total": True}
