# SPDX-License-Identifier: GPL-2.0-or-later
"""No text of a tree holds a command up: past ``--deadline`` the result names what is missing, and no child goes on."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from hostile.wheel import AREA, ENCAPSULATE, USER, program
from linesmith_command import linesmith
from lint_commits import repository
from matrix.small_kernel import FILES, HEADER, PATCHED, small_kernel
from patch_cases import write_files

from linesmith.analyzer.base.child import Command, run
from linesmith.analyzer.base.errors import Deadline, DeadlinePassed
from linesmith.analyzer.model import FileChange
from linesmith.patches.matrix.check import check
from linesmith.patches.matrix.choice import CheckedChange, MatrixRequest
from linesmith.patches.matrix.users import each
from linesmith.patches.series.mails import unified_diff
from linesmith.patches.source.tree import Tree

CACHE = "struct cache {\n\tlong root;\n\tlong uses;\n};\n"
GROWN = CACHE.replace("\tlong uses;\n", "\tlong uses;\n\tlong more[9];\n")
# A compiler expands this for minutes.
LEVELS = "".join(f"#define A{level} A{level - 1} A{level - 1} A{level - 1} A{level - 1}\n" for level in range(1, 20))
ENDLESS = f"#define A0 x++;\n{LEVELS}static inline void f(int x) {{ A19 }}\n"
needs_spatch = pytest.mark.skipif(shutil.which("spatch") is None, reason="needs spatch of the package coccinelle")
S_H = "include/linux/s.h"
CHANGE = CheckedChange((FileChange(S_H, HEADER.encode(), PATCHED.encode()),), "s", "struct s", S_H)


def is_running(*words: str) -> bool:
    """Whether a process has this command line."""
    asked = "\0".join(words).encode() + b"\0"
    found = []
    for one in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(one.read_bytes())
        except OSError:
            continue
    return asked in found


def test_all_commands_that_read_sources_have_the_same_deadline() -> None:
    commands = re.findall(r"^  ([a-z]+)  ", linesmith("--help").stdout, re.MULTILINE)
    pages = {name: " ".join(linesmith(name, "--help").stdout.split()) for name in commands}
    told = {
        name: found[0]
        for name, page in pages.items()
        if (found := re.search(r"--deadline SECONDS.*?\[default: 300; x>=1\]", page))
    }
    assert told.keys() == {*["diff", "encapsulate", "inline", "layout", "lint", "patch", "report", "suggest"]}
    assert len(set(told.values())) == 1


def test_what_the_deadline_left_out_is_named(tmp_path: Path) -> None:
    made = repository(tmp_path / "tree")
    base = made.commit({"a.h": CACHE, "slow.h": CACHE.replace("cache", "slow")})
    head = made.commit({"a.h": GROWN, "slow.h": ENDLESS + GROWN.replace("cache", "slow")}, base)
    done = made.lint(base, head, "--deadline", "5", "--format", "json")
    document = json.loads(done.stdout)
    assert document["unjudged"] == ["slow.h"]
    assert document["remarks"][0] == "1 file was not judged within 5 s: slow.h; --deadline gives more time"
    assert document["changed"] == 1
    assert done.returncode == 1


def test_a_patch_that_takes_too_long_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "a.h").write_text(CACHE)
    (tmp_path / "p.patch").write_bytes(unified_diff(CACHE.encode(), (ENDLESS + GROWN).encode(), "a.h"))
    done = linesmith("diff", "--patch", tmp_path / "p.patch", "--tree", tmp_path / "tree", "--deadline", "2")
    assert done.stdout == "a.h:22: ERROR: the time limit of 2 s was reached; raise --deadline\n"
    assert done.returncode == 1


def test_only_the_time_in_its_blocks_counts() -> None:
    deadline = Deadline(0.5)
    time.sleep(0.6)
    with deadline.running():
        pass
    with pytest.raises(DeadlinePassed, match=r"took longer than 0\.5 s"), deadline.running():
        time.sleep(5)
    assert deadline.left <= 0
    with pytest.raises(DeadlinePassed), deadline.running():
        pytest.fail("a block begins after the deadline")


def test_the_make_of_a_base_counts(tmp_path: Path) -> None:
    slow = FILES["Makefile"].replace(
        "\tmkdir -p $(out)/include/generated", "\tsleep 6173\n\tmkdir -p $(out)/include/gen"
    )
    made = repository(tmp_path / "tree")
    base = made.commit({**FILES, "Makefile": slow})
    head = made.commit({**FILES, "Makefile": slow, S_H: PATCHED}, base)
    began = time.monotonic()
    words = ("lint", "--tree", made.root, "--base-ref", base, "--head-ref", head, "--deadline", "2")
    done = linesmith(*words, "--format", "json", cache=tmp_path / "cache")
    assert time.monotonic() - began < 60
    document = json.loads(done.stdout)
    assert (done.returncode, document["unjudged"]) == (1, [S_H])
    assert document["remarks"][0].startswith("reading and compiling the sources took longer than 2 s")
    assert not is_running("sleep", "6173")


def test_each_configuration_that_is_named_has_the_time_for_itself(tmp_path: Path) -> None:
    slow = FILES["Makefile"].replace("defconfig allnoconfig:\n", "defconfig allnoconfig:\n\tsleep 6174\n")
    tree = write_files(small_kernel(tmp_path), {"Makefile": slow})
    deadline = Deadline(4)
    minimal, own = check(
        CHANGE, Tree(tree), MatrixRequest(("minimal", "tree"), deadlines=deadline.anew), lambda _: None
    )
    assert (minimal.unjudged, minimal.failed) == ((S_H,), "the time limit of 4 s was reached; raise --deadline")
    assert (own.unjudged, own.failed, own.records[0].record) == ((), "", "s")
    assert not is_running("sleep", "6174")


@pytest.mark.study
def test_units_that_were_compiled_in_time_are_in_the_result(tmp_path: Path) -> None:
    tree = write_files(small_kernel(tmp_path), {"fs/holder.c": FILES["fs/holder.c"] + ENDLESS})
    began = time.monotonic()
    (found,) = check(CHANGE, Tree(tree), MatrixRequest(("tree",), None, deadlines=lambda: Deadline(8)), lambda _: None)
    assert time.monotonic() - began < 60
    assert [one.unit for one in found.users] == ["fs/inode.c"]
    assert found.unjudged == ("fs/holder.c",)
    late = "units that were not compiled in time: 1 of 2, first fs/holder.c: the time limit of 8 s was reached"
    assert found.left_out == (f"{late}; raise --deadline",)


def test_a_deadline_ends_the_children_of_all_threads() -> None:
    began = time.monotonic()
    wait = Command(("sleep", "6175"), Path("/"), 600)
    with pytest.raises(DeadlinePassed), Deadline(1).running():
        each(run, [wait] * 6, lambda _: None)
    assert time.monotonic() - began < 20
    assert not is_running("sleep", "6175")


@pytest.mark.study
@needs_spatch
def test_a_series_names_the_units_that_were_not_compiled_in_time(tmp_path: Path) -> None:
    tree = program(tmp_path / "tree", quick=USER, slow=f"{ENDLESS}{USER}")
    done = linesmith(*ENCAPSULATE, "--tree", tree, "--deadline", "8", "--on", "tree", "--format", "json")
    assert done.stdout, done.stderr
    document = json.loads(done.stdout)
    assert (done.returncode, document["unjudged"]) == (1, ["slow.c"])
    assert [one for one in document["notes"] if "first slow.c: the time limit of 8 s was reached" in one]
    assert document["patches"]


@needs_spatch
@pytest.mark.parametrize(
    "words",
    [ENCAPSULATE, pytest.param(("inline", "area.lock"), marks=pytest.mark.study)],
)
def test_a_series_of_which_nothing_was_compiled_in_time_is_not_given_out(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    tree = program(tmp_path / "tree", slow=f"{ENDLESS}{USER}{AREA}")
    done = linesmith(*words, "--tree", tree, "--deadline", "2", "--on", "tree", "--format", "json")
    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout)["unjudged"] == ["the sources"]
    assert "reading and compiling the sources took longer than 2 s, so nothing was checked" in done.stderr


def test_a_scan_that_takes_too_long_is_told_in_json_too(tmp_path: Path) -> None:
    tree = program(tmp_path / "tree", slow=f"{ENDLESS}{USER}")
    (tree / "quick.c").write_text(f"{USER}struct wheel wheel;\n")
    subprocess.run(["gcc", "-g", "-c", "-o", tmp_path / "wheel.o", "quick.c"], cwd=tree, check=True)
    words = ("layout", tmp_path / "wheel.o", "wheel", "--tree", tree, "--deadline", "2", "--format", "json")
    done = linesmith(*words, "-o", tmp_path / "layout.json")
    document = json.loads((tmp_path / "layout.json").read_text())
    assert (done.returncode, done.stdout, document["unjudged"]) == (1, "", ["the sources"])
    assert document["remarks"] == [done.stderr.removeprefix("linesmith: ").strip()]
