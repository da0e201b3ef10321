# SPDX-License-Identifier: GPL-2.0-or-later
"""A tree of sources: where it declares a record, what is in the way of a patch, its image, and semantic patches."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from patch_cases import layout, write_files
from text_cases import TextCase, text_cases

from linesmith.analyzer.base.errors import DeclarationNotFound, EditRefused, SemanticPatchFailed, TreeError
from linesmith.analyzer.model import FactKind, FileChange, Layout, RefusalCode
from linesmith.patches.build.preparation import link_sources
from linesmith.patches.edit.patch import declaring_file, held_together
from linesmith.patches.source.declaration import declaration, recorded_file
from linesmith.patches.source.tree import Tree
from linesmith.patches.treewide.image import TreeImage, tree_image
from linesmith.patches.treewide.spatch import RuleMatch, SemanticPatch, include_folders, spatch, tidy
from linesmith.patches.treewide.survey import Mention, mentions

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
def test_a_declaration_is_found(tmp_path: Path, files: dict[str, str], recorded: str, found: str) -> None:
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


def test_a_header_that_is_a_link_out_of_the_tree_is_named_as_the_reason(tmp_path: Path) -> None:
    tree = write_files(tmp_path / "tree", {"include/other.h": OTHER})
    (tree / "include" / "s.h").symlink_to(write_files(tmp_path / "elsewhere", {"s.h": DECLARED}) / "s.h")
    with pytest.raises(DeclarationNotFound, match=r"include/s\.h is a link that leads out of the tree") as raised:
        declaration(tree, "s", wanted("include/s.h", 1))
    assert "macro" not in str(raised.value)


def test_loops_of_links_and_strange_files_do_no_harm(tmp_path: Path) -> None:
    tree = write_files(tmp_path, {"lib/s.h": DECLARED, "include/linux/bytes.h": ""})
    (tree / "include" / "loop").symlink_to(tree)
    (tree / "include" / "self.h").symlink_to("self.h")
    (tree / "include" / "folder.h").mkdir()
    (tree / "include" / "linux" / "bytes.h").write_bytes(b"struct s {" + bytes(range(256)) * 9)
    os.mkfifo(tree / "include" / "pipe.h")
    (tree / "include" / "closed.h").touch(0)
    assert declaration(tree, "s", wanted("include/folder.h", 1)).file == "lib/s.h"


_SOURCES = Path(__file__).with_name("sources")
HEADER = (_SOURCES / "locks.h").read_text()
CACHE = layout("cache", [("root", 0, 8), ("lock", 8, 8), ("owner", 16, 8), ("uses", 24, 8)], 32)
KERNEL = {"Kbuild": "", "scripts/Makefile.build": "", "Makefile": "", "include/linux/cache.h": HEADER}


@pytest.mark.parametrize(
    ("files", "kind", "complaint"),
    [
        ({"src/other.h": "struct other { int x; };\n"}, DeclarationNotFound, "cache"),
        ({"include/uapi/linux/cache.h": HEADER}, EditRefused, "shared with user space"),
        (KERNEL, TreeError, "has no .config; run make defconfig there"),
    ],
)
def test_what_is_in_the_way_of_a_patch(
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


# Coccinelle on an image of a tree, the places of a word, and how changed lines are laid out

needs_spatch = pytest.mark.skipif(shutil.which("spatch") is None, reason="Coccinelle is not installed")

WHEELS = b"struct wheel { int turns; };\nstruct car { struct wheel *front; int turns; };\n"
SOURCE = (_SOURCES / "spin.c").read_bytes()
RULES = (_SOURCES / "wheel.cocci").read_text()


@pytest.fixture
def image(tmp_path: Path) -> Iterator[TreeImage]:
    with tree_image(write_files(tmp_path, {"car.h": WHEELS.decode(), "spin.c": SOURCE.decode()})) as made:
        yield made


def quiet(_: str) -> None:
    pass


@needs_spatch
def test_types_come_from_headers_and_the_tree_stays(image: TreeImage) -> None:
    """Bodies of scoped guards are code; a report tells where a rule matched."""
    image.put("lock.c", b"int f(struct wheel *w)\n{\n\tscoped_guard (mutex, &l)\n\t\treturn w->turns;\n}\n")
    done = spatch(SemanticPatch(RULES, {"r": ("W",)}), image, ["spin.c", "lock.c"], quiet)
    assert RuleMatch("r", "spin.c", 7, 18, "spin", (("W", "c -> front"),)) in done.matches
    assert (len(done.matches), done.failed) == (2, ())
    spin = {one.file: one.after for one in image.commit()}
    assert spin["spin.c"] == SOURCE.replace(b"c->front->turns", b"wheel_turns(c->front)")
    assert b"return wheel_turns(w);" in (spin["lock.c"] or b"")
    assert (image.tree / "spin.c").read_bytes() == SOURCE


@needs_spatch
def test_rules_that_are_no_semantic_patch_are_refused(image: TreeImage) -> None:
    with pytest.raises(SemanticPatchFailed, match=r"rejects the semantic patch \(.*parse error"):
        spatch(SemanticPatch("@r@\nexpression E;\n@@\nE->\n"), image, ["spin.c"], quiet)


@needs_spatch
def test_a_file_on_which_it_dies_is_a_refusal_and_the_others_are_changed(image: TreeImage) -> None:
    script = "@script:python@\np << r.p;\n@@\nassert 'spin.c' in p[0].file\n"
    image.put("stall.c", SOURCE)
    done = spatch(SemanticPatch(RULES + "\n" + script), image, ["spin.c", "stall.c"], quiet)
    assert [(refusal.code, refusal.place) for refusal in done.failed] == [(RefusalCode.NOT_PARSED, "stall.c:1")]
    assert b"wheel_turns" in image.read("spin.c")


def test_a_kernel_file_looks_for_headers_of_its_own_architecture(tmp_path: Path) -> None:
    write_files(tmp_path, {"Kbuild": "", "scripts/Makefile.build": ""})
    for machine in ("arm", "x86"):
        (tmp_path / "arch" / machine / "include").mkdir(parents=True)
    assert include_folders(tmp_path, "arch/arm/mm/flush.c")[:2] == ("include", "arch/arm/include")
    assert include_folders(tmp_path, "mm/mmap.c")[:2] == ("include", "arch/x86/include")


# The image of a tree: links until a file is changed


@pytest.fixture
def two_units(tmp_path: Path) -> Path:
    (tmp_path / "tree" / "doc").mkdir(parents=True)
    return write_files(tmp_path / "tree", {"lib/one.c": "int one;\n", "lib/deep/two.c": "int two;\n"})


def test_a_commit_gives_what_changed_since_the_last_one(two_units: Path) -> None:
    with tree_image(two_units) as image:
        image.make_own(["lib/one.c", "lib/deep/two.c"])
        image.put("lib/one.c", b"int uno;\n")
        assert image.commit() == (FileChange("lib/one.c", b"int one;\n", b"int uno;\n"),)
        image.put("lib/one.c", b"int un;\n")
        image.put("lib/new.c", b"int new;\n")
        (image.root / "lib/deep/two.c").unlink()
        assert image.commit() == (
            FileChange("lib/deep/two.c", b"int two;\n", None),
            FileChange("lib/new.c", None, b"int new;\n"),
            FileChange("lib/one.c", b"int uno;\n", b"int un;\n"),
        )
        assert image.commit() == ()
    assert sorted(path.name for path in (two_units / "lib").iterdir()) == ["deep", "one.c"]


# Places of a word

SEAT = (_SOURCES / "seat.c").read_bytes()


def test_every_place_in_code_with_the_macro_around_it(tmp_path: Path) -> None:
    write_files(tmp_path, {"sub/a.c": SEAT.decode(), "a.txt": SEAT.decode()})
    (tmp_path / "link.c").symlink_to("sub/a.c")
    os.mkfifo(tmp_path / "pipe.c")
    assert mentions(tmp_path, "seat", lambda _: None) == (
        Mention("sub/a.c", 3, 8, SEAT.index(b"seat)"), "(&(x)->seat)", macro="SEAT"),
        Mention("sub/a.c", 8, 11, SEAT.index(b"seat; //"), "return c->seat; // seat"),
    )


@text_cases(Path(__file__).with_name("cases") / "tidy.txt")
def test_lines_that_changed_are_laid_out(case: TextCase) -> None:
    before, broken, expected = ("".join(f"{one[1:]}\n" for one in case.lines if one[0] == sign) for sign in "-+=")
    assert tidy(before.encode(), broken.encode()).decode() == expected
