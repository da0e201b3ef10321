# SPDX-License-Identifier: GPL-2.0-or-later
"""Coccinelle on files of an image: what it changes, what it reports, and what it gives up on."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from linesmith.analyzer.errors import SemanticPatchFailed, ToolMissing
from linesmith.analyzer.model import RefusalCode
from linesmith.patches.semantic.image import TreeImage, tree_image
from linesmith.patches.semantic.spatch import Report, SemanticPatch, Site, include_folders, spatch

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
    (tmp_path / "car.h").write_bytes(HEADER)
    (tmp_path / "spin.c").write_bytes(SOURCE)
    with tree_image(tmp_path) as made:
        yield made


def quiet(_: str) -> None:
    pass


@needs_spatch
def test_types_come_from_headers_and_the_tree_stays(image: TreeImage) -> None:
    spatch(SemanticPatch(RULES), image, ["spin.c"], quiet)
    (change,) = image.commit()
    assert change.file == "spin.c"
    assert change.after == SOURCE.replace(b"c->front->turns", b"wheel_turns(c->front)")
    assert (image.tree / "spin.c").read_bytes() == SOURCE


@needs_spatch
def test_a_report_tells_where_a_rule_matched(image: TreeImage) -> None:
    done = spatch(SemanticPatch(RULES, (Report("r", "p", ("W",)),)), image, ["spin.c"], quiet)
    assert done.sites == (Site("r", "spin.c", 7, 18, "spin", (("W", "c -> front"),)),)
    assert done.failed == ()


@needs_spatch
def test_bodies_of_scoped_guards_are_code(image: TreeImage) -> None:
    image.put("lock.c", b"int f(struct wheel *w)\n{\n\tscoped_guard (mutex, &l)\n\t\treturn w->turns;\n}\n")
    spatch(SemanticPatch(RULES), image, ["lock.c"], quiet)
    assert b"return wheel_turns(w);" in image.read("lock.c")


@needs_spatch
def test_rules_that_are_no_semantic_patch_are_refused(image: TreeImage) -> None:
    with pytest.raises(SemanticPatchFailed, match=r"does not take the semantic patch \(.*parse error"):
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


@needs_spatch
@pytest.mark.parametrize("name", ["x;touch came;y.c", "a b.c", "-x.c", "$(touch came).c"])
def test_names_that_a_shell_would_read_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "car.h").write_bytes(HEADER)
    (tmp_path / name).write_bytes(SOURCE)
    with tree_image(tmp_path) as image:
        done = spatch(SemanticPatch(RULES), image, [name], quiet)
        assert image.commit() == ()
        assert not list(image.root.rglob("came"))
    (refusal,) = done.failed
    assert (refusal.code, refusal.place) == (RefusalCode.NOT_PARSED, f"{name}:1")


def test_a_kernel_file_looks_for_headers_of_its_own_architecture(tmp_path: Path) -> None:
    (tmp_path / "Kbuild").touch()
    for folder in ("scripts", "arch/arm/include", "arch/x86/include"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "scripts" / "Makefile.build").touch()
    assert include_folders(tmp_path, "arch/arm/mm/flush.c")[:2] == ("include", "arch/arm/include")
    assert include_folders(tmp_path, "mm/mmap.c")[:2] == ("include", "arch/x86/include")
