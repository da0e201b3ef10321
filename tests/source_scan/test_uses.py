# SPDX-License-Identifier: GPL-2.0-or-later
"""Expressions that use a member: what they do with it, one way per test."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from source_scan.conftest import Scanned

PRELUDE = """\
typedef struct { int counter; } count_t;
struct rec { int a; union { long u; struct { short s, t; }; }; int arr[4]; struct rec *next; count_t c; };
#define READ_ONCE(x) (*(const volatile __typeof__(x) *)&(x))
void g(int *);
"""
Used = Callable[..., list[str]]


@pytest.fixture
def used(scanned: Scanned) -> Used:
    """The uses in the body of ``f``, which begins on line 6: ``line kind member``."""

    def list_uses(body: str, record: str = "rec") -> list[str]:
        uses = scanned(f"{PRELUDE}void f(struct rec *r, int i)\n{{ {body}\n}}\n", record)["uses"]
        assert {use["function"] for use in uses} <= {"f"}
        return [f"{use['line']} {use['kind']} {use['member']}" for use in uses]

    return list_uses


def test_reads_and_writes(used: Used) -> None:
    assert used("r->a = r->arr[i];") == ["6 write a", "6 read arr"]


def test_updates(used: Used) -> None:
    assert used("r->a++; r->u += i;") == ["6 update a", "6 update u"]


def test_elements_and_inner_members_count_as_the_member(used: Used) -> None:
    assert used("r->arr[i] = 1; r->c.counter = 2;") == ["6 write arr", "6 write c"]


def test_an_address_that_is_handed_on(used: Used) -> None:
    assert used("g(&r->a); g(r->arr); g(&r->arr[2]);") == ["6 address a", "6 address arr", "6 address arr"]


def test_an_address_that_is_used_at_once(used: Used) -> None:
    assert used("i = READ_ONCE(r->a); *(volatile int *)&r->a = i;") == ["6 read a", "6 write a"]


def test_members_of_anonymous_records(used: Used) -> None:
    assert used("r->t = r->u;") == ["6 write t", "6 read u"]


def test_members_on_the_way(used: Used) -> None:
    assert used("r->next->next->a = 0;") == ["6 write a", "6 read next", "6 read next"]


def test_records_by_their_typedef(used: Used) -> None:
    assert used("r->c.counter--;", "count_t") == ["6 update counter"]


def test_sizes_types_and_offsets_are_only_computed(used: Used) -> None:
    body = "__typeof__(r->a) k = sizeof(r->arr) + __builtin_offsetof(struct rec, u);"
    assert used(body) == ["6 offset a", "6 offset arr", "6 offset u"]


def test_values_given_by_name(used: Used) -> None:
    assert used("struct rec v = { .a = i, .arr = { 1 } };") == ["6 write a", "6 write arr"]


def test_operands_of_assembly(used: Used) -> None:
    assert used('asm("" : "+m"(r->a), "=m"(r->u) : "m"(r->s));') == ["6 update a", "6 write u", "6 read s"]


def test_a_name_in_an_argument_of_a_macro_stands_where_it_is_written(used: Used) -> None:
    assert used("i = READ_ONCE(\n\tr->u);") == ["7 read u"]


def test_a_name_that_a_macro_gives_tells_the_macro(scanned: Scanned) -> None:
    text = "struct rec { int a; };\n#define A(x) \\\n ((x)->a)\nint f(struct rec *r) {\n return A(r); }\n"
    (use,) = scanned(text)["uses"]
    assert (use["line"], use["macro"], use["written"].rsplit("/")[-1]) == (5, "A", "case.c:3")


def test_uses_outside_of_functions(scanned: Scanned) -> None:
    (use,) = scanned("struct rec { int a; } v; int *p = &v.a;")["uses"]
    assert (use["kind"], use["function"]) == ("address", "")


def test_only_the_branch_that_the_compiler_chooses_counts(used: Used) -> None:
    assert used("i = __builtin_choose_expr(1, r->a, r->u);") == ["6 read a"]


def test_two_records_of_one_name_are_told_apart(scanned: Scanned) -> None:
    text = "void f(void) { struct rec { int a; } x; x.a = 1; }\nvoid g(void) { struct rec { int a; } x; x.a = 1; }\n"
    unit = scanned(text)
    assert [record["line"] for record in unit["records"]] == [1, 2]
    assert [(use["line"], use["declaration"]) for use in unit["uses"]] == [(1, 0), (2, 1)]
