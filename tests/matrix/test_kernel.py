# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel under configurations that make writes, and builds that were recorded or prepared."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from matrix.small_kernel import HEADER, PATCHED, small_kernel
from patch_cases import layout, write_files

from linesmith.analyzer.model import (
    CompiledRecord,
    CompiledSize,
    CompiledUser,
    ConfigurationCheck,
    FileChange,
    Layout,
    Residual,
)
from linesmith.patches.build.kbuild import kernel_build
from linesmith.patches.build.kconfig import build_stamp
from linesmith.patches.matrix.check import check, matrix, names
from linesmith.patches.matrix.choice import CheckedChange, MatrixRequest
from linesmith.patches.source.tree import Tree

FILE = "include/linux/s.h"


def change(*holders: Layout) -> CheckedChange:
    files = (FileChange(FILE, HEADER.encode(), PATCHED.encode()),)
    pairs = (Residual("hot", "lock", 64, 1, 1), Residual("hot", "cpu", 64, 1, 1))
    return CheckedChange(files, "s", "struct s", FILE, pairs=pairs, holders=holders)


def checked(tree: Path, *names: str, users: int | None = 0, holders: Sequence[Layout] = ()) -> list[ConfigurationCheck]:
    return list(check(change(*holders), Tree(tree), MatrixRequest(names, users), lambda _: None))


def same(size: int, alignment: int, lines: int, objects: int, pages: int) -> tuple[CompiledSize, CompiledSize]:
    one = CompiledSize(size, alignment, lines, objects, pages)
    return one, one


def test_the_tree_s_own_configuration(tmp_path: Path) -> None:
    """Holders are compiled where they are declared, units as make would; what is not built is told."""
    places = {
        "holder": "/build/fs/holder.h",
        "inside": "/build/fs/holder.c",
        "unbuilt": "fs/other.c",
        "gone": "fs/holder.h",
    }
    holders = [layout(name, [], 0, file=file) for name, file in places.items()]
    (found,) = checked(small_kernel(tmp_path), "tree", users=None, holders=holders)
    assert found.records == (
        CompiledRecord("s", *same(80, 8, 2, 0, 0)),
        CompiledRecord("holder", *same(88, 8, 2, 0, 0), holder=True),
        CompiledRecord("inside", *same(88, 8, 2, 0, 0), holder=True),
    )
    assert found.residuals == (Residual("hot", "lock", 64, 7 / 8, 0.0), Residual("hot", "cpu", 64, 0.0, 0.0))
    assert set(found.users) == {CompiledUser("fs/inode.c"), CompiledUser("fs/holder.c")}
    assert found.left_out == ("not in this configuration: gone, unbuilt",)


def test_configurations_that_make_writes_on_top_of_it(tmp_path: Path) -> None:
    """With lock debugging; without SMP, so that the members for it are not there; with words of 4 bytes."""
    debug, uniprocessor, narrow = checked(small_kernel(tmp_path), "debug", "uniprocessor", "i386")
    grown = CompiledSize(112, 8, 2, 32, 1), CompiledSize(120, 8, 2, 32, 1)
    assert (debug.title, debug.remarks) == (".config with lockdep", ())
    assert debug.records == (CompiledRecord("s", *grown, cache="kmalloc-128"),)
    assert [one.record for one in uniprocessor.records] == ["s"]
    assert uniprocessor.residuals == (Residual("hot", "lock", 64, 7 / 8, 0.0),)
    assert uniprocessor.left_out == ("hot or cpu is no member",)
    assert narrow.records == (CompiledRecord("s", *same(68, 4, 2, 42, 1), cache="kmalloc-96"),)


def test_a_configuration_that_cannot_be_had_is_named_with_the_reason(tmp_path: Path) -> None:
    tree = small_kernel(tmp_path)
    makefile = (tree / "Makefile").read_text().replace("sed -i '/^CONFIG_SMP=y/d'", "true")
    (tree / "Makefile").write_text(makefile)
    assert [(one.failed, one.records) for one in checked(tree, "arm64", "uniprocessor")] == [
        ("the tree has no architecture arm64", ()),
        ("make olddefconfig leaves CONFIG_SMP on: its dependencies require that", ()),
    ]


def test_without_a_configuration_those_that_make_writes_are_checked_all_the_same(tmp_path: Path) -> None:
    tree = small_kernel(tmp_path)
    (tree / ".config").unlink()
    debug, minimal = checked(tree, "debug", "minimal")
    assert "has no .config; run make defconfig there" in debug.failed
    assert minimal.records[0].record == "s"


