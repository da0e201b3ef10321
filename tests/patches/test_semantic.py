# SPDX-License-Identifier: GPL-2.0-or-later
"""Semantic patches: Coccinelle on an image of a tree, the places of a word, and how changed lines are laid out."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from patch_cases import write_files
from text_cases import TextCase, text_cases

from linesmith.analyzer.base.errors import SemanticPatchFailed, ToolMissing
from linesmith.analyzer.model import FileChange, RefusalCode
from linesmith.patches.treewide.image import TreeImage, tree_image
from linesmith.patches.treewide.mentions import Mention, mentions, read_source
from linesmith.patches.treewide.spatch import Report, RuleMatch, SemanticPatch, include_folders, spatch, tidy

needs_spatch = pytest.mark.skipif(shutil.which("spatch") is None, reason="Coccinelle is not installed")

HEADER = b"struct wheel { int turns; };\nstruct car { struct wheel *front; int turns; };\n"
SOURCE = b"""\
#include "car.h"

int spin(struct car *c)
{
\tif (c->turns)
\t\treturn 0;
\treturn c->front->turns;
}
"""
RULES = """\
@r@
struct wheel *W;
position p;
@@
W->turns@p

@@
struct wheel *W;
@@
- W->turns
+ wheel_turns(W)
"""


@pytest.fixture
def image(tmp_path: Path) -> Iterator[TreeImage]:
    with tree_image(write_files(tmp_path, {"car.h": HEADER.decode(), "spin.c": SOURCE.decode()})) as made:
        yield made


def quiet(_: str) -> None:
    pass


@needs_spatch
def test_types_come_from_headers_and_the_tree_stays(image: TreeImage) -> None:
    """Bodies of scoped guards are code; a report tells where a rule matched."""
    image.put("lock.c", b"int f(struct wheel *w)\n{\n\tscoped_guard (mutex, &l)\n\t\treturn w->turns;\n}\n")
    done = spatch(SemanticPatch(RULES, (Report("r", "p", ("W",)),)), image, ["spin.c", "lock.c"], quiet)
    assert RuleMatch("r", "spin.c", 7, 18, "spin", (("W", "c -> front"),)) in done.matches
    assert (len(done.matches), done.failed) == (2, ())
    spin = {one.file: one.after for one in image.commit()}
    assert spin["spin.c"] == SOURCE.replace(b"c->front->turns", b"wheel_turns(c->front)")
    assert b"return wheel_turns(w);" in (spin["lock.c"] or b"")
    assert (image.tree / "spin.c").read_bytes() == SOURCE


@needs_spatch
def test_rules_that_are_no_semantic_patch_are_refused(image: TreeImage) -> None:
    with pytest.raises(SemanticPatchFailed, match=r"rejects the semantic patch \(.*parse error"):
        spatch(SemanticPatch("@r@\nexpression E;\n@@\nE->\n"), image, ["spin.c"], quiet)


def test_a_missing_program_names_its_package(image: TreeImage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ToolMissing, match="install the package coccinelle"):
        spatch(SemanticPatch(RULES), image, ["spin.c"], quiet)


@needs_spatch
def test_a_file_on_which_it_dies_is_a_refusal_and_the_others_are_changed(image: TreeImage) -> None:
    script = "@script:python@\np << r.p;\n@@\nassert 'spin.c' in p[0].file\n"
    image.put("stall.c", SOURCE)
    done = spatch(SemanticPatch(RULES + "\n" + script), image, ["spin.c", "stall.c"], quiet)
    assert [(refusal.code, refusal.place) for refusal in done.failed] == [(RefusalCode.NOT_PARSED, "stall.c:1")]
    assert b"wheel_turns" in image.read("spin.c")


def test_a_kernel_file_looks_for_headers_of_its_own_architecture(tmp_path: Path) -> None:
    write_files(tmp_path, {"Kbuild": "", "scripts/Makefile.build": ""})
    for machine in ("arm", "x86"):
        (tmp_path / "arch" / machine / "include").mkdir(parents=True)
    assert include_folders(tmp_path, "arch/arm/mm/flush.c")[:2] == ("include", "arch/arm/include")
    assert include_folders(tmp_path, "mm/mmap.c")[:2] == ("include", "arch/x86/include")


# The image of a tree: links until a file is changed


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "tree" / "doc").mkdir(parents=True)
    return write_files(tmp_path / "tree", {"lib/one.c": "int one;\n", "lib/deep/two.c": "int two;\n"})


def test_a_commit_gives_what_changed_since_the_last_one(tree: Path) -> None:
    with tree_image(tree) as image:
        image.make_own(["lib/one.c", "lib/deep/two.c"])
        image.put("lib/one.c", b"int uno;\n")
        assert image.commit() == (FileChange("lib/one.c", b"int one;\n", b"int uno;\n"),)
        image.put("lib/one.c", b"int un;\n")
        image.put("lib/new.c", b"int new;\n")
        (image.root / "lib/deep/two.c").unlink()
        assert image.commit() == (
            FileChange("lib/deep/two.c", b"int two;\n", None),
            FileChange("lib/new.c", None, b"int new;\n"),
            FileChange("lib/one.c", b"int uno;\n", b"int un;\n"),
        )
        assert image.commit() == ()
    assert sorted(path.name for path in (tree / "lib").iterdir()) == ["deep", "one.c"]


# Places of a word

SEAT = b"""\
/* seat is told here */
#define SEAT(x) \\
\t(&(x)->seat)
int f(struct car *c)
{
#ifdef NEVER
\tputs("seat");
\treturn c->seat; // seat
#endif
\treturn c->seats;
}
"""


def test_every_place_in_code_with_the_macro_around_it(tmp_path: Path) -> None:
    write_files(tmp_path, {"sub/a.c": SEAT.decode(), "a.txt": SEAT.decode()})
    (tmp_path / "link.c").symlink_to("sub/a.c")
    assert mentions(tmp_path, "seat", lambda _: None) == (
        Mention("sub/a.c", 3, 8, SEAT.index(b"seat)"), "(&(x)->seat)", macro="SEAT"),
        Mention("sub/a.c", 8, 11, SEAT.index(b"seat; //"), "return c->seat; // seat"),
    )


def test_a_pipe_and_a_link_are_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.c")
    (tmp_path / "link.c").symlink_to("/etc/passwd")
    assert read_source(tmp_path / "pipe.c") == b""
    assert read_source(tmp_path / "link.c") == b""


@text_cases(Path(__file__).with_name("cases") / "tidy.txt")
def test_lines_that_changed_are_laid_out(case: TextCase) -> None:
    before, broken, expected = ("".join(f"{one[1:]}\n" for one in case.lines if one[0] == sign) for sign in "-+=")
    assert tidy(before.encode(), broken.encode()).decode() == expected
