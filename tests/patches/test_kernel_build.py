# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernel trees in small: a recorded build is used as it is, anything else is prepared beside the tree."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from patch_cases import behind, candidate, finding, layout, write_files

from linesmith.analyzer.errors import CacheError, EditRefused, TreeError
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Candidate, Layout, Move, MoveKind, Patch
from linesmith.patches.kbuild import kernel_build
from linesmith.patches.patch import Tree, write

RECORD = "arch/x86/kernel/.asm-offsets.s.cmd"
CALL = (
    "gcc -Wp,-MMD,arch/x86/kernel/.asm-offsets.s.d -nostdinc -I./include -include ./include/linux/kconfig.h "
    "-D__KERNEL__ -O2 -S -o arch/x86/kernel/asm-offsets.s arch/x86/kernel/asm-offsets.c"
)
BUILT = {
    "Kbuild": "",
    "Makefile": "VERSION = 6\nall:\n\t@echo no rule here >&2; false\nolddefconfig prepare0: all\n",
    "scripts/Makefile.build": "",
    "arch/x86/Makefile": "",
    "include/linux/kconfig.h": "#define CONFIG_B 1\n",
    "include/linux/cache.h": "#define ____cacheline_aligned_in_smp __attribute__((__aligned__(64)))\n",
    "include/linux/s.h": "struct s {\n\tlong a;\n#ifdef CONFIG_B\n\tlong b;\n#endif\n\tlong c;\n};\n",
    ".config": "# Linux/x86 6.1.0 Kernel Configuration\nCONFIG_B=y\n",
    "include/config/auto.conf": "CONFIG_B=y\n",
    "include/generated/asm-offsets.h": "",
    RECORD: f"savedcmd_arch/x86/kernel/asm-offsets.s := {CALL}\n",
}
BEFORE = [("a", 0, 8), ("b", 8, 8), ("c", 16, 8)]
AFTER = [("b", 0, 8), ("c", 8, 8), ("a", 16, 8)]


def proposal() -> Candidate:
    before = layout("s", BEFORE, 24, file="include/linux/s.h", line=1)
    return candidate(before, layout("s", AFTER, 24), [behind("a", "c")])


def excerpt(_shown: Layout, _layouts: Layouts, _names: frozenset[str], _marked: frozenset[str]) -> list[str]:
    return ["struct s"]


def patch_of(tree: Path, chosen: Candidate, build: Path | None = None) -> Patch:
    return write(chosen, finding(), Tree(tree, build), 1, excerpt, lambda _: None)


def test_the_flags_of_the_trees_own_build_are_used(tmp_path: Path) -> None:
    tree = write_files(tmp_path, BUILT)
    before = sorted(str(path) for path in tree.rglob("*"))
    patch = patch_of(tree, proposal())
    assert patch.exact
    assert "-D__KERNEL__" in patch.commands[-1]
    assert "the tree's own Kbuild flags for its .config" in " ".join(patch.message.split())
    assert sorted(str(path) for path in tree.rglob("*")) == before


def test_a_build_directory_is_used(tmp_path: Path) -> None:
    sources = {
        name: text for name, text in BUILT.items() if not name.startswith((".config", "include/config", "arch/x86/k"))
    }
    tree = write_files(tmp_path / "tree", sources)
    made = {name: BUILT[name] for name in (".config", "include/config/auto.conf", "include/generated/asm-offsets.h")}
    call = CALL.replace("./include", "../tree/include")
    build = write_files(tmp_path / "out", {**made, RECORD: f"cmd_arch/x86/kernel/asm-offsets.s := {call}\n"})
    assert patch_of(tree, proposal(), build).exact
    with pytest.raises(TreeError, match=r"has no \.config"):
        patch_of(tree, proposal())


