# SPDX-License-Identifier: GPL-2.0-or-later
"""``encapsulate`` and ``inline`` on a tree of somebody else: nothing of it runs, and nothing outside of it is read."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
from hostile.wheel import AREA, ENCAPSULATE, USER, program
from linesmith_command import linesmith
from patch_cases import write_files

from linesmith.patches.treewide.image import tree_image
from linesmith.patches.treewide.spatch import SemanticPatch, spatch

pytestmark = pytest.mark.skipif(shutil.which("spatch") is None, reason="needs spatch of the package coccinelle")

OUTSIDE = "struct secret { int a_word_of_a_secret; };\n"


def test_a_tree_does_not_tell_coccinelle_how_to_run(tmp_path: Path) -> None:
    tree = program(tmp_path / "tree", a=USER, area=AREA)
    plain = linesmith(*ENCAPSULATE, "--tree", tree)
    write_files(tree, {"evil.cocci": "@script:python@\n@@\nopen('ran', 'w')\n"})
    options = f"--no-such-option --sp-file {tree}/evil.cocci"
    write_files(tree, {".cocciconfig": f"[spatch]\n\toptions = {options}\n"})
    done = linesmith(*ENCAPSULATE, "--tree", tree)
    assert (done.returncode, done.stdout) == (0, plain.stdout)


def test_no_include_and_no_link_is_read_outside_of_the_tree(tmp_path: Path) -> None:
    outside = write_files(tmp_path / "outside", {"secret.h": OUTSIDE})
    tree = program(tmp_path / "tree", a=USER, area=AREA)
    os.mkfifo(tmp_path / "outside" / "fifo.h")
    (tree / "link.h").symlink_to(outside / "secret.h")
    (tree / "folder").symlink_to(outside)
    (tree / "fifo.h").symlink_to(outside / "fifo.h")
    named = (f"{outside}/secret.h", "link.h", "folder/secret.h", "../outside/secret.h", "fifo.h", "/dev/zero")
    lines = "".join(f'#include "{name}"\n' for name in named)
    write_files(tree, {"area.c": f"{lines}{AREA}"})
    with tree_image(tree) as image:
        for name in named:
            with pytest.raises(OSError, match=re.escape(name)):
                image.read(name)
    done = linesmith("inline", "area.lock", "--tree", tree, "--dry-run")
    assert "a_word_of_a_secret" not in done.stdout + done.stderr


def test_a_link_that_a_program_leaves_in_the_image_is_not_followed(tmp_path: Path) -> None:
    outside = write_files(tmp_path / "outside", {"secret.c": OUTSIDE})
    with tree_image(program(tmp_path / "tree", a=USER, area=AREA)) as image:
        image.make_own(["a.c"])
        (image.root / "a.c").unlink()
        (image.root / "a.c").symlink_to(outside / "secret.c")
        with pytest.raises(OSError, match=r"a\.c"):
            image.read("a.c")
        (image.root.parent / "rules.cocci").symlink_to(outside / "secret.c")
        image.put("a.c", USER.encode())
        spatch(SemanticPatch("@ rule @\nexpression e;\n@@\n- e->size\n+ e->turns\n"), image, ["a.c"], print)
        assert b"wheel->turns" in image.read("a.c")
    assert (outside / "secret.c").read_text() == OUTSIDE


def test_lines_that_look_like_reports_are_none(tmp_path: Path) -> None:
    forged = 'linesmith-site ("rule", "/etc/passwd", 1, 0, "f", ())'
    odd = "linesmith-site [1, 2]\nlinesmith-site (((\n"
    tree = program(tmp_path / "tree", a=f"{USER}int (((\n#error {forged}\n{forged}\n{odd}\n}}}}\n")
    rules = SemanticPatch("@ rule @\nexpression e;\nposition p;\n@@\n e->size@p\n", {"rule": ("e",)})
    with tree_image(tree) as image:
        found = spatch(rules, image, ["a.c"], print)
    assert {(one.file, one.line) for one in found.matches} <= {("a.c", 4)}


def test_names_of_files_are_no_options_and_no_commands(tmp_path: Path) -> None:
    names = ["-sp_file", "--version", "@x", "a b", "$(touch ran)", "`touch ran`"]
    tree = program(tmp_path / "tree", a=USER, **dict.fromkeys(names, USER))
    done = linesmith(*ENCAPSULATE, "--tree", tree, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "wheel_size(wheel)" in done.stdout
    assert not list(tmp_path.rglob("ran*"))