def test_a_configuration_in_a_file_has_the_file_s_name(tmp_path: Path) -> None:
    tree = small_kernel(tmp_path / "tree")
    (tmp_path / "server.config").write_text((tree / ".config").read_text() + "CONFIG_PROVE_LOCKING=y\n")
    (found,) = checked(tree, str(tmp_path / "server.config"))
    assert (found.title, found.records[0].after) == ("server.config", CompiledSize(120, 8, 2, 32, 1))


def test_a_cache_that_cannot_be_written_is_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("LINESMITH_CACHE_DIR", str(tmp_path / "file"))
    (found,) = checked(small_kernel(tmp_path / "tree"), "debug")
    assert found.failed.startswith(f"the cache directory {tmp_path / 'file'} cannot be used (Not a directory); ")


def test_a_file_of_another_machine_is_not_compiled(tmp_path: Path) -> None:
    tree = small_kernel(tmp_path)
    header = "arch/arm64/include/asm/s.h"
    other = CheckedChange((FileChange(header, b"", b""),), "s", "struct s", header)
    (found,) = check(other, Tree(tree), MatrixRequest(("tree",)), lambda _: None)
    assert found.failed == f"{header} belongs to another machine"


def test_all_are_six_and_more_have_names(tmp_path: Path) -> None:
    tree = Tree(small_kernel(tmp_path))
    assert matrix(tree, FILE) == ("tree", "debug", "i386", "arm64", "minimal", "uniprocessor")
    assert {"x86_64", "riscv", "everything"} < set(names(tree, FILE))
    assert matrix(tree, "tools/perf/s.h")[-1] == "arm64"


@pytest.mark.real
@pytest.mark.study
def test_the_first_seed_on_linux(kernel_tree: Path) -> None:
    file = "include/linux/fs.h"
    source = (kernel_tree / file).read_bytes()
    line = b"\tstruct rw_semaphore\ti_mmap_rwsem;\n"
    start = source.index(line)
    behind = source.index(b"flags;\n", start) + len(b"flags;\n")
    moved = source[:start] + source[start + len(line) : behind] + line + source[behind:]
    pairs = (Residual("i_mmap", "i_mmap_rwsem", 64, 1, 1),)
    files = (FileChange(file, source, moved),)
    asked = CheckedChange(files, "address_space", "struct address_space", file, pairs=pairs, prefer=("fs/inode.c",))
    plain, small = check(asked, Tree(kernel_tree), MatrixRequest(("tree", "minimal"), 1), lambda _: None)
    assert plain.users == small.users == (CompiledUser("fs/inode.c"),)
    assert [(one.residuals[0].before, one.residuals[0].after) for one in (plain, small)] == [(7 / 8, 3 / 8)] * 2
    assert {one.record for one in plain.records} == {"address_space", "inode"}
    assert all(one.before == one.after for found in (plain, small) for one in found.records)


# Builds of a kernel: those that were recorded with what each object read, and those prepared, which expire

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


def moved_lock() -> CheckedChange:
    file = "include/linux/s.h"
    return CheckedChange((FileChange(file, HEADER.encode(), PATCHED.encode()),), "s", "struct s", file)


def test_the_units_that_read_the_header_are_compiled_as_recorded(tmp_path: Path) -> None:
    tree = Tree(built_kernel(tmp_path))
    told: list[str] = []
    (own,) = check(moved_lock(), tree, MatrixRequest(("tree",), None), told.append)
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
    (own,) = check(moved_lock(), Tree(tree, write_files(build, made)), MatrixRequest(("tree",), 5), lambda _: None)
    assert (own.failed, own.users) == ("", (CompiledUser("fs/inode.c"),))


def test_a_unit_that_reads_the_header_past_the_change_is_told(tmp_path: Path) -> None:
    tree = built_kernel(tmp_path)
    (tree / "fs/inode.c").write_text(f'#include "{tree}/include/linux/s.h"\nlong f(struct s *s) {{ return s->hot; }}\n')
    (own,) = check(moved_lock(), Tree(tree), MatrixRequest(("tree",), None), lambda _: None)
    assert own.users == (CompiledUser("fs/inode.c", failed="include/linux/s.h was read without the change"),)


# What was prepared in the cache is made anew when files of the tree that decide it have changed


def units(tree: Path) -> tuple[bool, list[str]]:
    """Whether the tree was prepared for it, and the units below ``fs`` that make names."""
    build = kernel_build(tree, None, lambda _: None)
    assert build.preparation is not None
    named = build.preparation.unit_commands(lambda _: None).commands
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
        return sorted(one for one in made.unit_commands(said.append).commands if one.startswith("fs/"))

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
