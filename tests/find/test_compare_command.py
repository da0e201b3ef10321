# SPDX-License-Identifier: GPL-2.0-or-later
# ruff: noqa: E501 - the rows of a report are as long as perf prints them
"""``linesmith compare`` as a user meets it: a mail with two reports, before a change and after it."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from linesmith_command import linesmith

from linesmith.analyzer.model import Recording
from linesmith.analyzer.report.compare_json import schema
from linesmith.plugins.profiles.recorded import encode
from linesmith.plugins.registry import read_profiles

DOCS = Path(__file__).resolve().parents[2] / "docs"
SOURCE = Path(__file__).with_name("program.c")

MAIL = """\
Before:
  ----------------------------------------------------------------------
     0       0     1000       0        0        0      0x7f2210
  ----------------------------------------------------------------------
     0.00%   20.00%    0.00%    0.00%    0.00%     0x18    0    1   0x401130    90   80   70   400    4  [.] tree_insert         program  program.c:50   0
     0.00%   30.00%    0.00%    0.00%    0.00%     0x28    0    1   0x401170    90   80   70   900    4  [.] lock_slowpath       program  program.c:61   0
     0.00%   50.00%    0.00%    0.00%    0.00%     0x30    0    1   0x401190    90   80   70  1200    4  [.] lock_spin_on_owner  program  program.c:66   0

After:
  ----------------------------------------------------------------------
     0       0      500       0        0        0      0x7f9980
  ----------------------------------------------------------------------
     0.00%   38.00%    0.00%    0.00%    0.00%     0x28    0    1   0x401170    90   80   70   400    4  [.] lock_slowpath       program  program.c:61   0
     0.00%   62.00%    0.00%    0.00%    0.00%     0x30    0    1   0x401190    90   80   70   500    4  [.] lock_spin_on_owner  program  program.c:66   0
"""

EXPECTED = """\
before mail.txt, report 1 of 2 (Before): 1,000 contended accesses on 1 line
after  mail.txt, report 2 of 2 (After): 500 contended accesses on 1 line
compared as counted
all contended accesses: 1,000 -> 500 contended, fell (x 0.43 to 0.58)

line 0 -> line 0 (mapping, matched by functions): 1,000 -> 500 contended, fell (x 0.43 to 0.58)
  fell            lock                             500 -> 310  x 0.51 to 0.75    lock_spin_on_owner
  fell            lock                             300 -> 190  x 0.50 to 0.80    lock_slowpath
  vanished        tree                               200 -> 0  x 0.033 at most   tree_insert

- neither report says how many samples were taken: counts are compared as if both had looked equally
  long; less contention and fewer samples look alike
- contended loads are not time: a faster run can have more of them; only a benchmark tells
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    subprocess.run(["gcc", "-g", "-O1", "-c", SOURCE, "-o", tmp_path / "program.o"], check=True)
    (tmp_path / "mail.txt").write_text(MAIL)
    return tmp_path


def compared(folder: Path, *arguments: str | Path) -> str:
    mail = folder / "mail.txt"
    ran = linesmith("compare", folder / "program.o", mail, mail, *arguments, cache=folder / "cache")
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout.replace(f"{folder}/", "")


def test_two_reports_of_one_mail(folder: Path) -> None:
    assert compared(folder) == EXPECTED


def test_the_other_way_round(folder: Path) -> None:
    assert "new             tree                               0 -> 200" in compared(
        folder, "--section", "2", "--after-section", "1"
    )


def test_the_second_build_may_be_another(folder: Path) -> None:
    (folder / "other.o").write_bytes((folder / "program.o").read_bytes())
    document = json.loads(compared(folder, "--after-elf", folder / "other.o", "--format", "json"))
    assert [document[side]["elf"]["path"] for side in ("before", "after")] == ["program.o", "other.o"]


def test_the_json_obeys_its_schema(folder: Path) -> None:
    document = json.loads(compared(folder, "--format", "json"))
    jsonschema.validate(document, schema())
    assert [(one["member"], one["change"]["fate"]) for one in document["lines"][0]["members"]] == [
        ("lock", "fell"),
        ("lock", "fell"),
        ("tree", "vanished"),
    ]


def test_the_schema_beside_the_page_is_that_of_the_code() -> None:
    assert json.loads((DOCS / "schema-compare.json").read_text()) == json.loads(json.dumps(schema()))


def test_a_report_that_the_text_does_not_hold_is_refused(folder: Path) -> None:
    mail = folder / "mail.txt"
    ran = linesmith("compare", folder / "program.o", mail, mail, "--after-section", "3", cache=folder / "cache")
    assert ran.returncode == 2
    assert "mail.txt holds 2 reports, so there is no --after-section 3" in ran.stderr


def test_a_text_of_one_report_named_twice_has_nothing_to_compare(folder: Path) -> None:
    mail = folder / "mail.txt"
    mail.write_text(MAIL[: MAIL.index("After:")])
    ran = linesmith("compare", folder / "program.o", mail, mail, cache=folder / "cache")
    assert ran.returncode == 2
    assert "mail.txt holds 1 report, so nothing is behind report 1 to compare it with" in ran.stderr
    assert "a file named twice means two of its reports" in ran.stderr
    assert not (folder / "cache").exists()  # told before anything is made


def test_of_a_line_without_rows_the_report_says_so(folder: Path) -> None:
    mail = folder / "mail.txt"
    line = "     1       0     9000       0        0        0      0x7f2280\n"
    rule = f"  {'-' * 70}\n"
    mail.write_text(MAIL.replace("\nAfter:", f"{rule}{line}{rule}\nAfter:"))
    assert "9,000 -> 0 contended, may be unseen; the text has no rows of it" in " ".join(compared(folder).split())


@pytest.mark.parametrize("swapped", [False, True])
def test_a_simulation_is_not_compared_with_samples(folder: Path, swapped: bool) -> None:
    profile = read_profiles(folder / "mail.txt")[0]
    recorded = folder / "recorded.profile"
    recorded.write_bytes(encode(replace(profile, recording=Recording("qemu-user", ("./program",), (0, 0), "x86_64"))))
    pair = (folder / "mail.txt", recorded)
    ran = linesmith("compare", folder / "program.o", *(pair[::-1] if swapped else pair), cache=folder / "cache")
    assert ran.returncode == 2
    assert "recorded.profile counts every access of a simulation and" in ran.stderr
    assert "mail.txt is of samples" in ran.stderr
