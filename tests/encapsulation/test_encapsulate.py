# SPDX-License-Identifier: GPL-2.0-or-later
"""A member behind an accessor: the cases of ``cases.txt``, and that the tree stays as it is."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from encapsulation.programs import hidden, needs_spatch
from patch_cases import stamps, write_files
from text_cases import TextCase, text_cases

from linesmith.analyzer.base.errors import DeclarationNotFound, EditRefused
from linesmith.patches.encapsulation.member import Form, MemberAccessor, declared_member, definition
from linesmith.patches.source.declaration import Declared
from linesmith.patches.source.records import records_named

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


def files_of(case: TextCase) -> Iterator[tuple[str, str, str]]:
    """The name of each file of a case, its text and what becomes of it."""
    for part in "\n".join(case.lines).split("--- ")[1:]:
        name, *lines = part.rstrip("\n").split("\n")
        before, after = ("".join(f"{one[1:]}\n" for one in lines if one[:1] in ("", " ", sign)) for sign in "-+")
        yield name, before, after


@needs_spatch
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


@needs_spatch
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


@needs_spatch
def test_names_that_are_not_there_or_taken(tmp_path: Path) -> None:
    tree = write_files(tmp_path, FILES)
    with pytest.raises(DeclarationNotFound, match="declares no record wheel with a member spokes"):
        hidden(tree, "wheel", "spokes", "wheel_spokes")
    with pytest.raises(EditRefused, match=r"f\.c:2: f is a name already; give another with --accessor"):
        hidden(tree, "wheel", "turns", "f")


@needs_spatch
def test_records_of_user_space_stay(tmp_path: Path) -> None:
    tree = write_files(tmp_path, {"include/uapi/car.h": HEADER})
    with pytest.raises(EditRefused, match="wheel is shared with user space, so its members must stay"):
        hidden(tree, "wheel", "turns", "wheel_turns")
