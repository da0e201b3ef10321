# SPDX-License-Identifier: GPL-2.0-or-later
"""A change cannot hold a job up: past the deadline the result says what was not judged, as a finding does."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from linesmith_command import linesmith
from lint_commits import repository

from linesmith.analyzer.errors import DeadlinePassed
from linesmith.patches.deadline import Deadline
from linesmith.patches.unified import unified_diff

HEADER = "struct cache {\n\tlong root;\n\tlong uses;\n};\n"
GROWN = HEADER.replace("\tlong uses;\n", "\tlong uses;\n\tlong more[9];\n")
# A compiler expands this for minutes.
LEVELS = "".join(f"#define A{level} A{level - 1} A{level - 1} A{level - 1} A{level - 1}\n" for level in range(1, 20))
ENDLESS = f"#define A0 x++;\n{LEVELS}static inline void f(int x) {{ A19 }}\n"


def test_what_the_deadline_left_out_is_named(tmp_path: Path) -> None:
    made = repository(tmp_path / "tree")
    base = made.commit({"a.h": HEADER, "slow.h": HEADER.replace("cache", "slow")})
    head = made.commit({"a.h": GROWN, "slow.h": ENDLESS + GROWN.replace("cache", "slow")}, base)
    done = made.lint(base, head, "--deadline", "5", "--format", "json")
    document = json.loads(done.stdout)
    assert document["unjudged"] == ["slow.h"]
    assert document["remarks"][0] == "1 file was not judged within 5 s: slow.h; --deadline gives more time"
    assert document["changed"] == 1
    assert done.returncode == 1


def test_a_patch_that_takes_too_long_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "a.h").write_text(HEADER)
    (tmp_path / "p.patch").write_bytes(unified_diff(HEADER.encode(), (ENDLESS + GROWN).encode(), "a.h"))
    done = linesmith("diff", "--patch", tmp_path / "p.patch", "--tree", tmp_path / "tree", "--deadline", "3")
    assert done.stdout == "a.h:22: ERROR: the 3 s of --deadline were over; give more time\n"
    assert done.returncode == 1


def test_only_the_time_in_its_blocks_counts() -> None:
    deadline = Deadline(0.5)
    time.sleep(0.6)
    with deadline.running():
        pass
    with pytest.raises(DeadlinePassed, match=r"took longer than 0\.5 s"), deadline.running():
        time.sleep(5)
    assert deadline.has_passed
    with pytest.raises(DeadlinePassed), deadline.running():
        pytest.fail("a block begins after the deadline")
