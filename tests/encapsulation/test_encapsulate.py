# SPDX-License-Identifier: GPL-2.0-or-later
"""A member behind an accessor: the cases of ``cases.txt``, and ``linesmith encapsulate`` as a user runs it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from linesmith_command import LINESMITH, linesmith
from patch_cases import stamps, write_files
from text_cases import TextCase, text_cases

from linesmith.analyzer.base.errors import DeclarationNotFound, EditRefused
from linesmith.patches.encapsulation.encapsulate import Encapsulated, encapsulate
from linesmith.patches.encapsulation.member import Form, MemberAccessor, declared_member, definition
from linesmith.patches.source.declaration import Declared
from linesmith.patches.source.records import records_named

pytestmark = pytest.mark.skipif(shutil.which("spatch") is None, reason="Coccinelle is not installed")
HEADER = """\
struct wheel { int turns; };
struct car { struct wheel *front; int turns; };
"""
USER = """\
#include "car.h"
int f(struct wheel *w, struct car *c)
{
\treturn w->turns + c->turns + c->front->turns;
}
"""
FILES = {"car.h": HEADER, "f.c": USER}


def hidden(tree: Path, record: str, member: str, accessor: str) -> Encapsulated:
    """The member behind the accessor, in all of the tree."""
    return encapsulate(record, member, accessor, tree, lambda _: None)


def files_of(case: TextCase) -> Iterator[tuple[str, str, str]]:
    """The name of each file of a case, its text and what becomes of it."""
    for part in "\n".join(case.lines).split("--- ")[1:]:
        name, *lines = part.rstrip("\n").split("\n")
        before, after = ("".join(f"{one[1:]}\n" for one in lines if one[:1] in ("", " ", sign)) for sign in "-+")
        yield name, before, after


@text_cases(Path(__file__).with_name("cases.txt"))
def test_a_member_is_hidden(case: TextCase, tmp_path: Path) -> None:
    files = list(files_of(case))
    tree = write_files(tmp_path, {name: before for name, before, _ in files})
    kept = stamps(tree)
    wish, _, accessor = (case.words("hide") or "").partition(" as ")
    record, _, member = wish.partition(".")
    made = hidden(tree, record, member, accessor)
    assert stamps(tree) == kept, "the tree stays as it is"
    told = [f"step {step.message.partition(chr(10))[0]}" for step in made.series.steps]
    told += [f"left {one.place} {one.code.value}" for one in made.series.refusals]
    assert told == [" ".join(words) for words in case.asked if words[0] != "hide"]
    changed = {one.file: one.after for step in made.series.steps for one in step.changes}
    assert changed == {name: after.encode() for name, before, after in files if after != before}


def test_the_result_compiles_and_the_semantic_patch_alone_gives_the_same_files(tmp_path: Path) -> None:
    tree = write_files(tmp_path / "tree", FILES)
    made = hidden(tree, "wheel", "turns", "wheel_turns")
    after = {one.file: (one.after or b"").decode() for one in made.series.steps[0].changes}
    result = write_files(tmp_path / "result", after)
    subprocess.run(["gcc", "-Wall", "-Werror", "-c", "f.c"], cwd=result, check=True)
    (tmp_path / "rules.cocci").write_text(made.rules)
    options = ("--in-place", "--recursive-includes", "--include-headers-for-types", "--disable-worth-trying-opt")
    subprocess.run(["spatch", "--sp-file", "../rules.cocci", "--very-quiet", *options, "f.c"], cwd=tree, check=True)
    assert (tree / "f.c").read_text() == after["f.c"]


@pytest.mark.parametrize(
    ("declaration", "signature"),
    [
        ("int before, turns;", "int wheel_turns("),
        ("int *before, turns;", "int wheel_turns("),
        ("unsigned long before[2], *turns, **after;", "unsigned long *wheel_turns("),
        ("int *turns, before;", "int *wheel_turns("),
        ("const char *before, turns[8];", "const char *wheel_turns("),
    ],
)
def test_the_type_of_one_of_several_members(declaration: str, signature: str) -> None:
    source = HEADER.replace("int turns;", declaration, 1).encode()
    member = declared_member(Declared("car.h", source, records_named(source, "wheel")[0], 1.0), "turns")
    form = Form.ELEMENTS if "[8]" in declaration else Form.VALUE
    text = definition(MemberAccessor("wheel_turns", form, "w", generic=False), member, b"").decode()
    assert f"static inline {signature}" in text


def test_names_that_are_not_there_or_taken(tmp_path: Path) -> None:
    tree = write_files(tmp_path, FILES)
    with pytest.raises(DeclarationNotFound, match="declares no record wheel with a member spokes"):
        hidden(tree, "wheel", "spokes", "wheel_spokes")
    with pytest.raises(EditRefused, match=r"f\.c:2: f is a name already; give another with --accessor"):
        hidden(tree, "wheel", "turns", "f")


def test_records_of_user_space_stay(tmp_path: Path) -> None:
    tree = write_files(tmp_path, {"include/uapi/car.h": HEADER})
    with pytest.raises(EditRefused, match="wheel is shared with user space, so its members must stay"):
        hidden(tree, "wheel", "turns", "wheel_turns")


# Patches that apply and compile, and what the command says

CAR = """\
struct wheel {
	int turns;
};

