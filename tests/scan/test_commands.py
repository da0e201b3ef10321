# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith layout --tree`` as a user sees it."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

from linesmith_command import LINESMITH, linesmith
from scan.trees import program_tree

TEXT = """struct box {
	int width;
	int height, depth;
};
struct box unit = { 1, 1 };
int wide(struct box *b) { return b->width; }
_Static_assert(__builtin_offsetof(struct box, height) == 4, "");
"""


def built(root: Path, text: str = TEXT) -> tuple[Path, Path]:
    """A tree of one file, and its object."""
    tree = program_tree(root / "tree", {"box.c": text})
    subprocess.run(["gcc", "-g", "-c", "-o", root / "box.o", "box.c"], check=True, cwd=tree)
    return tree, root / "box.o"


def test_the_source_is_shown_behind_the_layout(parser: Path, tmp_path: Path) -> None:  # noqa: ARG001
    tree, elf = built(tmp_path)
    done = linesmith("layout", elf, "box", "--tree", tree)
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


def test_json_has_the_same(parser: Path, tmp_path: Path) -> None:  # noqa: ARG001
    tree, elf = built(tmp_path)
    document = json.loads(linesmith("layout", elf, "box", "--tree", tree, "--format", "json").stdout)
    (source,) = document["sources"]
    assert [(one["kind"], one["members"], one["binds"]) for one in source["dependencies"]] == [
        ("positional initialiser", ["width", "height"], True),
        ("static assertion", ["height"], True),
    ]


def test_a_tree_without_a_database_is_one_sentence(parser: Path, tmp_path: Path) -> None:  # noqa: ARG001
    tree, elf = built(tmp_path)
    (tree / "compile_commands.json").unlink()
    done = linesmith("layout", elf, "box", "--tree", tree)
    assert done.returncode == 2
    assert f"{tree} has no compile_commands.json; let cmake, meson or bear write it" in done.stderr


def test_a_build_alone_is_asked_for_its_tree(parser: Path, tmp_path: Path) -> None:  # noqa: ARG001
    _, elf = built(tmp_path)
    done = linesmith("layout", elf, "box", "--build", tmp_path)
    assert done.returncode == 2
    assert "--build is a build of the sources that --tree names; give both" in done.stderr


def test_the_children_end_with_a_killed_scan(parser: Path, tmp_path: Path) -> None:
    program = tmp_path / "sleeps"
    program.write_text(f"#!/bin/sh\n# {parser.name}\ntouch {tmp_path}/started\nexec sleep 300\n")
    program.chmod(0o755)
    tree, elf = built(tmp_path)
    process = subprocess.Popen(
        [LINESMITH, "layout", elf, "box", "--tree", tree],
        env={"LINESMITH_SOURCE_SCAN": str(program), "PATH": "/usr/bin:/bin"},
    )
    while not (tmp_path / "started").exists():
        time.sleep(0.05)
    (child,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    process.send_signal(signal.SIGKILL)
    process.wait()
    while Path(f"/proc/{child}").exists():
        time.sleep(0.05)