def test_a_header_that_is_included_before_the_probe_is_the_patched_one(tmp_path: Path) -> None:
    included = {"include/linux/kconfig.h": "#define CONFIG_B 1\n#include <linux/s.h>\n"}
    guarded = {"include/linux/s.h": f"#ifndef S_H\n#define S_H\n{BUILT['include/linux/s.h']}#endif\n"}
    chosen = proposal()
    assert patch_of(write_files(tmp_path, {**BUILT, **included, **guarded}), chosen).exact


def test_an_alignment_uses_the_kernels_word_where_the_header_sees_it(tmp_path: Path) -> None:
    aligned = layout("s", [("a", 0, 8), ("b", 64, 8), ("c", 72, 8)], 128)
    header = "struct s {\n\tlong a;\n\tlong b;\n\tlong c;\n};\n"
    before = layout("s", BEFORE, 24, file="include/linux/s.h", line=1)
    chosen = candidate(before, aligned, [Move(MoveKind.ALIGN, "b", align=64)])
    seeing = {**BUILT, "include/linux/s.h": "#include <linux/cache.h>\n" + header}
    assert "+\tlong b ____cacheline_aligned_in_smp;\n" in patch_of(write_files(tmp_path / "1", seeing), chosen).diff
    blind = {
        **BUILT,
        "include/linux/s.h": header,
        "include/linux/kconfig.h": "#define __aligned(x) __attribute__((aligned(x)))\n",
    }
    assert "+\tlong b __aligned(64);\n" in patch_of(write_files(tmp_path / "2", blind), chosen).diff


def test_a_unit_that_was_built_brings_the_flags_of_its_makefile(tmp_path: Path) -> None:
    source = "#ifdef LOCAL\n" + BUILT["include/linux/s.h"] + "#endif\nstruct s one;\n"
    call = CALL.replace("-D__KERNEL__", "-D__KERNEL__ -DLOCAL").replace("-S -o", "-c -o")
    record = f"savedcmd_lib/s.o := {call} ; ./tools/objtool/objtool --orc lib/s.o\n"
    tree = write_files(tmp_path, {**BUILT, "include/linux/s.h": "", "lib/s.c": source, "lib/.s.o.cmd": record})
    patch = patch_of(tree, proposal())
    assert (patch.file, patch.exact) == ("lib/s.c", True)


def test_user_space_headers_of_the_kernel_are_not_touched(tmp_path: Path) -> None:
    files = {**BUILT, "include/linux/s.h": "", "include/uapi/linux/s.h": BUILT["include/linux/s.h"]}
    with pytest.raises(EditRefused, match=r"include/uapi/linux/s\.h:1: s is shared with user space"):
        patch_of(write_files(tmp_path, files), proposal())


def test_a_recorded_command_with_more_than_a_compiler_is_not_run(tmp_path: Path) -> None:
    evil = {RECORD: f"cmd_arch/x86/kernel/asm-offsets.s := {CALL}; touch {tmp_path}/ran\n"}
    with pytest.raises(TreeError, match="more than one compiler call; it was not run"):
        patch_of(write_files(tmp_path, {**BUILT, **evil}), proposal())
    assert not (tmp_path / "ran").exists()


def test_a_build_older_than_its_configuration_is_not_believed(tmp_path: Path) -> None:
    tree = write_files(tmp_path, BUILT)
    os.utime(tree / "include" / "config" / "auto.conf", (1, 1))
    with pytest.raises(TreeError, match=r"make could not prepare .*; see .*/log"):
        kernel_build(tree, None, lambda _: None)


def test_a_cache_directory_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = write_files(tmp_path, {**BUILT, RECORD: "", "include/generated/asm-offsets.h": ""})
    (tree / RECORD).unlink()
    (tmp_path / "file").touch()
    monkeypatch.setenv("LINESMITH_CACHE_DIR", str(tmp_path / "file"))
    with pytest.raises(CacheError, match="set LINESMITH_CACHE_DIR to a directory that can be written"):
        patch_of(tree, proposal())
