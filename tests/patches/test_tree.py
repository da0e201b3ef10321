# SPDX-License-Identifier: GPL-2.0-or-later
"""A tree of sources: where it declares a record, what is in the way of a patch, and its image."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from patch_cases import layout, write_files

from linesmith.analyzer.base.errors import DeclarationNotFound, EditRefused, TreeError
from linesmith.analyzer.model import FactKind, Layout
from linesmith.patches.build.preparation import link_sources
from linesmith.patches.edit.patch import declaring_file, held_together
from linesmith.patches.source.declaration import declaration, recorded_file
from linesmith.patches.source.tree import Tree

DECLARED = "struct s {\n\tint a;\n\tint b;\n};\n"
OTHER = "struct s {\n\tlong x;\n\tlong y;\n};\n"


def wanted(file: str | None = None, line: int | None = None) -> Layout:
    return layout("s", [("a", 0, 4), ("b", 4, 4)], 8, file=file, line=line)


@pytest.mark.parametrize(
    "recorded",
    [
        "include/linux/s.h",
        "./include/linux/s.h",
        "../../include/linux/s.h",
        "/build/reproducible-path/linux-6.1.2/include/linux/s.h",
    ],
)
def test_the_recorded_file_may_be_named_from_anywhere(tmp_path: Path, recorded: str) -> None:
    tree = write_files(tmp_path, {"include/linux/s.h": DECLARED, "drivers/s.h": DECLARED})
    assert recorded_file(tree, recorded) == "include/linux/s.h"
    assert declaration(tree, "s", wanted(recorded, 1)).place == "include/linux/s.h:1"


@pytest.mark.parametrize(
    ("files", "recorded", "found"),
    [
        ({"include/s.h": f"\n\n/* struct s {{ int a; }}; */\n{DECLARED}"}, "include/s.h:1", "include/s.h:4"),
        ({"include/old.h": "struct s;\n", "lib/new.h": DECLARED}, "include/old.h:7", "lib/new.h:1"),
        ({"s.h": f"#ifdef A\n{DECLARED}#else\n{DECLARED}#endif\n"}, "s.h:7", "s.h:7"),
        ({"drivers/one.c": OTHER, "drivers/two.c": DECLARED}, "", "drivers/two.c:1"),
        ({"tools/include/s.h": DECLARED, "lib/s.h": DECLARED}, "", "lib/s.h:1"),
    ],
    ids=["it moved", "another file", "two configurations", "namesakes", "a copy below tools"],
)
def test_a_declaration_is_found_by_place_and_members(
    tmp_path: Path, files: dict[str, str], recorded: str, found: str
) -> None:
    file, _, line = recorded.partition(":")
    known = wanted(file, int(line)) if file else wanted()
    assert declaration(write_files(tmp_path, files), "s", known).place == found


def test_namesakes_that_cannot_be_told_apart_are_refused_with_their_places(tmp_path: Path) -> None:
    tree = write_files(tmp_path, {"drivers/one.c": DECLARED, "drivers/two.c": "\n" + DECLARED})
    with pytest.raises(EditRefused, match=r"declared 2 times .*\(drivers/one\.c:1, drivers/two\.c:2\)"):
        declaration(tree, "s", wanted())


def test_a_record_of_other_members_is_not_taken(tmp_path: Path) -> None:
    tree = write_files(tmp_path, {"include/s.h": "struct s {\n\tint x;\n};\n"})
    with pytest.raises(DeclarationNotFound, match="declares no record s with the members of the ELF file"):
        declaration(tree, "s", wanted("include/s.h", 1))


def test_loops_of_links_and_strange_files_do_no_harm(tmp_path: Path) -> None:
    tree = write_files(tmp_path, {"lib/s.h": DECLARED, "include/linux/bytes.h": ""})
    (tree / "include" / "loop").symlink_to(tree)
    (tree / "include" / "self.h").symlink_to("self.h")
    (tree / "include" / "folder.h").mkdir()
    (tree / "include" / "linux" / "bytes.h").write_bytes(b"struct s {" + bytes(range(256)) * 9)
    os.mkfifo(tree / "include" / "pipe.h")
    assert declaration(tree, "s", wanted("include/folder.h", 1)).file == "lib/s.h"


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_an_unreadable_file_is_passed_over(tmp_path: Path) -> None:
    tree = write_files(tmp_path, {"include/s.h": DECLARED, "lib/s.h": DECLARED})
    (tree / "include" / "s.h").chmod(0)
    assert declaration(tree, "s", wanted("include/s.h", 1)).file == "lib/s.h"


HEADER = """\
struct cache {
\tlong root;
#ifdef CONFIG_LOCKS
\tlong lock;
\tlong owner;
#endif
\tlong uses;
};
"""
CACHE = layout("cache", [("root", 0, 8), ("lock", 8, 8), ("owner", 16, 8), ("uses", 24, 8)], 32)
KERNEL = {"Kbuild": "", "scripts/Makefile.build": "", "Makefile": "", "include/linux/cache.h": HEADER}


def test_nothing_is_in_the_way_of_a_plain_tree(tmp_path: Path) -> None:
    assert declaring_file("cache", CACHE, Tree(write_files(tmp_path, {"src/cache.h": HEADER}))) == "src/cache.h"


@pytest.mark.parametrize(
    ("files", "kind", "complaint"),
    [
        ({"src/other.h": "struct other { int x; };\n"}, DeclarationNotFound, "cache"),
        ({"include/uapi/linux/cache.h": HEADER}, EditRefused, "shared with user space"),
        (KERNEL, TreeError, "has no .config; run make defconfig there"),
    ],
)
def test_what_is_in_the_way_of_every_patch(
    tmp_path: Path, files: dict[str, str], kind: type[Exception], complaint: str
) -> None:
    with pytest.raises(kind, match=complaint):
        declaring_file("cache", CACHE, Tree(write_files(tmp_path, files)))


def test_members_of_one_condition_are_held_together(tmp_path: Path) -> None:
    assert held_together("cache", CACHE, tmp_path) == (), "nothing is declared here"
    (fact,) = held_together("cache", CACHE, write_files(tmp_path, {"src/cache.h": HEADER}))
    assert (fact.kind, fact.members, fact.place) == (FactKind.TOGETHER, ("lock", "owner"), "src/cache.h:1")


SOURCES = [
    "Makefile", "arch/x86/Makefile", "arch/x86/include/asm/b.h", "arch/x86/kernel/d.c", "drivers/f.c",
    "include/linux/a.h", "kernel/e.c", "scripts/kconfig/conf.c",
]  # fmt: skip
MADE = [
    ".config", "arch/x86/include/generated/c.h", "include/config/auto.conf", "include/generated/autoconf.h",
    "scripts/kconfig/.conf.o.cmd", "scripts/kconfig/conf.o",
]  # fmt: skip


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A kernel tree in which make has run."""
    return write_files(tmp_path / "tree", dict.fromkeys([*SOURCES, *MADE], ""))


def test_the_image_holds_sources_only_and_follows_the_tree(tree: Path, tmp_path: Path) -> None:
    before = {str(path): path.lstat().st_mtime_ns for path in tree.rglob("*")}
    farm = tmp_path / "farm"
    link_sources(tree, farm, "x86")
    assert {str(path): path.lstat().st_mtime_ns for path in tree.rglob("*")} == before
    assert [name for name in [*SOURCES, *MADE] if (farm / name).is_file()] == SOURCES
    (tree / "kernel" / "e.c").unlink()
    write_files(tree, {"kernel/new.c": "", "include/linux/new.h": ""})
    link_sources(tree, farm, "x86")
    assert not (farm / "kernel" / "e.c").is_symlink()
    assert (farm / "kernel" / "new.c").is_file()
    assert (farm / "include" / "linux" / "new.h").is_file()


def test_a_tree_of_links_to_folders_is_followed(tree: Path, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    linked.mkdir()
    for entry in tree.iterdir():
        (linked / entry.name).symlink_to(entry)
    link_sources(linked, tmp_path / "farm", "x86")
    assert not (tmp_path / "farm" / "include" / "config").exists()
    assert (tmp_path / "farm" / "include" / "linux" / "a.h").is_file()
