# SPDX-License-Identifier: GPL-2.0-or-later
"""What counts as agreement between the access map and the sources, one rule per row."""

from __future__ import annotations

import gzip
import subprocess
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from access.agreement import AGREEING, Comparison, Named, Ruling, resolved_rows, rule_on_line
from access.expressions import Expression, members_of, read_expressions, relative
from access.levels import Touched
from access.member_expressions import program, run

from linesmith.analyzer.access import read_accesses

EXECUTABLE = program()
FLAGS = Expression((("inode", "i_state"),), "", "unsigned long", 8, whole=False)
NEXT = Expression((("list_head", "next"),), "", "struct list_head *", 8, whole=False)
POINTEE = Expression((), "", "unsigned long", 8, whole=False)
ALL_OF_LIST = Expression((), "", "struct list_head", 16, whole=True)
IN_BYTES = Expression((("sk_buff", "cb"), ("tcp_skb_cb", "seq")), "", "unsigned int", 4, whole=False)


def named(type_name: str, *members: tuple[str, str], width: int = 8) -> Named:
    """An access to bytes that fall into these members, the last one being the innermost."""
    return Named(type_name, Touched(frozenset(members), frozenset(members[-1:])), width, frozenset())


PAGE_FLAGS = named("struct page", ("page", "flags"))
# Name of the rule: what the access touches, the expressions of its line, the ruling.
RULES: dict[str, tuple[Named, list[Expression], Ruling | None]] = {
    "the member of the line agrees": (named("struct inode", ("inode", "i_state")), [FLAGS], Ruling.OUTERMOST),
    "an inner record agrees without the outermost": (
        named("struct dentry", ("dentry", "d_lru"), ("list_head", "next")),
        [NEXT],
        Ruling.INNER,
    ),
    "another member disagrees": (named("struct inode", ("inode", "i_count"), width=4), [FLAGS], None),
    "the same member of another record disagrees": (named("struct file", ("file", "i_state")), [FLAGS], None),
    "a record that is copied agrees with each of its members": (
        named("struct list_head", ("list_head", "prev")),
        [ALL_OF_LIST],
        Ruling.OUTERMOST,
    ),
    "bytes that the source casts agree with the array of bytes": (
        named("struct sk_buff", ("sk_buff", "cb"), width=4),
        [IN_BYTES],
        Ruling.OUTERMOST,
    ),
    "a plain dereference agrees by its width": (PAGE_FLAGS, [FLAGS, POINTEE], Ruling.POINTEE),
    "a plain dereference of another width does not": (replace(PAGE_FLAGS, width=4), [FLAGS, POINTEE], None),
    "a line of plain dereferences alone is not compared": (PAGE_FLAGS, [POINTEE], Ruling.NO_MEMBERS),
    "scalars agree however their type is spelled": (named("long unsigned int"), [FLAGS], Ruling.OUTERMOST),
}


@pytest.mark.parametrize("rule", RULES)
def test_what_agrees(rule: str) -> None:
    access, on_line, ruling = RULES[rule]
    assert rule_on_line(access, on_line) is ruling


def test_members_of_nameless_records_count_for_the_last_record_with_a_name() -> None:
    steps = [["outer", "v"], ["inner", "named"], ["", "q"]]
    assert members_of(steps) == (("outer", "v"), ("inner", "named"), ("inner", "named.q"))


def test_paths_are_compared_below_the_roots() -> None:
    assert relative("/src/linux/./mm/../mm/mmap.c", ["/objects", "/src/linux/"]) == "mm/mmap.c"


SOURCE = """\
struct link { struct link *next; long key; };
struct table { int size; struct link *heads[16]; struct { short low, high; } bounds; };

long find(struct table *table, long key)
{
    struct link *link = table->heads[key & 15];

    while (link && link->key != key)
        link = link->next;
    if (link && table->bounds.high > key)
        table->size++;
    return link ? link->key : table->bounds.low;
}
"""


@pytest.mark.skipif(EXECUTABLE is None, reason="member_expressions is not built: no Clang 19 to link")
@pytest.mark.parametrize("compiler", ["gcc", "clang-19"])
def test_the_map_of_compiled_c_agrees_with_its_source(compiler: str, tmp_path: Path) -> None:
    source, library, expressions = tmp_path / "find.c", tmp_path / "find.so", tmp_path / "expressions.gz"
    source.write_text(SOURCE)
    command = [compiler, "-O2", "-g", "-shared", "-fPIC", str(source), "-o", str(library)]
    subprocess.run(command, check=True, capture_output=True)
    assert EXECUTABLE is not None
    with gzip.open(expressions, "wb") as lines:
        lines.write(b"\n".join(run(EXECUTABLE, [str(source), "--"], 60).expressions))
    roots = [str(tmp_path)]
    accesses = read_accesses(library).accesses
    comparison = Comparison(library, accesses, read_expressions([expressions], roots), roots)
    rulings = Counter(comparison.ruling(row) for row in resolved_rows(accesses))
    assert rulings[Ruling.OUTERMOST] >= 4
    assert set(rulings) <= {*AGREEING, Ruling.UNREAD}
