# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith access`` and ``layout --access`` as a user meets them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from access.programs import compiled
from documented import obeys
from linesmith_command import linesmith

from linesmith.analyzer.model import AccessOutcome

SOURCES = Path(__file__).with_name("sources")
SOURCE = (SOURCES / "list_under_a_lock.c").read_text()

BY_TYPE = (SOURCES / "of_a_type.txt").read_text()

BY_FUNCTION = (SOURCES / "of_a_function.txt").read_text()

BY_ADDRESS = (SOURCES / "of_an_instruction.txt").read_text()

BEHIND = (SOURCES / "behind_an_instruction.txt").read_text()

BESIDE = (SOURCES / "beside_a_layout.txt").read_text()


HANDED_ON = (SOURCES / "handed_to_functions.c").read_text()


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("program"), SOURCE)


def test_who_touches_a_type(program: Path) -> None:
    assert linesmith("access", program, "--type", "node", "--limit", "1").stdout == BY_TYPE
    member = linesmith("access", program, "--type", "node", "--member", "count").stdout
    head, _, rest = BY_TYPE.partition("     0x0")
    assert member == head + rest[rest.index("     0xc") :].partition("  walk w2")[0] + (
        "  2 functions:\n          walk w2\n          get r1\n"
    )


def test_what_functions_and_instructions_touch(program: Path) -> None:
    shown = linesmith("access", program, "--function", "walk").stdout
    assert re.sub(r"to 0x\w+", "to END", shown) == BY_FUNCTION
    shown = linesmith("access", program, "--address", "get+0x0").stdout
    # Whether the parameter is said to be in the register, or was found there, is up to the compiler.
    assert re.sub("outcome    (variable|propagation)", "outcome    RESOLVED", shown) == BY_ADDRESS
    assert linesmith("access", program, "--address", "get+0x3").stdout.startswith(BEHIND)
    assert linesmith("layout", program, "node", "--access").stdout.expandtabs() == BESIDE


def test_every_outcome_has_its_share(program: Path) -> None:
    shown = linesmith("access", program).stdout.splitlines()
    assert shown[1] == "8 accesses by 3 functions (4 reads, 2 writes, 1 update, 1 atomic)"
    assert [line.split("  ")[1] for line in shown[4:-3]] == [outcome.value for outcome in AccessOutcome]
    assert shown[-1] == "resolved: 100.0% of the 8 accesses that are neither to the stack nor in patched text"
    summary = json.loads(linesmith("access", program, "--format", "json").stdout)["summary"]
    assert sum(summary["outcomes"].values()) == sum(summary["kinds"].values()) == summary["accesses"]


@pytest.mark.parametrize(
    "question", [(), ("--type", "node"), ("--function", "walk"), ("--address", "get+0x0"), ("--address", "get+0x1")]
)
def test_documents_obey_their_schema(program: Path, question: tuple[str, ...]) -> None:
    done = linesmith("access", program, *question, "--format", "json")
    obeys(json.loads(done.stdout), "access")


def test_a_layout_with_accesses_obeys_its_schema(program: Path) -> None:
    document = json.loads(linesmith("layout", program, "node", "--access", "--format", "json").stdout)
    obeys(document, "layout")
    count = next(one for one in document["records"][0]["members"] if one["name"] == "count")
    assert count["accesses"]["counts"] == {"reads": 1, "writes": 2, "updates": 0, "atomics": 0}


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        (("--type", "nod"), "no type 'nod' in the debug information; did you mean node?"),
        (("--type", "node", "--member", "cuont"), "linesmith: struct node has no member cuont; did you mean count?"),
        (("--member", "count"), "linesmith access: --member needs the record; add --type TYPE"),
        (("--function", "wlak"), "no function 'wlak' in the analyzed code; did you mean walk?"),
        (("--address", "0x10"), "0x10 is not in an analyzed function"),
        (("--address", "walk+one"), "'walk+one' is not an address; write it as"),
        (("--type", "node", "--function", "walk"), "exclude each other; give one"),
    ],
)
def test_a_mistake_is_one_sentence(program: Path, question: tuple[str, ...], sentence: str) -> None:
    done = linesmith("access", program, *question)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert sentence in done.stderr


def test_a_member_that_nobody_touches_may_be_handed_to_functions(program: Path, tmp_path: Path) -> None:
    shown = linesmith("access", program, "--type", "node", "--member", "guard").stdout
    row, more, to, place = shown.splitlines()[-4:]
    assert row.split(maxsplit=6) == ["0x8", "guard", "-", "-", "-", "-", "no access known but to some struct lock"]
    assert more == "          code that is handed its address is not counted here"
    assert (to.strip(), place.split()[0]) == ("its address goes to lock:", "walk")
    words = ("access", compiled(tmp_path, HANDED_ON), "--type", "table", "--member", "size_mutex")
    lines = linesmith(*words).stdout.splitlines()
    assert lines[-7].endswith("no access known but to some struct mutex")
    assert [re.sub(r"\(.*/", "(", line) for line in lines[-6:]] == [
        "          code that is handed its address is not counted here",
        "          its address goes to acquire:",
        "            grow > size_mutex_lock (subject.c:9)",
        "            peek > size_mutex_lock (subject.c:9)",
        "          its address goes to release:",
        "            peek > size_mutex_unlock (subject.c:10)",
    ]
    document = json.loads(linesmith(*words, "--format", "json").stdout)
    obeys(document, "access")
    (member,) = document["types"][0]["members"]
    assert member["alone"] == "struct mutex"
    assert {(one["to"], one["function"]) for one in member["handed"]} >= {("acquire", "grow"), ("acquire", "peek")}
