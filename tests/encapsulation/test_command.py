# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith encapsulate`` as a user runs it: patches that apply and compile, and what it says."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import pytest
from encapsulation.programs import needs_spatch
from linesmith_command import LINESMITH, linesmith
from patch_cases import write_files

pytestmark = needs_spatch

HEADER = """\
struct wheel {
	int turns;
};

struct car {
	struct wheel *front;
};
"""
SOURCE = """\
#include "car.h"

int turned(struct car *c)
{
	return c->front->turns;
}
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A program of one unit, with the command that compiles it."""
    root = write_files(tmp_path / "tree", {"car.h": HEADER, "turned.c": SOURCE})
    entry = {"directory": str(root), "file": "turned.c", "arguments": ["gcc", "-Wall", "-c", "turned.c"]}
    (root / "compile_commands.json").write_text(json.dumps([entry]))
    return root


def encapsulate(tree: Path, *options: str | Path) -> subprocess.CompletedProcess[str]:
    return linesmith("encapsulate", "wheel.turns", "--accessor", "wheel_turns", "--tree", tree, *options)


def test_the_patches_apply_and_their_message_says_what_was_compiled(tree: Path, tmp_path: Path) -> None:
    folder = tmp_path / "series"
    made = encapsulate(tree, "-o", f"{folder}/")
    assert (made.returncode, made.stderr) == (0, "")
    (patch,) = folder.iterdir()
    assert patch.name == "0001-car-access-turns-through-wheel_turns.patch"
    text = patch.read_text()
    assert "use it: 1 place in 1 file. No functional change." in text
    assert "turned.c" not in text.partition("\n---\n")[0], "a unit that was compiled is not named"
    assert (tree / "turned.c").read_text() == SOURCE
    subprocess.run(["patch", "-s", "-p1", "-i", patch], cwd=tree, check=True)
    assert "return wheel_turns(c->front);" in (tree / "turned.c").read_text()


TWICE = "\n#define TWICE(x) (*&(x) * 2)\nint a(struct car *c)\n{\n\treturn TWICE(c->front->turns);\n}\n"


@pytest.mark.parametrize("options", [(), ("--on", "tree")])
def test_nothing_is_given_out_that_does_not_compile(tree: Path, tmp_path: Path, options: tuple[str, ...]) -> None:
    (tree / "turned.c").write_text(SOURCE + TWICE)
    made = encapsulate(tree, "-o", tmp_path / "out", *options)
    assert (made.returncode, "it does not compile any more under" in made.stderr) == (1, True)
    assert "Does not compile any more:" in (tmp_path / "out").read_text()


def test_nothing_is_given_out_that_hands_the_accessor_another_record(tree: Path, tmp_path: Path) -> None:
    poller = "#include <poll.h>\nstruct poller { struct wheel *wheel; struct pollfd *fds; };\n"
    use = "int f(struct poller *p) { return p->wheel->revents + p->fds->revents; }\n"
    write_files(tree, {"car.h": HEADER.replace("turns", "revents") + poller, "turned.c": f'#include "car.h"\n{use}'})
    database = tree / "compile_commands.json"
    database.write_text(database.read_text().replace('"-Wall"', '"-Wno-error=incompatible-pointer-types"'))
    command = ("encapsulate", "wheel.revents", "--accessor", "wheel_revents", "--tree", tree, "-o", tmp_path / "out")
    made = linesmith(*command)
    assert (made.returncode, "incompatible pointer type" in made.stderr) == (1, True)


def test_nothing_is_given_out_that_no_compiler_has_seen(tree: Path, tmp_path: Path) -> None:
    (tree / "turned.c").write_text('#include "not-generated.h"\n' + SOURCE)
    made = encapsulate(tree, "-o", tmp_path / "out")
    assert (made.returncode, (tmp_path / "out").exists()) == (2, False)
    assert "nothing that it changes could be compiled (" in made.stderr
    assert "not-generated.h" in made.stderr
    assert encapsulate(tree, "-o", tmp_path / "out", "--dry-run").returncode == 0


def test_a_kernel_that_is_not_configured_is_told(tmp_path: Path) -> None:
    files = {"car.h": HEADER, "turned.c": SOURCE, "Kbuild": "", "scripts/Makefile.build": ""}
    made = encapsulate(write_files(tmp_path / "tree", files), "-o", tmp_path / "out")
    assert (made.returncode, (tmp_path / "out").exists()) == (2, False)
    assert ".config" in made.stderr


def test_a_dry_run_shows_places_and_rules(tree: Path) -> None:
    shown = linesmith("encapsulate", "struct wheel.turns", "--accessor", "wheel_turns", "--tree", tree, "--dry-run")
    assert shown.returncode == 0
    assert shown.stdout.startswith(
        "struct wheel.turns (car.h:2): 1 place in 1 file goes through wheel_turns(), which gives its value\n"
        "     1  turned.c\n"
    )
    assert "- P->turns@p\n+ wheel_turns(P)\n" in shown.stdout


def test_json_has_places_rules_and_patches(tree: Path) -> None:
    told = json.loads(encapsulate(tree, "--format", "json").stdout)
    assert told["schema"] == 1
    assert told["replaced"] == [{"place": "turned.c:5", "function": "turned"}]
    assert (told["record"], told["member"], told["gives"], told["left"]) == ("struct wheel", "turns", "value", [])
    assert [one["name"] for one in told["patches"]] == ["0001-car-access-turns-through-wheel_turns.patch"]


def test_an_end_half_way_leaves_nothing_behind(tree: Path, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    before = {path.name: path.read_bytes() for path in tree.iterdir()}
    words = ("encapsulate", "wheel.turns", "--accessor", "wheel_turns", "--tree", tree, "-o", tmp_path / "out")
    process = subprocess.Popen(
        (LINESMITH, *words), env={**os.environ, "TMPDIR": str(scratch)}, stderr=subprocess.DEVNULL
    )
    while not list(scratch.glob("*/rules.cocci")):
        time.sleep(0.01)
    process.terminate()
    assert process.wait(60) == 130
    assert list(scratch.iterdir()) == []
    assert {path.name: path.read_bytes() for path in tree.iterdir()} == before
    assert not (tmp_path / "out").exists()
