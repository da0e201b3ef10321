# SPDX-License-Identifier: GPL-2.0-or-later
"""Code that depends on the order of members, and code that uses them: the cases of ``cases``, one way in each.

A case is the body of a function, or a whole unit if it declares ``struct rec``; a line with ``|`` in front stands
outside of the function. What the program says of it is in the lines that begin with ``@``: in ``dependencies.txt`` the
kind, the members, what must hold and ``(free)`` where the order may change all the same; in ``uses.txt`` the kind of
use and the member.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from source_scan.conftest import Scanned
from source_scan.scanner import Unit, run
from text_cases import TextCase, read_cases, text_cases

CASES = Path(__file__).with_name("cases")
DEPENDENCIES, USES = CASES / "dependencies.txt", CASES / "uses.txt"
# The members of `rec` begin at 0, 8, 12, 16, 24, 32 and 40 bytes.
DEPENDING = """\
typedef unsigned long size_t;
void *memset(void *, int, size_t); void *memcpy(void *, const void *, size_t); void free(void *);
void kmem_cache_free(void *, void *); unsigned long copy_to_user(void *, const void *, unsigned long);
#define offsetof(t, m) __builtin_offsetof(t, m)
#define container_of(p, t, m) ({ void *__p = (void *)(p); ((t *)(__p - offsetof(t, m))); })
#define BUILD_BUG_ON(c) do { __attribute__((error("x"))) extern void bad(void); if (!(!(c))) bad(); } while (0)
#define BUILD_BUG_ON_ZERO(e) ((int)(sizeof(struct { int:(-!!(e)); })))
#define READ_ONCE(x) (*(const volatile __typeof__(x) *)&(x))
struct node { struct node *next; };
struct rec { struct node n; int a; int b; long c; struct node m; char d[8]; int e; };
struct outer { int x; struct rec r; };
"""
USING = """\
typedef struct { int counter; } count_t;
struct rec { int a; union { long u; struct { short s, t; }; }; int arr[4]; struct rec *next; count_t c; };
#define READ_ONCE(x) (*(const volatile __typeof__(x) *)&(x))
void g(int *);
"""


def source_of(case: TextCase, before: str, function: str) -> str:
    text = "\n".join(case.lines)
    if "struct rec {" in text:
        return f"{text}\n"
    outside = "".join(f"{line[1:]}\n" for line in case.lines if line.startswith("|"))
    body = "\n".join(line for line in case.lines if not line.startswith("|"))
    return f"{before}{outside}{function}\n{{\n{body}\n\treturn 0;\n}}\n"


def scanned_cases(
    executable: Path, folder: Path, file: Path, records: Sequence[str], before: str, function: str
) -> dict[str, Unit]:
    """What one run of the program says of each case of a file."""
    cases = list(read_cases(file))
    commands = []
    for number, case in enumerate(cases):
        (folder / f"{number}.c").write_text(source_of(case, before, function))
        flags = (case.words("flags") or "").split()
        arguments = ["gcc", "-O2", *flags, "-c", "x.c"]
        commands.append({"directory": str(folder), "file": f"{number}.c", "arguments": arguments})
    units = run(executable, records, commands)
    assert [unit["complaint"] for unit in units] == [""] * len(cases)
    return {case.title: unit for case, unit in zip(cases, units, strict=True)}


def expected(case: TextCase) -> list[str]:
    return [" ".join(words) for words in case.asked if words[0] != "flags"]


@pytest.fixture(scope="module")
def depending(executable: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Unit]:
    function = "long f(struct rec *r, struct outer *o, struct node *n)"
    folder = tmp_path_factory.mktemp("depending")
    return scanned_cases(executable, folder, DEPENDENCIES, ["rec", "outer"], DEPENDING, function)


@pytest.fixture(scope="module")
def using(executable: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Unit]:
    function = "int f(struct rec *r, int i)"
    return scanned_cases(executable, tmp_path_factory.mktemp("using"), USES, ["rec", "count_t"], USING, function)


@text_cases(DEPENDENCIES)
def test_what_depends_on_the_order(depending: dict[str, Unit], case: TextCase) -> None:
    assert [dependency_text(one) for one in depending[case.title]["dependencies"]] == expected(case)


def dependency_text(entry: Unit) -> str:
    limit = f" {entry['relation']} {entry['bytes']}" if entry["relation"] else ""
    record = f" of {entry['record']}" if entry["record"] != "rec" else ""
    count = f" in {entry['count']} rows" if entry["count"] > 1 else ""
    macro = f" by {entry['macro']}" if entry["macro"] else ""
    free = "" if entry["binds"] else " (free)"
    return f"{entry['kind']}: {' '.join(entry['members']) or 'all'}{limit}{record}{count}{macro}{free}"


@text_cases(USES)
def test_what_is_done_with_a_member(using: dict[str, Unit], case: TextCase) -> None:
    uses = using[case.title]["uses"]
    assert [use_text(one) for one in uses] == expected(case)


def use_text(entry: Unit) -> str:
    record = f" of {entry['record']}" if entry["record"] != "rec" else ""
    macro = f" by {entry['macro']}" if entry["macro"] else ""
    return f"{entry['kind']} {entry['member']}{record}{macro}{'' if entry['function'] else ' (no function)'}"


def test_what_a_macro_gives_is_told_where_it_is_used(scanned: Scanned) -> None:
    unit = scanned("struct rec { int a, b; };\n#define INIT(x) \\\n  { x, 2 }\nstruct rec v = INIT(1);\n")
    (entry,) = unit["dependencies"]
    assert (entry["line"], entry["text"], entry["macro"]) == (4, "struct rec v = INIT(1);", "INIT")
    assert entry["written"].endswith("case.c:3")
    text = "struct rec { int a; };\n#define A(x) \\\n ((x)->a)\nint f(struct rec *r) {\n return A(r); }\n"
    (use,) = scanned(text)["uses"]
    assert (use["line"], use["macro"], use["written"].rsplit("/")[-1]) == (5, "A", "case.c:3")


def test_a_name_in_an_argument_of_a_macro_stands_where_it_is_written(scanned: Scanned) -> None:
    text = "#define READ_ONCE(x) (*(volatile int *)&(x))\nstruct rec { int u; };\n"
    (use,) = scanned(f"{text}int f(struct rec *r)\n{{ return READ_ONCE(\n\tr->u); }}\n")["uses"]
    assert (use["line"], use["kind"]) == (5, "read")


def test_two_records_of_one_name_are_told_apart(scanned: Scanned) -> None:
    text = "void f(void) { struct rec { int a; } x; x.a = 1; }\nvoid g(void) { struct rec { int a; } x; x.a = 1; }\n"
    unit = scanned(text)
    assert [record["line"] for record in unit["records"]] == [1, 2]
    assert [(use["line"], use["declaration"]) for use in unit["uses"]] == [(1, 0), (2, 1)]
