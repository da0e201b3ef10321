# SPDX-License-Identifier: GPL-2.0-or-later
"""Which units are worth parsing for a record: one way to come to it in each test."""

from __future__ import annotations

from pathlib import Path

import pytest
from scan.trees import written

from linesmith.patches.scan.files import Files
from linesmith.patches.scan.selection import selected
from linesmith.patches.scan.unit import Unit

HEADER = """
struct box { int width; int height; };
typedef struct box box_t;
struct holder { long a; struct box inner; struct box *other; };
struct outer { struct holder first; };
struct box *box_of(struct holder *h);
extern struct box the_box;
#define first_box(h) ((h)->other)
#define wide(b) ((b)->width)
#define BOX_INIT { 1, 2 }
#define MAKE_BOX(name) struct box name = BOX_INIT
"""


def chosen(tmp_path: Path, text: str, headers: dict[str, str] | None = None, others: int = 0) -> list[str]:
    """The names of the chosen units: ``subject.c`` with ``text``, and others that only include the headers."""
    files = {"box.h": HEADER, **(headers or {})}
    units = {"subject.c": text, **{f"other{number}.c": "int x;" for number in range(others)}}
    written(tmp_path, files | units)
    includes = frozenset(str(tmp_path / name) for name in files)
    known = [Unit(str(tmp_path / name), tmp_path, "gcc", tmp_path, includes) for name in units]
    return [Path(unit.file).name for unit in selected(known, "box", Files((Path("/"),)))]


@pytest.mark.parametrize(
    "text",
    [
        "void f(void *p) { struct box *b = p; }",
        "void f(void *p) { box_t *b = p; }",
        "int f(struct holder *h) { return h->other->width; }",
        "int f(struct holder *h) { return h->inner.height; }",
        "int f(struct holder *h) { return box_of(h)->width; }",
        "int f(void) { return the_box.width; }",
        "int f(struct holder *h) { return first_box(h)->width; }",
        "int f(struct holder *h) { return wide(h->other); }",
        "static struct holder h = { 1, { 2, 3 }, 0 };",
        "static struct outer o[] = { { { 1, { 2, 3 } } } };",
        "void g(struct outer *p) { *p = (struct outer) { { 1 } }; }",
        "MAKE_BOX(mine);",
    ],
)
def test_a_unit_counts_that_can_come_to_the_record(tmp_path: Path, text: str) -> None:
    assert chosen(tmp_path, text) == ["subject.c"]


@pytest.mark.parametrize(
    "text",
    [
        "int box; int width;",
        "/* struct holder h = { 1 }; */ int f(struct holder *h) { return h->a; }",
        "int f(struct rectangle *r) { return r->width; }",
    ],
)
def test_a_unit_does_not_count_for_a_word_alone(tmp_path: Path, text: str) -> None:
    # Nine units include box.h, so it is no part of any of them; none has to be parsed for it.
    assert "subject.c" not in chosen(tmp_path, text, others=9)[1:]


def test_one_unit_is_parsed_for_the_inline_functions_of_a_header(tmp_path: Path) -> None:
    user = {"user.h": "static inline int w(struct holder *h) { return h->other->width; }"}
    assert len(chosen(tmp_path, "int x;", user, others=9)) == 1


def test_a_header_that_few_include_is_a_part_of_each(tmp_path: Path) -> None:
    user = {"user.h": "static inline int w(struct holder *h) { return h->other->width; }"}
    assert chosen(tmp_path, "int x;", user, others=2) == ["subject.c", "other0.c", "other1.c"]


def test_units_that_do_not_include_the_declaration_never_count(tmp_path: Path) -> None:
    written(tmp_path, {"box.h": HEADER, "a.c": "struct box; void f(struct box *b);"})
    unit = Unit(str(tmp_path / "a.c"), tmp_path, "gcc", tmp_path, frozenset())
    assert selected([unit], "box", Files((Path("/"),))) == ()


def test_a_typedef_behind_an_unnamed_body_is_a_name(tmp_path: Path) -> None:
    pair = {"pair.h": "typedef struct { int a; int b; } pair_t;"}
    texts = {"a.c": "pair_t p = { 1, 2 };", **{f"b{number}.c": "int p;" for number in range(9)}}
    written(tmp_path, pair | texts)
    includes = frozenset([str(tmp_path / "pair.h")])
    units = [Unit(str(tmp_path / name), tmp_path, "gcc", tmp_path, includes) for name in texts]
    assert [Path(unit.file).name for unit in selected(units, "pair_t", Files((Path("/"),)))] == ["a.c"]
