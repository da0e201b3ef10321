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
SOURCE = (Path(__file__).with_name("sources") / "member_expressions.c").read_text()
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
