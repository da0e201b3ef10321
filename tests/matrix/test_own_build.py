# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel that was built: its objects were recorded with the files that each of them read."""

from __future__ import annotations

from pathlib import Path

from matrix.small_kernel import HEADER, PATCHED, small_kernel
from patch_cases import write_files

from linesmith.analyzer.model import CompiledUser, FileChange
from linesmith.patches.matrix import Asked, Change, check
from linesmith.patches.tree import Tree

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


def change() -> Change:
    file = "include/linux/s.h"
    return Change((FileChange(file, HEADER.encode(), PATCHED.encode()),), "s", "struct s", file)


def test_the_units_that_read_the_header_are_compiled_as_recorded(tmp_path: Path) -> None:
    tree = Tree(built_kernel(tmp_path))
    told: list[str] = []
    (own,) = check(change(), tree, Asked(("tree",), None), told.append)
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
    (own,) = check(change(), Tree(tree, write_files(build, made)), Asked(("tree",), 5), lambda _: None)
    assert (own.failed, own.users) == ("", (CompiledUser("fs/inode.c"),))


def test_a_unit_that_reads_the_header_past_the_change_is_told(tmp_path: Path) -> None:
    tree = built_kernel(tmp_path)
    (tree / "fs/inode.c").write_text(f'#include "{tree}/include/linux/s.h"\nlong f(struct s *s) {{ return s->hot; }}\n')
    (own,) = check(change(), Tree(tree), Asked(("tree",), None), lambda _: None)
    assert own.users == (CompiledUser("fs/inode.c", failed="include/linux/s.h was read without the change"),)
