# SPDX-License-Identifier: GPL-2.0-or-later
"""What counts as agreement between the access map and the sources, and what the sources are said to reach."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from access.agreement import AGREEING, Comparison, Ruling, resolved_rows
from access.expressions import read_expressions
from access.member_expressions import parse, program, run

from linesmith.analyzer.access.store import read_accesses

EXECUTABLE = program()


SOURCES = Path(__file__).with_name("sources")
SOURCE = (SOURCES / "find.c").read_text()


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


# The program that lists member expressions, on a source whose comments say what each line reaches

pytestmark = pytest.mark.skipif(EXECUTABLE is None, reason="member_expressions is not built: no Clang 19 to link")

HEADER = "static inline int get(count_t *c) { return c->counter; } // read count_t.counter\n"
REACHED = (Path(__file__).with_name("sources") / "member_expressions.c").read_text()
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
    for name, text in (("case.c", REACHED), ("header.h", HEADER)):
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
