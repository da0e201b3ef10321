# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith access`` and ``layout --access`` as a user meets them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
from access.programs import compiled
from linesmith_command import linesmith

from linesmith.analyzer.model import AccessOutcome
from linesmith.analyzer.report import access_json, layout_json

SOURCE = """\
static inline void put(struct node *n, int v) { n->count = v; n->total += v; }
__attribute__((noinline)) int get(struct node *n) { return n->count; }
__attribute__((noinline)) void lock(struct lock *l) { __atomic_fetch_add(&l->word, 1, 5); }
__attribute__((noinline)) long walk(struct outer *o)
{
	long sum = o->key;
	for (struct node *n = o->node.next; n; n = n->next) {
		put(n, 3);
		sum += get(n);
	}
	lock(&o->node.guard);
	o->node.count = 0;
	return sum;
}
"""

BY_TYPE = """\
struct node, 24 bytes: 6 accesses by 2 functions (3 reads, 2 writes, 1 update)
  within   struct outer.node 2

  offset  member                             reads  writes updates atomics  functions
     0x0  next                                   2       -       -       -  walk r2
     0xc  count                                  1       2       -       -  walk w2 and 1 more
    0x10  total                                  -       -       1       -  walk u1

`--member NAME` names all functions of a member, `--limit N` more of each
"""

BY_MEMBER = """\
struct node, 24 bytes: 6 accesses by 2 functions (3 reads, 2 writes, 1 update)
  within   struct outer.node 2

  offset  member                             reads  writes updates atomics  functions
     0xc  count                                  1       2       -       -  2 functions:
          walk w2
          get r1
"""

BY_FUNCTION = """\
walk, 0x100020 to END: 6 accesses, 6 of 6 resolved that are neither stack nor patched

  what                                                     kind       width count  lines
  own code
    struct outer.node.next                                 read           8     1  subject.c:11
    struct outer.key                                       read           8     1  subject.c:10
    struct node.next                                       read           8     1  subject.c:11
    struct outer.node.count                                write          4     1  subject.c:16
  inlined: put
    struct node.total                                      read-write     8     1  subject.c:5
    struct node.count                                      write          4     1  subject.c:5
"""

BY_ADDRESS = """\
0x100000 get+0x0
  read of 4 bytes: struct node.count
    at         struct node+0xc
    outcome    RESOLVED
    source     subject.c:6
"""

BEHIND = """\
0x100003 get+0x3
  touches no memory
  the instruction before it that does is get+0x0
  read of 4 bytes: struct node.count
"""

BESIDE = """\
struct node {
        struct node *              next;                 /*     0     8 */ /* read by walk */
        struct lock                guard;                /*     8     4 */ /* no access known but to some struct lock */
        int                        count;                /*    12     4 */ /* read by get; written by walk */
        long int                   total;                /*    16     8 */ /* read by walk; written by walk */

        /* size: 24, cachelines: 1, members: 4 */
        /* last cacheline: 24 bytes */
};
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("program"), SOURCE)


def test_who_touches_a_type(program: Path) -> None:
    assert linesmith("access", program, "--type", "node", "--limit", "1").stdout == BY_TYPE


def test_all_functions_of_one_member(program: Path) -> None:
    assert linesmith("access", program, "--type", "node", "--member", "count").stdout == BY_MEMBER


def test_nothing_is_known_of_a_member_that_nobody_touches(program: Path) -> None:
    told = linesmith("access", program, "--type", "node", "--member", "guard").stdout
    row, more = told.splitlines()[-2:]
    assert row.split(maxsplit=6) == ["0x8", "guard", "-", "-", "-", "-", "no access known but to some struct lock"]
    assert more == "          code that is handed its address is not counted here"


def test_a_member_that_is_not_there_is_told_with_the_one_that_is_near(program: Path) -> None:
    done = linesmith("access", program, "--type", "node", "--member", "cuont")
    assert done.stderr == "linesmith: struct node has no member cuont; did you mean count?\n"


def test_a_member_needs_its_record(program: Path) -> None:
    done = linesmith("access", program, "--member", "count")
    assert done.stderr == "linesmith access: --member is one of a record; add --type TYPE\n"


def test_what_a_function_touches(program: Path) -> None:
    shown = linesmith("access", program, "--function", "walk").stdout
    assert re.sub(r"to 0x\w+", "to END", shown) == BY_FUNCTION


def test_beside_the_members(program: Path) -> None:
    assert linesmith("layout", program, "node", "--access").stdout.expandtabs() == BESIDE


def test_what_an_instruction_touches(program: Path) -> None:
    shown = linesmith("access", program, "--address", "get+0x0").stdout
    # Whether the parameter is said to be in the register, or was found there, is up to the compiler.
    assert re.sub("outcome    (variable|propagation)", "outcome    RESOLVED", shown) == BY_ADDRESS


def test_an_instruction_that_touches_no_memory_shows_the_one_before(program: Path) -> None:
    shown = linesmith("access", program, "--address", "get+0x3").stdout
    assert shown.startswith(BEHIND)


def test_every_outcome_with_its_share_and_how_many_are_resolved(program: Path) -> None:
    shown = linesmith("access", program).stdout.splitlines()
    assert shown[1] == "8 accesses by 3 functions (4 reads, 2 writes, 1 update, 1 atomic)"
    rows = [line.split("  ")[1] for line in shown[4:-3]]
    assert rows == [outcome.value for outcome in AccessOutcome]
    assert shown[-1] == "resolved: 100.0% of the 8 accesses that are neither to the stack nor in patched text"


@pytest.mark.parametrize(
    "question", [(), ("--type", "node"), ("--function", "walk"), ("--address", "get+0x0"), ("--address", "get+0x1")]
)
def test_documents_obey_their_schema(program: Path, question: tuple[str, ...]) -> None:
    done = linesmith("access", program, *question, "--format", "json")
    jsonschema.validate(json.loads(done.stdout), access_json.schema())


def test_a_layout_with_accesses_obeys_its_schema(program: Path) -> None:
    document = json.loads(linesmith("layout", program, "node", "--access", "--format", "json").stdout)
    jsonschema.validate(document, layout_json.schema())
    count = next(one for one in document["records"][0]["members"] if one["name"] == "count")
    assert count["accesses"]["counts"] == {"reads": 1, "writes": 2, "updates": 0, "atomics": 0}


def test_outcomes_of_the_document_sum_to_the_accesses(program: Path) -> None:
    summary = json.loads(linesmith("access", program, "--format", "json").stdout)["summary"]
    assert sum(summary["outcomes"].values()) == sum(summary["kinds"].values()) == summary["accesses"]


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        (("--type", "nod"), "no struct or union is called 'nod' in the debug information; did you mean node?"),
        (("--function", "wlak"), "no function is called 'wlak' in the code that was mapped; did you mean walk?"),
        (("--address", "0x10"), "0x10 lies in no function whose code was mapped"),
        (("--address", "walk+one"), "'walk+one' is no address; write it as"),
        (("--type", "node", "--function", "walk"), "are different questions; ask one at a time"),
    ],
)
def test_a_mistake_is_one_sentence(program: Path, question: tuple[str, ...], sentence: str) -> None:
    done = linesmith("access", program, *question)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
