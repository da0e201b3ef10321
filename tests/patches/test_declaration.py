# SPDX-License-Identifier: GPL-2.0-or-later
"""Finding a declaration in a tree that may have moved on, and in trees made to confuse."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from patch_cases import layout, write_files

from linesmith.analyzer.errors import DeclarationNotFound, EditRefused
from linesmith.analyzer.model import Layout
from linesmith.patches.declaration import declaration, recorded_file

DECLARED = "struct s {\n\tint a;\n\tint b;\n};\n"


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


def test_a_record_that_moved_within_its_file_is_found(tmp_path: Path) -> None:
    tree = write_files(tmp_path, {"include/s.h": "\n\n/* struct s { int a; }; */\n" + DECLARED})
    assert declaration(tree, "s", wanted("include/s.h", 1)).place == "include/s.h:4"


def test_a_record_that_moved_to_another_file_is_found(tmp_path: Path) -> None:
    tree = write_files(tmp_path, {"include/old.h": "struct s;\n", "lib/new.h": DECLARED})
    assert declaration(tree, "s", wanted("include/old.h", 7)).place == "lib/new.h:1"


def test_the_line_tells_two_configurations_apart(tmp_path: Path) -> None:
    both = f"#ifdef A\n{DECLARED}#else\n{DECLARED}#endif\n"
    tree = write_files(tmp_path, {"s.h": both})
    assert declaration(tree, "s", wanted("s.h", 7)).record.line == 7


def test_the_members_tell_namesakes_apart(tmp_path: Path) -> None:
    other = "struct s {\n\tlong x;\n\tlong y;\n};\n"
    tree = write_files(tmp_path, {"drivers/one.c": other, "drivers/two.c": DECLARED})
    assert declaration(tree, "s", wanted()).file == "drivers/two.c"


def test_headers_come_before_copies_below_tools(tmp_path: Path) -> None:
    tree = write_files(tmp_path, {"tools/include/s.h": DECLARED, "lib/s.h": DECLARED})
    assert declaration(tree, "s", wanted()).file == "lib/s.h"


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