struct car {
	struct wheel *front;
};
"""
TURNED = """\
#include "car.h"

int turned(struct car *c)
{
	return c->front->turns;
}
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A program of one unit, with the command that compiles it."""
    root = write_files(tmp_path / "tree", {"car.h": CAR, "turned.c": TURNED})
    entry = {"directory": str(root), "file": "turned.c", "arguments": ["gcc", "-Wall", "-c", "turned.c"]}
    (root / "compile_commands.json").write_text(json.dumps([entry]))
    return root


def run(tree: Path, *options: str | Path) -> subprocess.CompletedProcess[str]:
    return linesmith("encapsulate", "wheel.turns", "--accessor", "wheel_turns", "--tree", tree, *options)


def test_the_patches_apply_and_their_message_says_what_was_compiled(tree: Path, tmp_path: Path) -> None:
    folder = tmp_path / "series"
    made = run(tree, "-o", f"{folder}/")
    assert (made.returncode, made.stderr) == (0, "")
    (patch,) = folder.iterdir()
    assert patch.name == "0001-car-access-turns-through-wheel_turns.patch"
    text = patch.read_text()
    assert "use it: 1 place in 1 file. No functional change." in text
    assert "turned.c" not in text.partition("\n---\n")[0], "a unit that was compiled is not named"
    assert (tree / "turned.c").read_text() == TURNED
    subprocess.run(["patch", "-s", "-p1", "-i", patch], cwd=tree, check=True)
    assert "return wheel_turns(c->front);" in (tree / "turned.c").read_text()


TWICE = "\n#define TWICE(x) (*&(x) * 2)\nint a(struct car *c)\n{\n\treturn TWICE(c->front->turns);\n}\n"


@pytest.mark.parametrize("options", [(), ("--on", "tree")])
def test_nothing_is_given_out_that_does_not_compile(tree: Path, tmp_path: Path, options: tuple[str, ...]) -> None:
    (tree / "turned.c").write_text(TURNED + TWICE)
    made = run(tree, "-o", tmp_path / "out", *options)
    assert (made.returncode, "it does not compile any more under" in made.stderr) == (1, True)
    assert "Does not compile any more:" in (tmp_path / "out").read_text()


def test_nothing_is_given_out_that_hands_the_accessor_another_record(tree: Path, tmp_path: Path) -> None:
    poller = "#include <poll.h>\nstruct poller { struct wheel *wheel; struct pollfd *fds; };\n"
    use = "int f(struct poller *p) { return p->wheel->revents + p->fds->revents; }\n"
    write_files(tree, {"car.h": CAR.replace("turns", "revents") + poller, "turned.c": f'#include "car.h"\n{use}'})
    database = tree / "compile_commands.json"
    database.write_text(database.read_text().replace('"-Wall"', '"-Wno-error=incompatible-pointer-types"'))
    command = ("encapsulate", "wheel.revents", "--accessor", "wheel_revents", "--tree", tree, "-o", tmp_path / "out")
    made = linesmith(*command)
    assert (made.returncode, "incompatible pointer type" in made.stderr) == (1, True)


def test_nothing_is_given_out_that_no_compiler_has_seen(tree: Path, tmp_path: Path) -> None:
    (tree / "turned.c").write_text('#include "not-generated.h"\n' + TURNED)
    made = run(tree, "-o", tmp_path / "out")
    assert (made.returncode, (tmp_path / "out").exists()) == (2, False)
    assert "nothing that it changes could be compiled (" in made.stderr
    assert "not-generated.h" in made.stderr
    assert run(tree, "-o", tmp_path / "out", "--dry-run").returncode == 0


def test_a_dry_run_shows_places_and_rules(tree: Path) -> None:
    shown = linesmith("encapsulate", "struct wheel.turns", "--accessor", "wheel_turns", "--tree", tree, "--dry-run")
    assert shown.returncode == 0
    assert shown.stdout.startswith(
        "struct wheel.turns (car.h:2): 1 place in 1 file goes through wheel_turns(), which gives its value\n"
        "     1  turned.c\n"
    )
    assert "- P->turns@p\n+ wheel_turns(P)\n" in shown.stdout


def test_json_has_places_rules_and_patches(tree: Path) -> None:
    told = json.loads(run(tree, "--format", "json").stdout)
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
