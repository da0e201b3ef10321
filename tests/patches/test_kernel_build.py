# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernel trees in small: a recorded build is used as it is, anything else is prepared beside the tree.

What make or a shell would execute of a ``.config`` or of a recorded command is refused.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from patch_cases import behind, candidate, finding, layout, write_files

from linesmith.analyzer.base.errors import ToolMissing, TreeError
from linesmith.analyzer.model import Candidate, Move, MoveKind, Patch
from linesmith.patches.build.kbuild import kernel_build, planned
from linesmith.patches.build.kconfig import architecture, read_configuration, toolchain
from linesmith.patches.build.options import Flags, from_cmd_file
from linesmith.patches.edit.patch import confirm, patch_of
from linesmith.patches.source.tree import Tree

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


def patched(tree: Path, chosen: Candidate, build: Path | None = None) -> Patch:
    confirmed = confirm(chosen, Tree(tree, build), lambda _: None)
    return patch_of(chosen, finding(), Tree(tree, build), 1, confirmed)


def test_the_flags_of_the_trees_own_build_are_used(tmp_path: Path) -> None:
    tree = write_files(tmp_path, BUILT)
    before = sorted(str(path) for path in tree.rglob("*"))
    patch = patched(tree, proposal())
    assert patch.exact
    assert "-D__KERNEL__" in patch.commands[-1]
    assert "the Kbuild flags of the tree's .config" in " ".join(str(patch.message).split())
    assert sorted(str(path) for path in tree.rglob("*")) == before


def test_a_build_directory_is_used(tmp_path: Path) -> None:
    sources = {
        name: text for name, text in BUILT.items() if not name.startswith((".config", "include/config", "arch/x86/k"))
    }
    tree = write_files(tmp_path / "tree", sources)
    made = {name: BUILT[name] for name in (".config", "include/config/auto.conf", "include/generated/asm-offsets.h")}
    call = CALL.replace("./include", "../tree/include")
    build = write_files(tmp_path / "out", {**made, RECORD: f"cmd_arch/x86/kernel/asm-offsets.s := {call}\n"})
    assert patched(tree, proposal(), build).exact
    with pytest.raises(TreeError, match=r"has no \.config"):
        patched(tree, proposal())


def test_a_header_that_is_included_before_the_probe_is_the_patched_one(tmp_path: Path) -> None:
    included = {"include/linux/kconfig.h": "#define CONFIG_B 1\n#include <linux/s.h>\n"}
    guarded = {"include/linux/s.h": f"#ifndef S_H\n#define S_H\n{BUILT['include/linux/s.h']}#endif\n"}
    chosen = proposal()
    assert patched(write_files(tmp_path, {**BUILT, **included, **guarded}), chosen).exact


def test_an_alignment_uses_the_kernels_word_where_the_header_sees_it(tmp_path: Path) -> None:
    aligned = layout("s", [("a", 0, 8), ("b", 64, 8), ("c", 72, 8)], 128)
    header = "struct s {\n\tlong a;\n\tlong b;\n\tlong c;\n};\n"
    before = layout("s", BEFORE, 24, file="include/linux/s.h", line=1)
    chosen = candidate(before, aligned, [Move(MoveKind.ALIGN, "b", align=64)])
    seeing = {**BUILT, "include/linux/s.h": "#include <linux/cache.h>\n" + header}
    assert "+\tlong b ____cacheline_aligned_in_smp;\n" in patched(write_files(tmp_path / "1", seeing), chosen).diff
    blind = {
        **BUILT,
        "include/linux/s.h": header,
        "include/linux/kconfig.h": "#define __aligned(x) __attribute__((aligned(x)))\n",
    }
    assert "+\tlong b __aligned(64);\n" in patched(write_files(tmp_path / "2", blind), chosen).diff


def test_a_unit_that_was_built_brings_the_flags_of_its_makefile(tmp_path: Path) -> None:
    source = "#ifdef LOCAL\n" + BUILT["include/linux/s.h"] + "#endif\nstruct s one;\n"
    call = CALL.replace("-D__KERNEL__", "-D__KERNEL__ -DLOCAL").replace("-S -o", "-c -o")
    record = f"savedcmd_lib/s.o := {call} ; ./tools/objtool/objtool --orc lib/s.o\n"
    tree = write_files(tmp_path, {**BUILT, "include/linux/s.h": "", "lib/s.c": source, "lib/.s.o.cmd": record})
    patch = patched(tree, proposal())
    assert (patch.file, patch.exact) == ("lib/s.c", True)


def test_a_recorded_command_with_more_than_a_compiler_is_not_run(tmp_path: Path) -> None:
    evil = {RECORD: f"cmd_arch/x86/kernel/asm-offsets.s := {CALL}; touch {tmp_path}/ran\n"}
    with pytest.raises(TreeError, match="more than one compiler call; it was not run"):
        patched(write_files(tmp_path, {**BUILT, **evil}), proposal())
    assert not (tmp_path / "ran").exists()


def test_a_build_older_than_its_configuration_is_not_believed(tmp_path: Path) -> None:
    tree = write_files(tmp_path, BUILT)
    os.utime(tree / "include" / "config" / "auto.conf", (1, 1))
    with pytest.raises(TreeError, match=r"make could not prepare .*; see .*/log"):
        kernel_build(tree, None, lambda _: None)


# Recorded compiler calls


