# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel under configurations that make writes, on a tree in small and on Linux itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from matrix.small_kernel import HEADER, PATCHED, small_kernel
from patch_cases import layout

from linesmith.analyzer.model import (
    CompiledRecord,
    CompiledSize,
    CompiledUser,
    ConfigurationCheck,
    FileChange,
    Layout,
    Residual,
)
from linesmith.patches.matrix import Asked, Change, check, kernels, matrix, names
from linesmith.patches.tree import Tree

FILE = "include/linux/s.h"


def change(*holders: Layout) -> Change:
    files = (FileChange(FILE, HEADER.encode(), PATCHED.encode()),)
    pairs = (Residual("hot", "lock", 64, 1, 1), Residual("hot", "cpu", 64, 1, 1))
    return Change(files, "s", "struct s", FILE, pairs=pairs, holders=holders)


def checked(tree: Path, name: str, users: int | None = 0, *holders: Layout) -> ConfigurationCheck:
    (found,) = check(change(*holders), Tree(tree), Asked((name,), users), lambda _: None)
    return found


def same(size: int, alignment: int, lines: int, objects: int, pages: int) -> tuple[CompiledSize, CompiledSize]:
    one = CompiledSize(size, alignment, lines, objects, pages)
    return one, one


def test_the_tree_s_own_configuration(tmp_path: Path) -> None:
    found = checked(small_kernel(tmp_path), "tree")
    assert found.records == (CompiledRecord("s", *same(80, 8, 2, 42, 1), cache="kmalloc-96"),)
    assert found.residuals == (Residual("hot", "lock", 64, 7 / 8, 0.0), Residual("hot", "cpu", 64, 0.0, 0.0))


def test_the_size_of_the_lines_that_were_counted_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "_LINES", {"x86": 128})
    found = checked(small_kernel(tmp_path), "tree")
    assert (found.line_bytes, found.records[0].after) == (128, CompiledSize(80, 8, 1, 42, 1))


def test_lock_debugging_is_put_on_top_of_it_and_what_stays_off_is_told(tmp_path: Path) -> None:
    found = checked(small_kernel(tmp_path), "debug")
    assert found.title == ".config with lockdep"
    grown = CompiledSize(112, 8, 2, 32, 1), CompiledSize(120, 8, 2, 32, 1)
    assert found.records == (CompiledRecord("s", *grown, cache="kmalloc-128"),)
    assert found.remarks == ()


def test_without_smp_the_members_for_it_are_not_there(tmp_path: Path) -> None:
    found = checked(small_kernel(tmp_path), "uniprocessor")
    assert [one.record for one in found.records] == ["s"]
    assert found.residuals == (Residual("hot", "lock", 64, 7 / 8, 0.0),)
    assert found.left_out == ("hot or cpu is no member",)


def test_32_bits_have_words_of_4_bytes(tmp_path: Path) -> None:
    found = checked(small_kernel(tmp_path), "i386")
    assert found.records == (CompiledRecord("s", *same(68, 4, 2, 42, 1), cache="kmalloc-96"),)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("arm64", "the tree has no architecture arm64"),
        ("uniprocessor", "make olddefconfig leaves CONFIG_SMP on: its dependencies ask for that"),
    ],
)
def test_a_configuration_that_cannot_be_had_is_named_with_the_reason(tmp_path: Path, name: str, reason: str) -> None:
    tree = small_kernel(tmp_path)
    makefile = (tree / "Makefile").read_text().replace("sed -i '/^CONFIG_SMP=y/d'", "true")
    (tree / "Makefile").write_text(makefile)
    found = checked(tree, name)
    assert (found.failed, found.records) == (reason, ())


def test_without_a_configuration_those_that_make_writes_are_checked_all_the_same(tmp_path: Path) -> None:
    tree = small_kernel(tmp_path)
    (tree / ".config").unlink()
    assert "has no .config; run make defconfig there" in checked(tree, "debug").failed
    assert checked(tree, "minimal").records[0].record == "s"


