# SPDX-License-Identifier: GPL-2.0-or-later
"""No spelling hides from the lint that a change makes a record grow; what is not looked at is named, and a finding."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from linesmith_command import linesmith
from lint_commits import repository

BODY = "\tlong root;\n\tlong uses;\n"
MORE = f"{BODY}\tlong more[9];\n"
PLAIN = f"struct cache {{\n{BODY}}};\n"
LONG = "x" * 2000
DEEP = "(" * 9 + "64" + ")" * 9
# How a record of 88 bytes is written that was one of 16; each was once taken for none.
HIDDEN = {
    "a bracket in a dead arm": f"struct cache {{\n#if 0\n\t)\n#endif\n{MORE}}};\n",
    "a brace in a dead arm": f"struct cache {{\n#if 0\n\t{{\n#endif\n{MORE}}};\n",
    "brackets deeper than people write": f"struct cache {{\n#if 0\n{'(' * 101}{')' * 101}\n#endif\n{MORE}}};\n",
    "a long attribute before the name": f"struct __attribute__((aligned(8) /* {LONG} */)) cache {{\n{MORE}}};\n",
    "a deep attribute before the name": f"struct __attribute__((aligned({DEEP}))) cache {{\n{MORE}}};\n",
    "a long attribute behind the body": f"struct cache {{\n{BODY}}} /* {LONG} */ __attribute__((aligned(64)));\n",
    "a semicolon in a comment": f"struct /* ; */ cache {{\n{MORE}}};\n",
    "a semicolon behind the body": f"struct cache {{\n{BODY}}} /* ; */ __attribute__((aligned(64)));\n",
    "a keyword on two lines": f"str\\\nuct cache {{\n{MORE}}};\n",
    "digraphs": f"struct cache <%\n{MORE}%>;\n",
}


# Each in a header of its own, under a name of its own.
BEFORE = {f"{number}.h": PLAIN.replace("cache", f"cache{number}") for number in range(len(HIDDEN))}
AFTER = {f"{n}.h": text.replace("cache", f"cache{n}") for n, text in enumerate(HIDDEN.values())}


def test_no_spelling_hides_a_record_from_the_lint(tmp_path: Path) -> None:
    made = repository(tmp_path / "tree")
    base = made.commit(BEFORE)
    document = json.loads(made.lint(base, made.commit(AFTER, base), "--format", "json").stdout)
    assert document["changed"] == len(HIDDEN), document


def test_no_spelling_hides_a_record_that_comes_to_lie_in_another_file(tmp_path: Path) -> None:
    made = repository(tmp_path / "tree")
    base = made.commit(BEFORE)
    moved = dict.fromkeys(BEFORE, "\n") | {f"new{name}": text for name, text in AFTER.items()}
    document = json.loads(made.lint(base, made.commit(moved, base), "--format", "json").stdout)
    assert document["changed"] == len(HIDDEN), document


def test_no_spelling_hides_a_record_of_a_patch(tmp_path: Path) -> None:
    made = repository(tmp_path / "tree")
    base = made.commit(BEFORE)
    head = made.commit(AFTER, base)
    for name, text in BEFORE.items():
        (made.root / name).write_text(text)
    (tmp_path / "p.patch").write_text(made.git("diff", base, head) + "\n")
    done = linesmith("diff", "--patch", tmp_path / "p.patch", "--tree", made.root)
    assert done.returncode == 1, done.stdout + done.stderr
    incomplete = "some records were not found; review the file by hand"
    told = done.stdout.splitlines()
    missing = [
        name
        for number, name in enumerate(BEFORE)
        if not any(f"cache{number} grows from 16 to" in one or (name in one and incomplete in one) for one in told)
    ]
    assert missing == []


LONG_NAME = "t" * 1200


@pytest.mark.parametrize(
    "text",
    [
        f"enum /* {LONG} */ {{ COUNT = %d }};\nstruct cache {{\n{BODY}\tlong rest[COUNT];\n}};\n",
        f"typedef long {LONG_NAME}[%d];\nstruct cache {{\n{BODY}\t{LONG_NAME} rest;\n}};\n",
    ],
)
def test_what_a_header_defines_is_compared_whatever_its_length(tmp_path: Path, text: str) -> None:
    made = repository(tmp_path / "tree")
    base = made.commit({"a.h": text % 1})
    assert json.loads(made.lint(base, made.commit({"a.h": text % 9}, base), "--format", "json").stdout)["changed"] == 1
