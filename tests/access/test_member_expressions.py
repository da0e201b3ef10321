# SPDX-License-Identifier: GPL-2.0-or-later
"""The program that lists member expressions: one way to reach memory per row, with the list expected."""

from __future__ import annotations

import json
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

# Name of the case: the body of f, whose first line is line 5, and ``line use path`` of all it reaches.
BODIES: dict[str, tuple[str, list[str]]] = {
    "each record on the way is named": (
        "o->v.a = o->next->p->a;",
        ["5 read inner.a", "5 read outer.next", "5 read outer.p", "5 write outer.v inner.a"],
    ),
    "members of anonymous records count for the record around": (
        "o->v.t = o->v.u;",
        ["5 read outer.v inner.u", "5 write outer.v inner.t"],
    ),
    "a record without a name in a named member is a step of its own": (
        "o->v.named[i].q++;",
        ["5 update outer.v inner.named .q"],
    ),
    "an anonymous record goes by its typedef": ("c->counter += 1;", ["5 update count_t.counter"]),
    "elements of member arrays are the member": (
        "o->arr[i] = *(o->arr + 3);",
        ["5 read outer.arr", "5 write outer.arr"],
    ),
    "an index is an expression of its own": ("ip[o->bit] = 0;", ["5 read outer.bit", "5 write *(int)"]),
    "a cast of an address leads to the same place": ("*(volatile int *)&o->v.a = 1;", ["5 write outer.v inner.a"]),
    "a pointer without a member has the type it leads to": ("*ip = ip[2];", ["5 read *(int)", "5 write *(int)"]),
    "what a macro reaches counts where it is used and where it is written": (
        "#define GET(x) ((x)->v.a)\n\nGET(o)++;",
        ["5 update outer.v inner.a", "7 update outer.v inner.a"],
    ),
    "the argument of a macro counts where it is written": (
        "#define BOTH(x, y) ((x) + (y))\n(void)BOTH(1,\n  o->v.a);",
        ["6 read outer.v inner.a", "7 read outer.v inner.a"],
    ),
    "assigning a record touches all of it": (
        "*o->p = o->v;",
        ["5 read outer.p", "5 read outer.v whole", "5 write *(struct inner) whole"],
    ),
    "a compound literal names the members it sets": (
        "*o->p = (struct inner){\n  .a = 3,\n};",
        ["5 read outer.p", "5 write *(struct inner) whole", "6 write inner.a"],
    ),
    "functions that copy memory touch all of what they get": (
        "__builtin_memset(&o->v, 0, sizeof(o->v));",
        ["5 address outer.v", "5 update outer.v whole"],
    ),
    "a cast to void hides no record that is copied": (
        "__builtin_memcpy((void *)c, ip, 4);",
        ["5 update *(count_t) whole", "5 update *(int) whole"],
    ),
    "a taken address is no access": ("ip = &o->v.a;", ["5 address outer.v inner.a"]),
    "offsetof names members and reads nothing": (
        "i = __builtin_offsetof(struct outer, v.u);",
        ["5 offset outer.v inner.u"],
    ),
    "what sizeof and typeof name is not reached": ("i = sizeof(o->v.a); __typeof__(o->v.u) k;", []),
    "statement expressions are looked into": ("i = ({ int k = o->v.a; k; });", ["5 read outer.v inner.a"]),
    "operands of inline assembly are read and written": (
        '__asm__("" : "+m"(c->counter), "=m"(o->arr) : "m"(o->next));',
        ["5 read outer.next", "5 update count_t.counter", "5 write outer.arr whole"],
    ),
    "static variables are named": (
        "static struct outer g; static int n; n = g.bit;",
        ["5 read [g] outer.bit", "5 write [n] *(int)"],
    ),
    "the choice made when compiling counts": (
        "i = __builtin_choose_expr(1, o->bit, o->v.a);",
        ["5 read outer.bit"],
    ),
    "both results of a condition count": (
        "i = o->bit ? o->v.a : c->counter;",
        ["5 read count_t.counter", "5 read outer.bit", "5 read outer.v inner.a"],
    ),
    "inline functions of headers are listed by their own lines": (
        '}\n#include "header.h"\nvoid g(count_t *c) { get(c);',
        ["3 read count_t.counter"],
    ),
    "arguments that only gcc knows are dropped": ("i = o->GIVEN;", ["5 read outer.bit"]),
}
GCC_ARGUMENTS = ("-fconserve-stack", "-mpreferred-stack-boundary=3", "-Wp,-MMD,x.d", "-DGIVEN=bit")


@pytest.mark.parametrize("case", BODIES)
def test_what_a_body_reaches(case: str, tmp_path: Path) -> None:
    body, expected = BODIES[case]
    source = tmp_path / "case.c"
    source.write_text(f"{TYPES}void f(struct outer *o, int *ip, count_t *c, long i) {{\n{body}\n}}\n")
    (tmp_path / "header.h").write_text("static inline int get(count_t *c)\n{\n  return c->counter;\n}\n")
    assert EXECUTABLE is not None
    parsed = run(EXECUTABLE, [str(source), "--", "-std=gnu11", *GCC_ARGUMENTS], 60)
    assert [end["errors"] for end in parsed.sources] == [0]
    assert sorted({_text(json.loads(line)) for line in parsed.expressions}) == expected


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


def test_a_source_that_is_not_there_costs_itself_only(tmp_path: Path) -> None:
    (tmp_path / "good.c").write_text("struct s { int a; };\nint f(struct s *s) { return s->a; }\n")
    entries = [{"directory": str(tmp_path), "file": name, "command": f"gcc -c {name}"} for name in ("bad.c", "good.c")]
    (tmp_path / "compile_commands.json").write_text(json.dumps(entries))
    (tmp_path / "bad.c").write_text('#include "absent.h"\n')
    assert EXECUTABLE is not None
    parsed = parse(EXECUTABLE, tmp_path, [str(tmp_path / "bad.c"), str(tmp_path / "good.c")])
    ends = [(Path(str(end["source"])).name, end["fatal"]) for end in parsed.sources]
    assert (ends, len(parsed.expressions)) == ([("bad.c", True), ("good.c", False)], 1)