def test_a_configuration_in_a_file_has_the_file_s_name(tmp_path: Path) -> None:
    tree = small_kernel(tmp_path / "tree")
    (tmp_path / "server.config").write_text((tree / ".config").read_text() + "CONFIG_PROVE_LOCKING=y\n")
    found = checked(tree, str(tmp_path / "server.config"))
    assert (found.title, found.records[0].after) == ("server.config", CompiledSize(120, 8, 2, 32, 1))


def test_a_cache_that_cannot_be_written_is_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("LINESMITH_CACHE_DIR", str(tmp_path / "file"))
    found = checked(small_kernel(tmp_path / "tree"), "debug")
    assert found.failed.startswith(f"the cache directory {tmp_path / 'file'} cannot be used (Not a directory); ")


def test_holders_are_compiled_where_they_are_declared(tmp_path: Path) -> None:
    holders = [
        layout(name, [], 0, file=f"/build/fs/{file}") for name, file in (("holder", "holder.h"), ("inside", "holder.c"))
    ]
    found = checked(small_kernel(tmp_path), "tree", 0, *holders)
    assert found.records[1:] == (
        CompiledRecord("holder", *same(88, 8, 2, 0, 0), holder=True),
        CompiledRecord("inside", *same(88, 8, 2, 0, 0), holder=True),
    )


def test_holders_in_units_that_this_configuration_does_not_build_are_told(tmp_path: Path) -> None:
    holders = (layout("unbuilt", [], 0, file="fs/other.c"), layout("gone", [], 0, file="fs/holder.h"))
    found = checked(small_kernel(tmp_path), "tree", 0, *holders)
    assert found.left_out == ("not in this configuration: gone, unbuilt",)


def test_units_are_compiled_as_make_would(tmp_path: Path) -> None:
    found = checked(small_kernel(tmp_path), "tree", None)
    assert set(found.users) == {CompiledUser("fs/inode.c"), CompiledUser("fs/holder.c")}


def test_a_file_of_another_machine_is_not_compiled(tmp_path: Path) -> None:
    tree = small_kernel(tmp_path)
    header = "arch/arm64/include/asm/s.h"
    other = Change((FileChange(header, b"", b""),), "s", "struct s", header)
    (found,) = check(other, Tree(tree), Asked(("tree",)), lambda _: None)
    assert found.failed == f"{header} belongs to another machine"


def test_all_are_six_and_more_have_names(tmp_path: Path) -> None:
    tree = Tree(small_kernel(tmp_path))
    assert matrix(tree, FILE) == ("tree", "debug", "i386", "arm64", "minimal", "uniprocessor")
    assert {"x86_64", "riscv", "everything"} < set(names(tree, FILE))
    assert matrix(tree, "tools/perf/s.h")[-1] == "arm64"


@pytest.mark.real
def test_the_first_seed_on_linux(kernel_tree: Path) -> None:
    file = "include/linux/fs.h"
    source = (kernel_tree / file).read_bytes()
    line = b"\tstruct rw_semaphore\ti_mmap_rwsem;\n"
    start = source.index(line)
    behind = source.index(b"flags;\n", start) + len(b"flags;\n")
    moved = source[:start] + source[start + len(line) : behind] + line + source[behind:]
    pairs = (Residual("i_mmap", "i_mmap_rwsem", 64, 1, 1),)
    files = (FileChange(file, source, moved),)
    asked = Change(files, "address_space", "struct address_space", file, pairs=pairs, prefer=("fs/inode.c",))
    plain, small = check(asked, Tree(kernel_tree), Asked(("tree", "minimal"), 1), lambda _: None)
    assert plain.users == small.users == (CompiledUser("fs/inode.c"),)
    assert [(one.residuals[0].before, one.residuals[0].after) for one in (plain, small)] == [(7 / 8, 3 / 8)] * 2
    assert {one.record for one in plain.records} == {"address_space", "inode"}
    assert all(one.before == one.after for found in (plain, small) for one in found.records)
