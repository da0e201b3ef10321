# SPDX-License-Identifier: GPL-2.0-or-later
# ruff: noqa: E501 - the rows of a report are as long as perf prints them
"""``linesmith hot`` as a user meets it: a compiled program, a pasted report, text and JSON."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import jsonschema
import pytest
from linesmith_command import linesmith

from linesmith.analyzer.report.hot_json import schema

DOCS = Path(__file__).resolve().parents[2] / "docs"
SOURCE = Path(__file__).with_name("program.c")

REPORT = """\
as measured on the build server:
  ----------------------------------------------------------------------
     0      40      160       0        0        0      0x7f2210
  ----------------------------------------------------------------------
    10.00%   10.00%    0.00%    0.00%    0.00%     0x18    0    1   0x401130    90   80   70    40    4  [.] tree_insert         program  program.c:50   0
    10.00%   10.00%    0.00%    0.00%    0.00%     0x20    0    1   0x401150    90   80   70    44    4  [.] tree_first          program  program.c:56   0
    30.00%   30.00%    0.00%    0.00%    0.00%     0x28    0    1   0x401170    90   80   70    90    4  [.] lock_slowpath       program  program.c:61   0
    50.00%   50.00%    0.00%    0.00%    0.00%     0x30    0    1   0x401190    90   80   70   120    4  [.] lock_spin_on_owner  program  program.c:66   0
"""

EXPECTED = """\
report.txt (as measured on the build server)
program.o
lines by the cost that a change of the layout can remove (its upper limit); the number of a line is
  its rank by contended loads, counted from 0

line 0 at 0x7f2210: 100.0% of the lines quoted, 200 contended loads, no stores sampled
  cost     16,400 cycles on contended loads and 6,110 on other slow loads (as sampled)
  removable 0 to 200 of 200 contended loads, 0 to 22,510 cycles: 0.0% to 100.0% of the lines quoted
  object   mapping, begins with the line (phase 0 of 64)
  resolved: 100% of the samples explained; runner-up WHAT, confidence SURE
  held by  file_node

  offset  member                               reads   writes   share  functions
    0x18  tree.root                               40 inferred   10.0%  tree_insert
    0x20  tree.leftmost                           44        -   10.0%  tree_first
    0x28  lock.count                              90 inferred   30.0%  lock_slowpath
    0x30  lock.owner                             120 inferred   50.0%  lock_spin_on_owner

  waits for stores to contended      cycles  on
  lock  itself         0 to 160 0 to 13,120  4 CPUs after 4 CPUs, node 0
  lock  tree           0 to 160 0 to 13,120  4 CPUs after 4 CPUs, node 0
  tree  lock            0 to 40  0 to 3,280  4 CPUs after 4 CPUs, node 0
  tree  itself          0 to 40  0 to 3,280  4 CPUs after 4 CPUs, node 0

  false sharing of tree with lock, which is written; lock contention on lock (80% of the line),
      which moving members does not remove
    - the lock is mapping.lock (sleep_lock); what it protects the code does not tell
    - what can help: shard the lock with what it protects, per CPU or per node (`suggest --shard`
      replays that on a recording)
    - what can help: shrink it: 24 bytes that many CPUs write, where a lock of 8 may do
    - what can help: read before writing, and hold it for less: test what is usually true without
      the lock
    - no store was sampled on this line: writers are inferred, or not known
    - lock is written: taking or releasing a lock writes it
    - tree is written: tree_insert writes it
    - how often each member is written was not sampled: a written member may wait for itself only,
      or for others only

4 rows on 1 line: 4 resolved
294 samples in = 294 out: 294 resolved

remarks:
  line 3 of the text: no heading says whether HITM or peer snoops were counted; HITM is assumed
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    subprocess.run(["gcc", "-g", "-O1", "-c", SOURCE, "-o", tmp_path / "program.o"], check=True)
    (tmp_path / "report.txt").write_text(REPORT)
    return tmp_path


def hot(folder: Path, *arguments: str) -> str:
    ran = linesmith("hot", folder / "program.o", folder / "report.txt", *arguments, cache=folder / "cache")
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout.replace(f"{folder}/", "")


def test_the_text(folder: Path) -> None:
    shown = re.sub(r"runner-up .*, confidence [\d.]+%", "runner-up WHAT, confidence SURE", hot(folder))
    assert shown == EXPECTED


def test_kernel_lines_with_the_elf_of_a_program_say_which_file_to_give(folder: Path) -> None:
    (folder / "report.txt").write_text(REPORT.replace("[.]", "[k]"))
    reason = "the ELF file is a program; give the kernel's vmlinux instead of it for such lines"
    assert reason in " ".join(hot(folder).split())
    refused = linesmith("suggest", folder / "program.o", folder / "report.txt")
    assert reason in refused.stderr


def test_the_json_obeys_its_schema(folder: Path) -> None:
    document = json.loads(hot(folder, "--format", "json"))
    jsonschema.validate(document, schema())
    line = document["lines"][0]
    assert (line["rank"], line["share"], line["objects"][0]["type"], line["objects"][0]["phase"]) == (
        0,
        1.0,
        "mapping",
        0,
    )
    assert [(one["path"], one["offset"], one["functions"]) for one in line["members"]][:2] == [
        ("tree.root", 0x18, ["tree_insert"]),
        ("tree.leftmost", 0x20, ["tree_first"]),
    ]
    assert line["triage"]["kinds"] == ["false sharing", "lock contention"]
    assert line["cost"]["removable"] == {"least": 0.0, "most": 200.0}
    assert document["accounts"] == {"samples": 294, "outcomes": {"resolved": 294}}


def test_the_schema_beside_the_page_is_that_of_the_code() -> None:
    assert json.loads((DOCS / "schema-hot.json").read_text()) == json.loads(json.dumps(schema()))


def test_a_type_that_no_line_holds_is_refused_with_those_found(folder: Path) -> None:
    ran = linesmith("hot", folder / "program.o", folder / "report.txt", "--type", "inode", cache=folder / "cache")
    assert ran.returncode == 2
    missing = "no struct or union is called so in the debug information (did you mean node, file_node?)"
    assert ran.stderr.endswith(f"was found to hold inode: {missing}; found: mapping\n")


def test_a_report_of_totals_only_names_no_members(folder: Path) -> None:
    table = "      0  0xff1100088366d880  0  10  50.00%  20  10  10  40  30  10  10  0  5  5  0  5  10  0  0  0  0\n"
    (folder / "report.txt").write_text("Shared Data Cache Line Table\n" + table)
    ran = linesmith("hot", folder / "program.o", folder / "report.txt", cache=folder / "cache")
    assert ran.returncode == 2
    assert "no offsets" in ran.stderr or "not a" in ran.stderr
