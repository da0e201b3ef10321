# SPDX-License-Identifier: GPL-2.0-or-later
"""The program that lists member expressions, on a source whose comments say what each line reaches."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path

import pytest
from access.member_expressions import parse, program, run

EXECUTABLE = program()
pytestmark = pytest.mark.skipif(EXECUTABLE is None, reason="member_expressions is not built: no Clang 19 to link")

HEADER = "static inline int get(count_t *c) { return c->counter; } // read count_t.counter\n"
SOURCE = """\
struct inner { int a; union { long u; struct { short s, t; }; }; struct { int q; } named[4]; };
struct outer { struct inner *p; struct inner v; int arr[8]; unsigned bit : 3; struct outer *next; };
typedef struct { int counter; } count_t;
#include "header.h"
#define GET(x) ((x)->v.a) // update outer.v inner.a
#define BOTH(x, y) ((x) + (y))
void f(struct outer *o, int *ip, count_t *c, long i) {
  static struct outer g; static int n;
  /* Each record on the way is named; members of anonymous ones count for the record around. */
  o->v.a = o->next->p->a; // read inner.a, read outer.next, read outer.p, write outer.v inner.a
  o->v.t = o->v.u; // read outer.v inner.u, write outer.v inner.t
  /* A record without a name in a named member is a step of its own, or goes by its typedef. */
  o->v.named[i].q++; // update outer.v inner.named .q
  c->counter += 1; // update count_t.counter
  /* Elements of member arrays are the member, an index is an expression of its own. */
  o->arr[i] = *(o->arr + 3); // read outer.arr, write outer.arr
  ip[o->bit] = 0; // read outer.bit, write *(int)
  /* A cast of an address leads to the same place; without a member it is the type that counts. */
  *(volatile int *)&o->v.a = 1; // write outer.v inner.a
  *ip = ip[2]; // read *(int), write *(int)
  /* Macros count where they are used and where they are written, their arguments likewise. */
  GET(o)++; // update outer.v inner.a
  (void)BOTH(1, // read outer.v inner.a
    o->v.a); // read outer.v inner.a
  get(c); //
  /* Assigning, setting and copying records; a cast to void hides none. */
  *o->p = o->v; // read outer.p, read outer.v whole, write *(struct inner) whole
  *o->p = (struct inner){ // read outer.p, write *(struct inner) whole
    .a = 3, // write inner.a
  };
  __builtin_memset(&o->v, 0, sizeof(o->v)); // address outer.v, update outer.v whole
  __builtin_memcpy((void *)c, ip, 4); // update *(count_t) whole, update *(int) whole
  /* Addresses, offsets and types are no accesses. */
  ip = &o->v.a; // address outer.v inner.a
  i = __builtin_offsetof(struct outer, v.u); // offset outer.v inner.u
  i = sizeof(o->v.a); __typeof__(o->v.u) k; //
  /* Statement expressions, assembly, static variables, choices; GIVEN is an argument of the compiler. */
  i = ({ int k = o->v.a; k; }); // read outer.v inner.a
  __asm__("" : "+m"(c->counter), "=m"(o->arr) : "m"(o->next)); // ASM
  n = g.bit; // read [g] outer.bit, write [n] *(int)
  i = __builtin_choose_expr(1, o->bit, o->v.a); // read outer.bit
  i = o->bit ? o->v.a : c->counter; // read count_t.counter, read outer.bit, read outer.v inner.a
  i = o->GIVEN; // read outer.bit
}
""".replace("ASM", "read outer.next, update count_t.counter, write outer.arr whole")
# What gcc alone knows is dropped.
GCC_ARGUMENTS = ("-fconserve-stack", "-mpreferred-stack-boundary=3", "-Wp,-MMD,x.d", "-DGIVEN=bit")


def _text(entry: dict[str, object]) -> str:
    steps = entry["steps"]
    assert isinstance(steps, list)
    path = " ".join(f"{record}.{member}" for record, member in steps)
    variable = f"[{entry['variable']}]" if "variable" in entry else ""
    words = (str(entry["use"]), variable, path or f"*({entry['type']})", "whole" * ("whole" in entry))
    return " ".join(word for word in words if word)


def test_what_each_line_reaches(tmp_path: Path) -> None:
    expected, found = {}, defaultdict(set)
    for name, text in (("case.c", SOURCE), ("header.h", HEADER)):
        (tmp_path / name).write_text(text)
        for number, line in enumerate(text.splitlines(), 1):
            if (said := re.search(r" // (.+)$", line)) is not None:
                expected[name, number] = said[1]
    assert EXECUTABLE is not None
    parsed = run(EXECUTABLE, [str(tmp_path / "case.c"), "--", "-std=gnu11", *GCC_ARGUMENTS], 60)
    assert [end["errors"] for end in parsed.sources] == [0]
    for entry in map(json.loads, parsed.expressions):
        found[Path(entry["file"]).name, entry["line"]].add(_text(entry))
    assert {place: ", ".join(sorted(texts)) for place, texts in found.items()} == expected


def test_a_source_that_is_not_there_costs_itself_only(tmp_path: Path) -> None:
    (tmp_path / "good.c").write_text("struct s { int a; };\nint f(struct s *s) { return s->a; }\n")
    entries = [{"directory": str(tmp_path), "file": name, "command": f"gcc -c {name}"} for name in ("bad.c", "good.c")]
    (tmp_path / "compile_commands.json").write_text(json.dumps(entries))
    (tmp_path / "bad.c").write_text('#include "absent.h"\n')
    assert EXECUTABLE is not None
    parsed = parse(EXECUTABLE, tmp_path, [str(tmp_path / "bad.c"), str(tmp_path / "good.c")])
    ends = [(Path(str(end["source"])).name, end["fatal"]) for end in parsed.sources]
    assert (ends, len(parsed.expressions)) == ([("bad.c", True), ("good.c", False)], 1)
