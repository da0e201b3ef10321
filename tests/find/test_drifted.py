# SPDX-License-Identifier: GPL-2.0-or-later
"""A report of another build: its members lie elsewhere, and functions, order and spacing tell which they are.

``drifted.c``: ``pages`` holds its mask at 8, root and first at 16 and 24, number and index from 32, count at 56.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from find.lines import Built, Case, accesses, cases, check, explained, facts, line_of, profile_of
from linesmith_command import linesmith
from profiles.c2c_text import LineSpec, ReportSpec, RowSpec, render

from linesmith.analyzer.access.store import read_accesses
from linesmith.analyzer.report.findings import line_facts


@cases("drifted")
def test_members_of_another_layout(case: Case, built: Built) -> None:
    elf = built("drifted.c")
    profile = profile_of(line_of(accesses(case.given["rows"])))
    (found,) = explained(elf, profile, accesses=read_accesses(elf).accesses)
    check(case, facts(found) | {"where": dict(line_facts(found))["object"]})


def report(folder: Path, rows: str) -> Path:
    met = enumerate(accesses(rows))
    specs = (
        RowSpec(one.offset or 0, (0, one.contended, one.stores, 0, 0), 16 * at, one.function or "", "prog", "", "u")
        for at, one in met
    )
    (folder / "report.txt").write_text(render(ReportSpec((LineSpec(0x1000, tuple(specs)),))))
    return folder / "report.txt"


GROWN = "0x8 mask_of, 0x10 insert 0/100, 0x28 first_of, 0x30 number_of"


def test_the_json_has_the_places_in_this_build(built: Built, tmp_path: Path, own_cache: Path) -> None:
    ran = linesmith("hot", built("drifted.c"), report(tmp_path, GROWN), "--format", "json", cache=own_cache)
    (found,) = json.loads(ran.stdout)["lines"][0]["objects"]
    assert (found["layout"], found["places"]) == ("other", {"0x8": 8, "0x10": 16, "0x28": 24, "0x30": 32})


def test_what_meets_in_this_build_too_can_be_parted(built: Built, tmp_path: Path, own_cache: Path) -> None:
    ran = linesmith("suggest", built("drifted.c"), report(tmp_path, GROWN), cache=own_cache)
    assert "move root" in ran.stdout, ran.stderr
    doubt = "Whether struct pages lies on the line as told is in doubt: its members are at other offsets"
    assert doubt in " ".join(ran.stdout.split())


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ("0x8 mask_of, 0x18 first_of, 0x20 last_of, 0x20 set_last 0/100, 0x20 add_last", "lie on different lines"),
        ("0x10 insert 0/100, 0x18 last_of, 0x18 number_of", "which members of pages are at 0x10, 0x18 is unknown"),
    ],
)
def test_nothing_is_proposed_where_nothing_meets(
    rows: str, why: str, built: Built, tmp_path: Path, own_cache: Path
) -> None:
    ran = linesmith("suggest", built("drifted.c"), report(tmp_path, rows), cache=own_cache)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert why in " ".join(ran.stdout.split())
