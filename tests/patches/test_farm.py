# SPDX-License-Identifier: GPL-2.0-or-later
"""The clean image of a tree: links, without what make made, and never a write to the tree."""

from __future__ import annotations

from pathlib import Path

from patch_cases import write_files

from linesmith.patches.farm import plant

FILES = {
    "Makefile": "all:\n",
    ".config": "CONFIG_A=y\n",
    "include/linux/a.h": "int a;\n",
    "include/config/auto.conf": "",
    "include/generated/autoconf.h": "",
    "arch/x86/Makefile": "",
    "arch/x86/include/asm/b.h": "int b;\n",
    "arch/x86/include/generated/c.h": "",
    "arch/x86/kernel/d.c": "",
    "scripts/kconfig/conf.c": "",
    "scripts/kconfig/conf.o": "",
    "scripts/kconfig/.conf.o.cmd": "",
    "kernel/e.c": "",
    "drivers/f.c": "",
}


def files(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


def listing(root: Path) -> dict[str, int]:
    return {str(path): path.lstat().st_mtime_ns for path in root.rglob("*")}


def test_the_image_holds_sources_only(tmp_path: Path) -> None:
    tree = write_files(tmp_path / "tree", FILES)
    before = listing(tree)
    plant(tree, tmp_path / "farm", "x86")
    assert listing(tree) == before
    made = {".config", "scripts/kconfig/conf.o", "scripts/kconfig/.conf.o.cmd", "include/config/auto.conf"}
    made |= {"include/generated/autoconf.h", "arch/x86/include/generated/c.h"}
    reachable = {name for name in FILES if (tmp_path / "farm" / name).is_file()}
    assert reachable == set(FILES) - made


def test_planting_again_follows_the_tree(tmp_path: Path) -> None:
    tree = write_files(tmp_path / "tree", FILES)
    farm = tmp_path / "farm"
    plant(tree, farm, "x86")
    (tree / "kernel" / "e.c").unlink()
    (tree / "kernel" / "new.c").touch()
    (tree / "include" / "linux" / "new.h").touch()
    plant(tree, farm, "x86")
    assert not (farm / "kernel" / "e.c").is_symlink()
    assert (farm / "kernel" / "new.c").is_file()
    assert (farm / "include" / "linux" / "new.h").is_file()


def test_loops_of_links_end(tmp_path: Path) -> None:
    tree = write_files(tmp_path / "tree", FILES)
    (tree / "scripts" / "loop").symlink_to(tree)
    (tree / "kernel" / "self").symlink_to("self")
    plant(tree, tmp_path / "farm", "x86")
    assert (tmp_path / "farm" / "scripts" / "loop").is_symlink()
    assert files(tmp_path / "farm" / "kernel") == {"e.c"}


def test_a_tree_of_links_to_folders_is_followed(tmp_path: Path) -> None:
    tree = write_files(tmp_path / "tree", FILES)
    linked = tmp_path / "linked"
    linked.mkdir()
    for entry in tree.iterdir():
        (linked / entry.name).symlink_to(entry)
    plant(linked, tmp_path / "farm", "x86")
    assert not (tmp_path / "farm" / "include" / "config").exists()
    assert (tmp_path / "farm" / "include" / "linux" / "a.h").is_file()