def read(tmp_path: Path, command: str, key: str = "cmd_a.s") -> Flags:
    record = tmp_path / ".a.s.cmd"
    record.write_text(
        f"{key} := {command}\n\nsource_a.s := a.c\n\ndeps_a.s := \\\n  $(wildcard x) \\\n", encoding="utf-8"
    )
    return from_cmd_file(record, tmp_path, (tmp_path,))


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("gcc -nostdinc -I./a -include ./k.h -m64 -O2 -c -o a.o a.c", "-nostdinc -I./a -include ./k.h -m64 -O2"),
        ("gcc -g1 -femit-struct-debug-baseonly -fdebug-types-section -fshort-enums -c a.c", "-fshort-enums"),
        ("""gcc -DNAME='"ab"' -D"STR(s)=$(pound)s" -DCOST=$$5 -S -o a.s a.c""", '-DNAME="ab" -DSTR(s)=#s -DCOST=$5'),
        ("ccache gcc -fplugin=./evil.so -Wp,-MMD,dir/.a.d -DA a.c", "-DA"),
    ],
)
def test_what_decides_the_layout_is_kept_of_a_call(tmp_path: Path, command: str, options: str) -> None:
    flags = read(tmp_path, command, "savedcmd_a.s")
    assert (flags.compiler, " ".join(flags.options)) == ("gcc", options)


@pytest.mark.parametrize(
    "command",
    [
        "gcc -DA -c a.c; touch ran", "gcc -DA -c a.c && touch ran", "gcc -DA -c a.c | sh", "gcc `touch ran` a.c",
        "gcc -c a.c > ran", "sh -c 'touch ran'", "./gcc -c a.c", "rm -rf /gcc", "python3 gcc", "gcc 'unended", "",
    ],
)  # fmt: skip
def test_what_is_no_lone_call_of_a_compiler_is_refused(tmp_path: Path, command: str) -> None:
    with pytest.raises(TreeError, match=r"not run|make again"):
        read(tmp_path, command)
    assert not (tmp_path / "ran").exists()


def test_a_compiler_inside_the_tree_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TreeError, match="is inside the tree; it was not run"):
        read(tmp_path, f"{tmp_path}/bin/gcc -c a.c")


# Configurations

HEAD = "#\n# Automatically generated file; DO NOT EDIT.\n# Linux/x86 6.1.0 Kernel Configuration\n#\n"
TREE = {"Kbuild": "", "Makefile": "VERSION = 6\n", "scripts/Makefile.build": "", "arch/x86/Makefile": ""}


def configured(tmp_path: Path, lines: str) -> Path:
    return write_files(tmp_path, {**TREE, ".config": HEAD + lines})


def test_symbols_are_read(tmp_path: Path) -> None:
    lines = 'CONFIG_A=y\nCONFIG_B=m\n# CONFIG_C is not set\nCONFIG_D=-7\nCONFIG_E=0xff\nCONFIG_F="a \\"b\\""\n'
    configuration = read_configuration(configured(tmp_path, lines) / ".config")
    assert configuration.has("A")
    assert not configuration.has("C")
    assert configuration.values["D"] == "-7"
    assert architecture(configuration, tmp_path) == "x86"


@pytest.mark.parametrize(
    "line",
    [
        'CONFIG_LOCALVERSION="a" ; touch ran', "CONFIG_LOCALVERSION=$(shell touch ran)", "include evil.mk",
        "all:; touch ran", "export CONFIG_A=y",
    ],
)  # fmt: skip
def test_a_line_that_could_run_is_refused_with_its_number(tmp_path: Path, line: str) -> None:
    tree = configured(tmp_path, f"CONFIG_A=y\n{line}\n")
    with pytest.raises(TreeError, match=r"\.config:6 is not a line written by kconfig"):
        kernel_build(tree, None, lambda _: None)
    assert not (tree / "ran").exists()


def test_a_tree_without_configuration_or_of_no_known_architecture_is_refused(tmp_path: Path) -> None:
    tree = write_files(tmp_path, TREE)
    with pytest.raises(TreeError, match=r"has no \.config; run make defconfig"):
        planned(tree, None)
    write_files(tree, {".config": "# Linux/vax 6.1.0 Kernel Configuration\nCONFIG_A=y\n"})
    with pytest.raises(TreeError, match="does not say for which architecture"):
        planned(tree, None)


def test_a_missing_compiler_is_named_with_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = configured(tmp_path, 'CONFIG_CC_VERSION_TEXT="gcc (Debian 12.2.0) 12.2.0"\n')
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolMissing, match="install gcc"):
        toolchain(read_configuration(tree / ".config"), "x86")


def test_a_foreign_architecture_takes_its_cross_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = configured(tmp_path, 'CONFIG_CC_VERSION_TEXT="aarch64-linux-gnu-gcc (Debian 12.2.0) 12.2.0"\n')
    program = tmp_path / "aarch64-linux-gnu-gcc"
    program.touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    tools = toolchain(read_configuration(tree / ".config"), "arm64")
    assert tools.variables == ("CROSS_COMPILE=aarch64-linux-gnu-", "CC=aarch64-linux-gnu-gcc")


def test_a_version_text_is_no_way_to_name_another_program(tmp_path: Path) -> None:
    tree = configured(tmp_path, 'CONFIG_CC_VERSION_TEXT="./evil --now"\n')
    assert toolchain(read_configuration(tree / ".config"), "x86").compiler == "gcc"
