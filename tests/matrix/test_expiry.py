# SPDX-License-Identifier: GPL-2.0-or-later
"""A build that was prepared in the cache is made anew when files of the tree that decide it have changed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from matrix.small_kernel import small_kernel

from linesmith.patches.build_files import build_stamp
from linesmith.patches.dry_make import unit_commands
from linesmith.patches.kbuild import kernel_build


def units(tree: Path) -> tuple[bool, list[str]]:
    """Whether the tree was prepared for it, and the units below ``fs`` that make names."""
    build = kernel_build(tree, None, lambda _: None)
    assert build.preparation is not None
    named = unit_commands(build.preparation, lambda _: None).commands
    return bool(build.commands), sorted(unit for unit in named if unit.startswith("fs/"))


def test_a_makefile_that_names_another_unit_is_heeded(tmp_path: Path) -> None:
    tree = small_kernel(tmp_path)
    assert units(tree) == (True, ["fs/holder.c", "fs/inode.c"])
    assert units(tree) == (False, ["fs/holder.c", "fs/inode.c"])
    makefile = tree / "Makefile"
    makefile.write_text(makefile.read_text().replace("fs/holder.o\n", "fs/holder.o fs/other.o\n"))
    assert units(tree) == (True, ["fs/holder.c", "fs/inode.c", "fs/other.c"])
    assert units(tree)[0] is False


def test_compiles_that_want_to_know_the_units_at_once_ask_make_once(tmp_path: Path) -> None:
    made = kernel_build(small_kernel(tmp_path), None, lambda _: None).preparation
    assert made is not None
    ready, said = Barrier(4), list[str]()

    def ask(_: int) -> list[str]:
        ready.wait()
        return sorted(one for one in unit_commands(made, said.append).commands if one.startswith("fs/"))

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(ask, range(4)))
    assert found == [["fs/holder.c", "fs/inode.c"]] * 4
    assert len([one for one in said if one.startswith("asking make")]) == 1


@pytest.mark.parametrize(
    "name",
    ["fs/Kconfig", "fs/Kconfig.debug", "fs/Makefile", "Kbuild", "kernel/bounds.c", "arch/x86/kernel/asm-offsets_64.c"],
)
def test_what_decides_a_build_changes_the_stamp(tmp_path: Path, name: str) -> None:
    tree = small_kernel(tmp_path)
    before = build_stamp(tree)
    (tree / name).parent.mkdir(parents=True, exist_ok=True)
    (tree / name).write_text("# more\n")
    written = build_stamp(tree)
    (tree / name).unlink()
    assert len({before, written, build_stamp(tree)}) == (3 if name == "Kbuild" else 2)


def test_a_source_that_is_edited_or_built_does_not(tmp_path: Path) -> None:
    tree = small_kernel(tmp_path)
    before = build_stamp(tree)
    (tree / "fs/inode.c").write_text("int x;\n")
    (tree / "arch/x86/kernel").mkdir()
    (tree / "arch/x86/kernel/asm-offsets.s").write_text("")
    assert build_stamp(tree) == before
