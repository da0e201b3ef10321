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

from linesmith.analyzer.access.store import read_accesses

EXECUTABLE = program()
FLAGS = Expression((("inode", "i_state"),), "", "unsigned long", 8, whole=False)
NEXT = Expression((("list_head", "next"),), "", "struct list_head *", 8, whole=False)
POINTEE = Expression((), "", "unsigned long", 8, whole=False)
ALL_OF_LIST = Expression((), "", "struct list_head", 16, whole=True)
IN_BYTES = Expression((("sk_buff", "cb"), ("tcp_skb_cb", "seq")), "", "unsigned int", 4, whole=False)


def named(type_name: str, *members: tuple[str, str], width: int = 8) -> Named:
    """An access to bytes that fall into these members, the last one being the innermost."""
    return Named(type_name, Touched(frozenset(members), frozenset(members[-1:])), width, frozenset())


STATE = named("struct inode", ("inode", "i_state"))
COUNT = named("struct inode", ("inode", "i_count"), width=4)
DENTRY = named("struct dentry", ("dentry", "d_lru"), ("list_head", "next"))
PREVIOUS = named("struct list_head", ("list_head", "prev"))
CONTROL = named("struct sk_buff", ("sk_buff", "cb"), width=4)
PAGE = named("struct page", ("page", "flags"))
RULES = [
    ("the member of the line agrees", STATE, [FLAGS], Ruling.OUTERMOST),
    ("an inner record agrees without the outermost", DENTRY, [NEXT], Ruling.INNER),
    ("another member disagrees", COUNT, [FLAGS], None),
    ("the same member of another record disagrees", named("struct file", ("file", "i_state")), [FLAGS], None),
    ("a record that is copied agrees with each of its members", PREVIOUS, [ALL_OF_LIST], Ruling.OUTERMOST),
    ("bytes that the source casts agree with the array of bytes", CONTROL, [IN_BYTES], Ruling.OUTERMOST),
    ("a plain dereference agrees by its width", PAGE, [FLAGS, POINTEE], Ruling.POINTEE),
    ("a plain dereference of another width does not", replace(PAGE, width=4), [FLAGS, POINTEE], None),
    ("a line of plain dereferences alone is not compared", PAGE, [POINTEE], Ruling.NO_MEMBERS),
    ("scalars agree however their type is spelled", named("long unsigned int"), [FLAGS], Ruling.OUTERMOST),
]


@pytest.mark.parametrize(("rule", "access", "on_line", "ruling"), RULES)
def test_what_agrees(rule: str, access: Named, on_line: list[Expression], ruling: Ruling | None) -> None:
    assert rule_on_line(access, on_line) is ruling, rule


def test_members_of_nameless_records_count_for_the_last_named_and_paths_are_below_the_roots() -> None:
    steps = [["outer", "v"], ["inner", "named"], ["", "q"]]
    assert members_of(steps) == (("outer", "v"), ("inner", "named"), ("inner", "named.q"))
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
@pytest.mark.parametrize("compiler", ["gcc", pytest.param("clang-19", marks=pytest.mark.study)])
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
