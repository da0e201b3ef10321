# SPDX-License-Identifier: GPL-2.0-or-later
"""The declarations: the object in the pointer's place, its type in front of the record, and what statements leave."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from text_cases import TextCase, text_cases

from linesmith.analyzer.base.errors import DeclarationNotFound, EditRefused
from linesmith.analyzer.model import RefusalCode
from linesmith.patches.inline.pointer import (
    PointerMember,
    conditionals,
    pointer_member,
    with_object,
    without_emptied,
    without_unused_labels,
)
from linesmith.patches.inline.study import in_order, missed_by, moved_ahead, target_record
from linesmith.patches.source.declaration import Declared
from linesmith.patches.source.records import records_named
from linesmith.patches.treewide.series import TreeImage, tree_image


@text_cases(Path(__file__).with_name("cases") / "members.txt")
def test_a_pointer_becomes_a_member(case: TextCase) -> None:
    declared = Declared("area.h", case.before, records_named(case.before, "s")[0], 1.0)
    attribute = "__aligned(64)" if case.words("plain") is None else ""
    assert with_object(pointer_member(declared, "lock"), attribute) == case.after


# The type of the object is made complete in front of the record

AREA = "#ifndef AREA_H\n#define AREA_H\n\n/* One. */\nstruct area {\n\tstruct lock *lock;\n};\n\n#endif\n"
LOCK = "/* Taken by one. */\nstruct lock {\n\tint taken;\n};\n"


@pytest.fixture
def image(tmp_path: Path) -> Iterator[TreeImage]:
    with tree_image(tmp_path) as made:
        yield made


def found(image: TreeImage, files: dict[str, str]) -> tuple[PointerMember, Declared]:
    """``area.lock`` of ``area.h`` in a tree of these files, and the record that it leads to."""
    for name, text in files.items():
        image.put(name, text.encode())
    source = image.read("area.h")
    one = pointer_member(Declared("area.h", source, records_named(source, "area")[0], 1.0), "lock")
    return one, target_record(one, tuple(name for name in files if name.endswith(".c")), image, print)


def test_a_type_of_an_included_header_is_complete(image: TreeImage) -> None:
    files = {"area.h": AREA.replace("_H\n\n", '_H\n#include "lock.h"\n'), "lock.h": LOCK}
    assert in_order(*found(image, files), image)


def test_a_type_that_only_a_unit_has_is_moved_with_its_comment(image: TreeImage) -> None:
    one, target = found(image, {"area.h": AREA, "area.c": f'#include "area.h"\n\n{LOCK}\nint x;\n'})
    assert not in_order(one, target, image)
    moved = moved_ahead(one, target)
    assert moved["area.h"].decode() == AREA.replace("/* One. */", f"{LOCK}\n/* One. */")
    assert moved["area.c"] == b'#include "area.h"\n\nint x;\n'


def test_a_header_that_loses_the_type_is_told_unless_it_includes_the_record(image: TreeImage) -> None:
    one, target = found(image, {"area.h": AREA, "area.c": '#include "lock.h"\n', "lock.h": LOCK})
    told = [(one.code, one.place, one.reason) for one in missed_by(one, target, image)]
    reason = "struct lock moves to area.h, which is not included here"
    assert told == [(RefusalCode.TYPE_ORDER, "lock.h:2", reason)]
    image.put("lock.h", f'#include "area.h"\n{LOCK}'.encode())
    assert not list(missed_by(one, target, image))


def test_of_two_types_the_one_that_is_not_empty_is_meant(image: TreeImage) -> None:
    both = f"#ifdef LOCKS\n{LOCK}#else\nstruct lock {{ }};\n#endif\n"
    target = found(image, {"area.h": AREA.replace("_H\n\n", '_H\n#include "lock.h"\n'), "lock.h": both})[1]
    assert target.place == "lock.h:3"


def test_two_types_that_differ_are_refused(image: TreeImage) -> None:
    with pytest.raises(EditRefused) as refused:
        found(image, {"area.h": AREA, "area.c": LOCK, "other.c": LOCK})
    assert refused.value.refusal.code is RefusalCode.AMBIGUOUS


def test_a_type_within_a_conditional_is_not_moved_out_of_it(image: TreeImage) -> None:
    one, target = found(image, {"area.h": AREA, "area.c": f"#ifdef LOCKS\n{LOCK}#endif\n"})
    with pytest.raises(EditRefused) as refused:
        moved_ahead(one, target)
    assert (refused.value.refusal.code, refused.value.refusal.place) == (RefusalCode.TYPE_ORDER, "area.c:3")


def test_a_type_without_a_body_is_an_error(image: TreeImage) -> None:
    with pytest.raises(DeclarationNotFound, match="no body of struct lock"):
        found(image, {"area.h": AREA})


# What statements leave behind when they go: labels, conditionals

BEFORE = b"""\
int f(int a)
{
	if (a)
		goto out_b;
	if (a > 1)
		goto out_a;
	return 0;
out_a:
	g();
out_b:
	h();
never:
	return 1;
}
"""


def test_a_label_goes_with_the_last_jump_to_it() -> None:
    """One of that name in another function stays."""
    after, other = BEFORE.replace(b"\tif (a)\n\t\tgoto out_b;\n", b""), BEFORE.replace(b"f(", b"e(")
    assert without_unused_labels(BEFORE + other, after + other) == after.replace(b"out_b:\n", b"") + other


def test_what_only_a_label_led_to_goes_with_it() -> None:
    before = b"int f(int a)\n{\n\tif (a)\n\t\tgoto out;\n\treturn 0;\n\nout:\n\tg();\n\treturn 1;\n}\n"
    after = before.replace(b"\tif (a)\n\t\tgoto out;\n", b"")
    assert without_unused_labels(before, after) == b"int f(int a)\n{\n\treturn 0;\n}\n"


def test_a_conditional_goes_when_it_has_become_empty() -> None:
    before = b"a;\n#ifdef X\nb;\n#endif\n#ifdef Y\n#endif\n"
    after = b"a;\n#ifdef X\n#endif\n#ifdef Y\n#endif\n"
    assert without_emptied(before, after) == b"a;\n#ifdef Y\n#endif\n"


def test_the_conditionals_around_a_place() -> None:
    source = b"#if A\n#if B\n#endif\n#ifdef C\n#else\nhere\n"
    around = conditionals(source, source.index(b"here"))
    assert [(one.opening, one.alternative) for one in around] == [(b"#if A\n", False), (b"#ifdef C\n", True)]
