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


@pytest.mark.parametrize("text", HIDDEN.values(), ids=HIDDEN)
def test_no_spelling_hides_a_record_from_the_lint(tmp_path: Path, text: str) -> None:
    made = repository(tmp_path / "tree")
    base = made.commit({"a.h": PLAIN})
    for files in ({"a.h": text}, {"a.h": "\n", "b.h": text}):
        head = made.commit(files, base)
        document = json.loads(made.lint(base, head, "--type", "cache", "--format", "json").stdout)
        assert document["changed"] == 1, document


@pytest.mark.parametrize("text", HIDDEN.values(), ids=HIDDEN)
def test_no_spelling_hides_a_record_of_a_patch(tmp_path: Path, text: str) -> None:
    made = repository(tmp_path / "tree")
    base = made.commit({"a.h": PLAIN})
    head = made.commit({"a.h": text}, base)
    (made.root / "a.h").write_text(PLAIN)
    (tmp_path / "p.patch").write_text(made.git("diff", base, head) + "\n")
    done = linesmith("diff", "--patch", tmp_path / "p.patch", "--tree", made.root)
    assert done.returncode == 1, done.stdout + done.stderr
    grows = "cache grows from 16 to" in done.stdout
    assert grows or "some records were not found; review the file by hand" in done.stdout


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
