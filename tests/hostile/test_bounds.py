# SPDX-License-Identifier: GPL-2.0-or-later
"""What is left out because it is longer, larger or deeper than people write is named in the result."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from linesmith_command import linesmith
from lint_commits import repository

from linesmith.analyzer.base.errors import PatchRefused
from linesmith.patches.revisions.mail_texts import mails_of
from linesmith.patches.scan.text_scan import TOO_LARGE, text_places
from linesmith.patches.treewide.mentions import unread_files

MOST_RECORDS = 30
LARGE = b"struct queue q = { 1 };\n" + b" " * (8 << 20)


def test_initialisers_that_were_not_looked_for_are_named(tmp_path: Path) -> None:
    sides = [
        "".join(f"struct r{number:03} {{\n\tlong {first};\n\tlong {last};\n}};\n" for number in range(MOST_RECORDS + 2))
        for first, last in (("a", "b"), ("b", "a"))
    ]
    made = repository(tmp_path / "tree")
    base = made.commit({"a.h": sides[0], "large.c": LARGE})
    head = made.commit({"a.h": sides[1], "large.c": LARGE}, base)
    words = ("lint", "--tree", made.root, "--base-ref", base, "--head-ref", head, "--format", "json")
    remarks = json.loads(linesmith(*words, cache=tmp_path / "cache").stdout)["remarks"]
    left = "2 more records whose members are in another order"
    assert [one for one in remarks if one.startswith(f"initialisers by position were not looked for of {left}")]
    assert f"initialisers by position were not looked for in large.c: {TOO_LARGE}" in remarks


def test_a_file_too_large_to_search_is_among_those_that_failed(tmp_path: Path) -> None:
    (tmp_path / "large.c").write_bytes(LARGE)
    for _ in range(2):  # the second answer is that of the cache
        assert text_places(tmp_path, ("queue",), print)["queue"]["large.c"].unread


def test_a_file_that_a_series_for_a_tree_leaves_out_is_named(tmp_path: Path) -> None:
    with (tmp_path / "giant.c").open("wb") as file:
        file.truncate(33 << 20)
    (found,) = unread_files(tmp_path)
    assert (found.place, found.reason) == ("giant.c:1", "this file is larger than 32 MiB and was not read")


def _mail(parts: str, boundary: str) -> str:
    return f'Content-Type: multipart/mixed; boundary="{boundary}"\n\n--{boundary}\n{parts}\n--{boundary}--\n'


@pytest.mark.parametrize("deep", [True, False])
def test_a_mail_with_more_parts_than_people_send_is_refused(deep: bool) -> None:
    text = "Content-Type: text/plain\n\n--- a/a.h\n+++ b/a.h\n"
    if deep:
        for level in range(10):
            text = _mail(text, f"b{level}")
    else:
        text = _mail("\n--b\n".join([text] * 1001), "b")
    with pytest.raises(PatchRefused, match="parts"):
        mails_of("a.patch", f"Subject: x\n{text}".encode())


def test_records_deeper_than_people_write_count_as_changed(tmp_path: Path) -> None:
    deep = "struct top { " + "struct { " * 70 + "long a; " + "} m; " * 70 + "};\n"
    made = repository(tmp_path / "tree")
    base = made.commit({"a.h": deep})
    head = made.commit({"a.h": deep.replace("long a", "long int a")}, base)
    assert " 1 changed" in made.lint(base, head).stdout
