# SPDX-License-Identifier: GPL-2.0-or-later
"""The declarations: the object in the pointer's place and its type; and what expressions do with a pointer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from patch_cases import write_files
from text_cases import TextCase, text_cases, text_rows

from linesmith.analyzer.base.errors import DeclarationNotFound, EditRefused
from linesmith.analyzer.model import RefusalCode
from linesmith.patches.inline.inline import inlined, target_record
from linesmith.patches.inline.pointer import pointer_member, with_object, without_emptied
from linesmith.patches.source.declaration import Declared
from linesmith.patches.source.records import records_named
from linesmith.patches.treewide.image import TreeImage, tree_image


@text_cases(Path(__file__).with_name("cases") / "members.txt")
def test_a_pointer_becomes_a_member(case: TextCase) -> None:
    declared = Declared("area.h", case.before, records_named(case.before, "s")[0], 1.0)
    attribute = "__aligned(64)" if case.words("plain") is None else ""
    assert with_object(pointer_member(declared, "lock"), attribute) == case.after


# Where the type of the object is declared

AREA = "#ifndef AREA_H\n#define AREA_H\n\nstruct area {\n\tstruct lock *lock;\n};\n\n#endif\n"
INCLUDING = AREA.replace("_H\n\n", '_H\n#include "lock.h"\n')
LOCK = "struct lock {\n\tint taken;\n};\n"


@pytest.fixture
def image(tmp_path: Path) -> Iterator[TreeImage]:
    with tree_image(tmp_path) as made:
        yield made


def found(image: TreeImage, files: dict[str, str]) -> Declared:
    """What ``area.lock`` of ``area.h`` leads to in a tree of these files."""
    write_files(image.tree, files)
    source = image.read("area.h")
    pointer = pointer_member(Declared("area.h", source, records_named(source, "area")[0], 1.0), "lock")
    return target_record(pointer, image, print)


def test_of_two_types_the_one_that_is_not_empty_is_meant(image: TreeImage) -> None:
    both = f"#ifdef LOCKS\n{LOCK}#else\nstruct lock {{ }};\n#endif\n"
    assert found(image, {"area.h": INCLUDING, "lock.h": both}).place == "lock.h:2"


def test_two_types_that_differ_are_refused(image: TreeImage) -> None:
    with pytest.raises(EditRefused) as refused:
        found(image, {"area.h": INCLUDING, "lock.h": LOCK + LOCK})
    assert refused.value.refusal.code is RefusalCode.AMBIGUOUS


def test_a_type_without_a_body_is_an_error(image: TreeImage) -> None:
    with pytest.raises(DeclarationNotFound, match="has no body of struct lock"):
        found(image, {"area.h": AREA})


def test_a_conditional_goes_when_it_has_become_empty() -> None:
    before = b"a;\n#ifdef X\nb;\n#endif\n#ifdef Y\n#endif\n"
    after = b"a;\n#ifdef X\n#endif\n#ifdef Y\n#endif\n"
    assert without_emptied(before, after) == b"a;\n#ifdef Y\n#endif\n"


# What an expression does with the pointer ``p`` of ``x``, which leads to one ``struct foo``: ``cases/uses.txt``

ONE_FOO = "struct foo { int a; };\nstruct bar {\n\tint b;\n\tstruct foo *p;\n};\n"
# Something that is always in the way: no semantic patch has to be run then.
SHARED = "void shared(struct bar *x, struct foo *y) { x->p = y; }\n"


ROWS = text_rows(Path(__file__).with_name("cases") / "uses.txt")


@pytest.fixture(scope="module")
def uses(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What is found in each source, in a tree that has a file for each."""
    sources = {f"f{number}.c": source for number, (source, _) in enumerate(ROWS.args[1])}
    head = "void f(struct bar *x, struct foo *q, struct foo *alias)"
    files = {name: f"{head}\n{{\n{source}\n}}\n" for name, source in sources.items()}
    tree = write_files(tmp_path_factory.mktemp("uses"), {"x.h": ONE_FOO, "shared.c": SHARED, **files})
    found: dict[str, list[str]] = {source: [] for source in sources.values()}
    for one in inlined("bar", "p", tree, print).uses:
        if one.file in sources:
            no = one.refusal
            why = f" {no.code.name} in line {no.place.partition(':')[2]}: {no.reason}" if no else ""
            found[sources[one.file]].append(f"{one.role.name}{why}")
    return found


@ROWS
def test_each_use_has_one_role(uses: dict[str, list[str]], source: str, expected: list[str]) -> None:
    assert uses[source] == expected
