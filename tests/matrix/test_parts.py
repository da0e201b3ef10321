# SPDX-License-Identifier: GPL-2.0-or-later
"""Parts of the matrix: complaints of compilers, who includes a file, processes for work, starts of objects."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from hand_made import scalar, struct, table
from patch_cases import write_files

from linesmith.analyzer.errors import TreeError, VerificationFailed
from linesmith.analyzer.model import CompiledRecord, Residual
from linesmith.patches.matrix.complaints import complaints, first_error, new
from linesmith.patches.matrix.evidence import starts
from linesmith.patches.matrix.includes import Includes
from linesmith.patches.matrix.processes import each_apart
from linesmith.patches.matrix.sizes import Role, Tables, Target, compared, residual, stepped
from linesmith.patches.overlay import Overlay

BEFORE = """\
/over/fs/a.c: In function 'f':
/over/fs/a.c:7:9: warning: unused variable 'x' [-Wunused-variable]
    7 |         int x;
In file included from /tree/fs/b.h:3:
/tree/include/s.h:12: warning: 'y' is old
"""


OVERLAY = Overlay(Path("/over"), Path("/tree"), frozenset(("include/s.h",)))


def test_complaints_name_files_of_the_tree() -> None:
    assert [str(one) for one in complaints(BEFORE, OVERLAY)] == [
        "fs/a.c:7: unused variable 'x' [-Wunused-variable]",
        "include/s.h:12: 'y' is old",
    ]


def test_a_warning_that_only_moved_is_not_new() -> None:
    moved = BEFORE.replace("a.c:7:9", "a.c:9:9").replace("/tree/include/s.h:12", "/over/include/s.h:15")
    assert new(complaints(BEFORE, OVERLAY), complaints(moved, OVERLAY)) == ()


def test_the_same_text_once_more_is_new() -> None:
    more = BEFORE + "/over/fs/a.c:20:1: warning: unused variable 'x' [-Wunused-variable]\n"
    found = new(complaints(BEFORE, OVERLAY), complaints(more, OVERLAY))
    assert [str(one) for one in found] == ["fs/a.c:20: unused variable 'x' [-Wunused-variable]"]


def test_an_error_is_no_warning_and_the_first_is_told() -> None:
    output = BEFORE + "/over/fs/a.c:3:1: fatal error: /tree/fs/z.h: No such file\n/over/fs/a.c:4:1: error: other\n"
    found = complaints(output, OVERLAY)
    assert new(complaints(BEFORE, OVERLAY), found) == ()
    assert first_error(found, output) == "fs/a.c:3: fs/z.h: No such file"


@pytest.mark.parametrize(
    ("output", "told"),
    [
        ("cc1: fatal error: a.c: No such file\ncompilation terminated.\n", "cc1: fatal error: a.c: No such file"),
        ("one\ngcc: internal compiler error: Killed\n", "gcc: internal compiler error: Killed"),
    ],
)
def test_a_compiler_that_names_no_line_leaves_its_own_words(output: str, told: str) -> None:
    assert first_error((), output) == told


# Who includes a file, by the text: through other files, through loops, whatever the conditions say

FILES = {
    "include/linux/s.h": "",
    "include/linux/a.h": "#include <linux/b.h>\n",
    "include/linux/b.h": "#include <linux/a.h>\n#ifdef NEVER\n# include\t<linux/s.h>\n#endif\n",
    "include/forced.h": "#include <linux/s.h>\n",
    "fs/local.h": "#include <linux/a.h>\n",
    "fs/direct.c": "#include <linux/s.h>\n",
    "fs/through.c": '#include "local.h"\n',
    "fs/apart.c": '/* #include <linux/s.h> would */\n#include "nowhere.h"\n',
}
UNITS = ("fs/direct.c", "fs/through.c", "fs/apart.c")


@pytest.mark.parametrize(
    ("file", "forced", "reached"),
    [
        ("include/linux/s.h", [], {"fs/direct.c", "fs/through.c"}),
        ("fs/apart.c", [], {"fs/apart.c"}),
        ("include/linux/s.h", ["include/forced.h"], {*UNITS}),
    ],
)
def test_units_reach_a_file_through_others(tmp_path: Path, file: str, forced: list[str], reached: set[str]) -> None:
    includes = Includes(write_files(tmp_path, FILES), [tmp_path / "include"])
    assert includes.including(UNITS, [file], [str(tmp_path / one) for one in forced]) == reached


# Pieces of work in processes of their own


def test_results_come_in_the_order_of_the_items_whatever_ends_first(tmp_path: Path) -> None:
    def late(number: int) -> tuple[int, int]:
        while number == 0 and len(os.sched_getaffinity(0)) > 1 and not (tmp_path / "1").exists():
            time.sleep(0.01)
        (tmp_path / str(number)).touch()
        return number, os.getpid()

    found = each_apart(late, range(5))
    assert [number for number, _ in found] == [0, 1, 2, 3, 4]
    assert len({process for _, process in found} - {os.getpid()}) == 5


def test_the_error_of_the_first_item_that_fails_is_raised_whichever_came_first() -> None:
    def refused(number: int) -> int:
        if number == 1:
            time.sleep(0.2)
        if number:
            raise TreeError(f"number {number}")
        return number

    with pytest.raises(TreeError, match="number 1"):
        each_apart(refused, range(3))


def test_one_that_was_killed_is_an_error_and_ends_the_others(tmp_path: Path) -> None:
    def killed(number: int) -> None:
        if number == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(60)
        (tmp_path / "went on").touch()

    with pytest.raises(VerificationFailed, match="was killed"):
        each_apart(killed, range(2))
    assert not (tmp_path / "went on").exists()


# Where slab caches do not keep to an alignment, objects start as often elsewhere after a change as before it

PLAIN = struct("pool", scalar("name"), scalar("limit"), scalar("used"))
ALIGNED = struct("pool", scalar("name"), scalar("limit"), scalar("spare", 40), scalar("used", align=64))
BUILDS = Tables(table(PLAIN), table(ALIGNED))
PAIR = Residual("limit", "used", 64, 0.0, 0.0)


def started(granules: tuple[int, int]) -> str:
    record = compared(BUILDS, "pool", Target(64, None), Role.ALONE)
    met = residual(PAIR, BUILDS, "pool", "", granules)
    assert isinstance(record, CompiledRecord)
    assert met is not None
    return starts(met, stepped(record, granules))


@pytest.mark.parametrize(
    ("granules", "expected"),
    [((0, 0), "7/8->0/1"), ((8, 64), "7/8->0/1"), ((8, 8), "7/8->1/8"), ((8, 16), "7/8->0/4")],
    ids=["only the alignment", "kept", "not kept", "kept in part"],
)
def test_starts_are_those_that_objects_have(granules: tuple[int, int], expected: str) -> None:
    assert started(granules) == expected
