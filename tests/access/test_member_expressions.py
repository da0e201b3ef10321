# SPDX-License-Identifier: GPL-2.0-or-later
"""The program that lists member expressions: one way to reach memory per test, the expected list inline."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from access.member_expressions import parse, program, run

EXECUTABLE = program()
pytestmark = pytest.mark.skipif(EXECUTABLE is None, reason="member_expressions is not built: no Clang 19 to link")

TYPES = """\
struct inner { int a; union { long u; struct { short s, t; }; }; struct { int q; } named[4]; };
struct outer { struct inner *p; struct inner v; int arr[8]; unsigned bit : 3; struct outer *next; };
typedef struct { int counter; } count_t;
"""
Listed = Callable[[str], list[str]]


@pytest.fixture
def listed(tmp_path: Path) -> Listed:
    """What is reached in the body of ``f``, its first line being line 5: ``line use path``, by line and name."""

    def list_expressions(body: str, arguments: tuple[str, ...] = ()) -> list[str]:
        source = tmp_path / "case.c"
        source.write_text(f"{TYPES}void f(struct outer *o, int *ip, count_t *c, long i) {{\n{body}\n}}\n")
        assert EXECUTABLE is not None
        parsed = run(EXECUTABLE, [str(source), "--", "-std=gnu11", *arguments], 60)
        assert [end["errors"] for end in parsed.sources] == [0]
        return sorted({_text(json.loads(line)) for line in parsed.expressions})

    return list_expressions


def _text(entry: dict[str, object]) -> str:
    steps = entry["steps"]
    assert isinstance(steps, list)
    path = " ".join(f"{record}.{member}" for record, member in steps)
    variable = f"[{entry['variable']}]" if "variable" in entry else ""
    words = (
        str(entry["line"]),
        str(entry["use"]),
        variable,
        path or f"*({entry['type']})",
        "whole" * ("whole" in entry),
    )
    return " ".join(word for word in words if word)


def test_each_record_on_the_way_is_named(listed: Listed) -> None:
    assert listed("o->v.a = o->next->p->a;") == [
        "5 read inner.a",
        "5 read outer.next",
        "5 read outer.p",
        "5 write outer.v inner.a",
    ]


def test_members_of_anonymous_records_count_for_the_record_around(listed: Listed) -> None:
    assert listed("o->v.t = o->v.u;") == ["5 read outer.v inner.u", "5 write outer.v inner.t"]


def test_a_record_without_a_name_in_a_named_member_is_a_step_of_its_own(listed: Listed) -> None:
    assert listed("o->v.named[i].q++;") == ["5 update outer.v inner.named .q"]


def test_an_anonymous_record_goes_by_its_typedef(listed: Listed) -> None:
    assert listed("c->counter += 1;") == ["5 update count_t.counter"]


def test_elements_of_member_arrays_are_the_member(listed: Listed) -> None:
    assert listed("o->arr[i] = *(o->arr + 3);") == ["5 read outer.arr", "5 write outer.arr"]


def test_an_index_is_an_expression_of_its_own(listed: Listed) -> None:
    assert listed("ip[o->bit] = 0;") == ["5 read outer.bit", "5 write *(int)"]


def test_a_cast_of_an_address_leads_to_the_same_place(listed: Listed) -> None:
    assert listed("*(volatile int *)&o->v.a = 1;") == ["5 write outer.v inner.a"]


def test_pointers_without_a_member_tell_what_they_lead_to(listed: Listed) -> None:
    assert listed("*ip = ip[2];") == ["5 read *(int)", "5 write *(int)"]


def test_what_a_macro_gives_counts_where_it_is_used_and_where_it_is_written(listed: Listed) -> None:
    assert listed("#define GET(x) ((x)->v.a)\n\nGET(o)++;") == ["5 update outer.v inner.a", "7 update outer.v inner.a"]


def test_the_argument_of_a_macro_counts_where_it_is_written(listed: Listed) -> None:
    assert listed("#define BOTH(x, y) ((x) + (y))\n(void)BOTH(1,\n  o->v.a);") == [
        "6 read outer.v inner.a",
        "7 read outer.v inner.a",
    ]


def test_inline_functions_of_headers_are_listed_by_their_own_lines(listed: Listed, tmp_path: Path) -> None:
    (tmp_path / "header.h").write_text("static inline int get(count_t *c)\n{\n  return c->counter;\n}\n")
    assert listed('}\n#include "header.h"\nvoid g(count_t *c) { get(c);') == ["3 read count_t.counter"]


def test_assigning_a_record_touches_all_of_it(listed: Listed) -> None:
    assert listed("*o->p = o->v;") == ["5 read outer.p", "5 read outer.v whole", "5 write *(struct inner) whole"]


def test_a_compound_literal_names_the_members_it_gives(listed: Listed) -> None:
    assert listed("*o->p = (struct inner){\n  .a = 3,\n};") == [
        "5 read outer.p",
        "5 write *(struct inner) whole",
        "6 write inner.a",
    ]


def test_functions_that_copy_memory_touch_all_they_are_given(listed: Listed) -> None:
    assert listed("__builtin_memset(&o->v, 0, sizeof(o->v));") == ["5 address outer.v", "5 update outer.v whole"]


def test_a_cast_to_void_hides_no_record_that_is_copied(listed: Listed) -> None:
    assert listed("__builtin_memcpy((void *)c, ip, 4);") == ["5 update *(count_t) whole", "5 update *(int) whole"]


def test_a_taken_address_is_no_access(listed: Listed) -> None:
    assert listed("ip = &o->v.a;") == ["5 address outer.v inner.a"]


def test_offsetof_names_members_and_reads_nothing(listed: Listed) -> None:
    assert listed("i = __builtin_offsetof(struct outer, v.u);") == ["5 offset outer.v inner.u"]


def test_what_sizeof_and_typeof_name_is_not_reached(listed: Listed) -> None:
    assert listed("i = sizeof(o->v.a); __typeof__(o->v.u) k;") == []


def test_statement_expressions_are_looked_into(listed: Listed) -> None:
    assert listed("i = ({ int k = o->v.a; k; });") == ["5 read outer.v inner.a"]


def test_operands_of_inline_assembly_are_read_and_written(listed: Listed) -> None:
    assert listed('__asm__("" : "+m"(c->counter), "=m"(o->arr) : "m"(o->next));') == [
        "5 read outer.next",
        "5 update count_t.counter",
        "5 write outer.arr whole",
    ]


def test_static_variables_are_named(listed: Listed) -> None:
    assert listed("static struct outer g; static int n; n = g.bit;") == ["5 read [g] outer.bit", "5 write [n] *(int)"]


def test_the_choice_made_when_compiling_counts(listed: Listed) -> None:
    assert listed("i = __builtin_choose_expr(1, o->bit, o->v.a);") == ["5 read outer.bit"]


def test_both_results_of_a_condition_count(listed: Listed) -> None:
    assert listed("i = o->bit ? o->v.a : c->counter;") == [
        "5 read count_t.counter",
        "5 read outer.bit",
        "5 read outer.v inner.a",
    ]


def test_arguments_that_only_gcc_knows_are_dropped(listed: Callable[..., list[str]]) -> None:
    arguments = ("-fconserve-stack", "-mpreferred-stack-boundary=3", "-Wp,-MMD,x.d", "-DGIVEN=bit")
    assert listed("i = o->GIVEN;", arguments) == ["5 read outer.bit"]


def test_a_source_that_is_not_there_costs_itself_only(tmp_path: Path) -> None:
    (tmp_path / "good.c").write_text("struct s { int a; };\nint f(struct s *s) { return s->a; }\n")
    entries = [{"directory": str(tmp_path), "file": name, "command": f"gcc -c {name}"} for name in ("bad.c", "good.c")]
    (tmp_path / "compile_commands.json").write_text(json.dumps(entries))
    (tmp_path / "bad.c").write_text('#include "absent.h"\n')
    assert EXECUTABLE is not None
    parsed = parse(EXECUTABLE, tmp_path, [str(tmp_path / "bad.c"), str(tmp_path / "good.c")])
    assert [(Path(str(end["source"])).name, end["fatal"]) for end in parsed.sources] == [
        ("bad.c", True),
        ("good.c", False),
    ]
    assert len(parsed.expressions) == 1
