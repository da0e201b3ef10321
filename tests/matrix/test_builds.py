# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds of a kernel: those that were recorded with what each object read, and those prepared, which expire."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from matrix.small_kernel import HEADER, PATCHED, small_kernel
from patch_cases import write_files

from linesmith.analyzer.model import CompiledUser, FileChange
from linesmith.patches.build.kbuild import kernel_build
from linesmith.patches.build.kconfig import build_stamp
from linesmith.patches.build.preparation import unit_commands
from linesmith.patches.matrix.check import check
from linesmith.patches.matrix.choice import CheckedChange, MatrixRequest
from linesmith.patches.source.tree import Tree

CALL = "gcc -nostdinc -I./include -include ./include/linux/kconfig.h -D__KERNEL__ -Wall"


def record(unit: str, *included: str) -> str:
    """What Kbuild writes beside the object of a unit."""
    target = unit.removesuffix(".c") + ".o"
    deps = "".join(f"  {file} \\\n" for file in included)
    saved = f"savedcmd_{target} := {CALL} -DUNIT -c -o {target} {unit}"
    return f"{saved}\n\nsource_{target} := {unit}\n\ndeps_{target} := \\\n{deps}\n"


def made_by_kbuild(call: str, *symbols: str) -> dict[str, str]:
    """What is left of the preparation of a build whose units are compiled by ``call``."""
    asm = "arch/x86/kernel/"
    return {
        "include/generated/autoconf.h": "".join(f"#define CONFIG_{symbol} 1\n" for symbol in symbols),
        "include/generated/asm-offsets.h": "",
        "include/config/auto.conf": "",
        f"{asm}.asm-offsets.s.cmd": f"savedcmd_{asm}asm-offsets.s := {call} -S -o a.s a.c\n",
    }


def built_kernel(root: Path) -> Path:
    """The small kernel with two of its units compiled, of which one read the header that is changed."""
    units = {
        "fs/.inode.o.cmd": record("fs/inode.c", "include/linux/s.h"),
        "fs/.alone.o.cmd": record("fs/alone.c", "include/linux/kconfig.h"),
        "fs/alone.c": "int alone;\n",
    }
    return write_files(small_kernel(root), made_by_kbuild(CALL, "SMP") | units)


def change() -> CheckedChange:
    file = "include/linux/s.h"
    return CheckedChange((FileChange(file, HEADER.encode(), PATCHED.encode()),), "s", "struct s", file)


def test_the_units_that_read_the_header_are_compiled_as_recorded(tmp_path: Path) -> None:
    tree = Tree(built_kernel(tmp_path))
    told: list[str] = []
    (own,) = check(change(), tree, MatrixRequest(("tree",), None), told.append)
    assert own.users == (CompiledUser("fs/inode.c"),)
    assert told == ["checking .config", "compiling 1 of 1 units that see the change, before and after"]


def test_a_build_elsewhere_is_used(tmp_path: Path) -> None:
    tree, build = small_kernel(tmp_path / "tree"), tmp_path / "build"
    call = CALL.replace("./include ", "../tree/include -I./include ").replace(
        "./include/linux", "../tree/include/linux"
    )
    unit = (
        record("fs/inode.c", "../tree/include/linux/s.h")
        .replace(CALL, call)
        .replace("fs/inode.c", "../tree/fs/inode.c")
    )
    # The configuration is written first: a build that is older than it is not believed.
    made = {".config": (tree / ".config").read_text(), **made_by_kbuild(call), "fs/.inode.o.cmd": unit}
    (tree / ".config").unlink()
    (own,) = check(change(), Tree(tree, write_files(build, made)), MatrixRequest(("tree",), 5), lambda _: None)
    assert (own.failed, own.users) == ("", (CompiledUser("fs/inode.c"),))


def test_a_unit_that_reads_the_header_past_the_change_is_told(tmp_path: Path) -> None:
    tree = built_kernel(tmp_path)
    (tree / "fs/inode.c").write_text(f'#include "{tree}/include/linux/s.h"\nlong f(struct s *s) {{ return s->hot; }}\n')
    (own,) = check(change(), Tree(tree), MatrixRequest(("tree",), None), lambda _: None)
    assert own.users == (CompiledUser("fs/inode.c", failed="include/linux/s.h was read without the change"),)


# What was prepared in the cache is made anew when files of the tree that decide it have changed


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
