# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith layout --tree`` as a user sees it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from linesmith_command import LINESMITH, linesmith
from scan.trees import kernel_tree, program_tree, recorded

from linesmith.analyzer.demo import program

TEXT = """struct box {
	int width;
	int height, depth;
};
struct box unit = { 1, 1 };
int wide(struct box *b) { return b->width; }
_Static_assert(__builtin_offsetof(struct box, height) == 4, "");
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree of one file; its object lies beside it."""
    made = program_tree(tmp_path / "tree", {"box.c": TEXT})
    subprocess.run(["gcc", "-g", "-c", "-o", tmp_path / "box.o", "box.c"], check=True, cwd=made)
    return made


def source_of(tree: Path, *options: str | Path) -> subprocess.CompletedProcess[str]:
    """The layout of the record in the object beside the tree, with what the tree says."""
    return linesmith("layout", tree.parent / "box.o", "box", *options)


@pytest.mark.usefixtures("parser")
def test_the_source_is_shown_behind_the_layout(tree: Path) -> None:
    done = source_of(tree, "--tree", tree)
    assert (done.returncode, done.stderr) == (0, "")
    assert (
        done.stdout.partition("\nsource of ")[2]
        == """\
box: 1 unit parsed
  declared at box.c:1
      line    uses  member
         2       1  width
         3       1  height  (declared with depth)
         3       0  depth  (declared with height)
  2 places where the order is relied upon
    box.c:5: positional initialiser of width, height
        struct box unit = { 1, 1 };
    box.c:7: static assertion of height == 4
        _Static_assert(__builtin_offsetof(struct box, height) == 4, "");
"""
    )
    (source,) = json.loads(source_of(tree, "--tree", tree, "--format", "json").stdout)["sources"]
    assert [(one["kind"], one["members"], one["binds"]) for one in source["dependencies"]] == [
        ("positional initialiser", ["width", "height"], True),
        ("static assertion", ["height"], True),
    ]


@pytest.mark.usefixtures("parser")
def test_a_kernel_that_was_configured_but_never_built_shows_nothing(tree: Path, tmp_path: Path) -> None:
    """Its own programs are all that is compiled; that none of them relies on the order says nothing."""
    kernel = kernel_tree(tmp_path / "linux", {"include/box.h": TEXT, "scripts/kconfig/conf.c": "int main(void) {}"})
    recorded(kernel, "scripts/kconfig/conf.o", kernel / "scripts/kconfig/conf.c", "gcc -c -o conf.o conf.c")
    assert (
        source_of(tree, "--tree", kernel).stdout.partition("\nsource of ")[2]
        == """\
box: the build at hand compiled no unit that uses it; only text was searched
  build the tree once, or name its build with --build: then it is known what relies on the order
"""
    )


@pytest.mark.usefixtures("parser")
def test_a_tree_without_a_database_or_a_name_is_one_sentence(tree: Path, tmp_path: Path) -> None:
    done = source_of(tree, "--build", tmp_path)
    assert done.returncode == 2
    assert "--build needs the sources of the build; give --tree as well" in done.stderr
    (tree / "compile_commands.json").unlink()
    done = source_of(tree, "--tree", tree)
    assert done.returncode == 2
    assert f"{tree} has no compile_commands.json; let cmake, meson or bear write it" in done.stderr


def command_of(process: str) -> str:
    return Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode()


def test_the_children_end_with_a_killed_scan(parser: Path, tree: Path, tmp_path: Path) -> None:
    sleeper = tmp_path / "sleeps"
    sleeper.write_text(f"#!/bin/sh\n# {parser.name}\nexec sleep 300\n")
    sleeper.chmod(0o755)
    process = subprocess.Popen(
        [LINESMITH, "layout", tmp_path / "box.o", "box", "--tree", tree],
        env={"LINESMITH_SOURCE_SCAN": str(sleeper), "PATH": "/usr/bin:/bin"},
    )
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while not any("sleep 300" in command_of(child) for child in children.read_text().split()):
        time.sleep(0.05)
    (child,) = children.read_text().split()
    process.send_signal(signal.SIGKILL)
    process.wait()
    while Path(f"/proc/{child}").exists():
        time.sleep(0.05)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources of the demo with its program and a profile of it."""
    directory = program.unpack(tmp_path_factory.mktemp("demo") / "sources")
    program.build(directory, program.find_compiler())
    return directory


@pytest.mark.usefixtures("parser")
def test_suggest_keeps_to_what_the_code_asserts(demo: Path, tmp_path: Path) -> None:
    tree = Path(shutil.copytree(demo, tmp_path / "sources"))
    source = next(path for path in sorted(tree.glob("*.c")) if "session_index.h" in path.read_text())
    asserted = '\n_Static_assert(__builtin_offsetof(struct session_index, guard) == 16, "");\n'
    source.write_text(source.read_text() + asserted)
    entry = {"directory": str(tree), "file": source.name, "command": f"cc -c {source.name}"}
    (tree / "compile_commands.json").write_text(json.dumps([entry]))
    words = ("suggest", demo / "bench", demo / "bench.c2c", "--type", "session_index", "--format", "json")
    free, bound = (json.loads(linesmith(*words, *more).stdout) for more in ((), ("--tree", tree)))
    assert offsets_of_guard(free) - {16}
    assert offsets_of_guard(bound) == {16}
    told = "What the code relies on was looked for in 1 unit and in the text of the tree, and is kept to."
    assert all(told in one["notes"] for one in bound["candidates"])


def offsets_of_guard(document: dict[str, Any]) -> set[int]:
    """Where the candidates put the member, in bytes."""
    members = (member for one in document["candidates"] for member in one["after"]["members"])
    return {member["offset"] for member in members if member["name"] == "guard"}


def test_a_tree_that_is_set_for_all_commands_need_not_be_that_of_the_profiled_program(
    demo: Path, tmp_path: Path
) -> None:
    words = "suggest", demo / "bench", demo / "bench.c2c"
    done = linesmith(*words, env={**os.environ, "LINESMITH_TREE": str(tmp_path)})
    assert done.returncode == 0
    assert done.stderr.startswith(f"linesmith: not scanned for code that relies on the member order: {tmp_path} has")
    assert linesmith(*words, "--tree", tmp_path).returncode == 2
