# SPDX-License-Identifier: GPL-2.0-or-later
"""A plain program under its own flags, others, and on other machines, with real compilers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from patch_cases import stamps, write_files

from linesmith.analyzer.base.errors import TreeError
from linesmith.analyzer.model import CompiledRecord, CompiledSize, CompiledUser, FileChange, Residual
from linesmith.patches.matrix.check import check, matrix
from linesmith.patches.matrix.choice import CheckedChange, MatrixRequest
from linesmith.patches.matrix.evidence import paragraphs
from linesmith.patches.source.tree import Tree

SOURCES = Path(__file__).with_name("sources")
HEADER = (SOURCES / "cache.h").read_text()
PATCHED = HEADER.replace("\tlong lock;\n", "").replace("name[56];\n", "name[56];\n\tlong lock;\n")
SOUND = '#include "cache.h"\nlong uses(struct cache *cache)\n{\n\treturn cache->uses;\n}\n'
ASSERTING = '#include "cache.h"\n_Static_assert(__builtin_offsetof(struct cache, lock) == sizeof(void *), "second");\n'
FILLED = '#include "cache.h"\nstruct cache one = { .lock = 1000 };\n'


def program(root: Path, units: dict[str, str], *flags: str) -> Tree:
    """A tree with ``src/cache.h`` and units, each in the compilation database."""
    write_files(root, {"src/cache.h": HEADER, **units})
    entries = [
        {"directory": str(root), "file": unit, "arguments": ["gcc", "-Wall", *flags, "-c", unit]} for unit in units
    ]
    (root / "compile_commands.json").write_text(json.dumps(entries))
    return Tree(root)


def change(after: str = PATCHED) -> CheckedChange:
    files = (FileChange("src/cache.h", HEADER.encode(), after.encode()),)
    return CheckedChange(files, "cache", "struct cache", "src/cache.h", pairs=(Residual("root", "lock", 64, 1, 1),))


def untold(_progress: str) -> None:
    """Nobody watches."""


def test_sizes_holders_and_phases_are_told_for_each_set_of_flags(tmp_path: Path) -> None:
    tree = program(tmp_path, {"src/a.c": SOUND}, "-O2")
    before = stamps(tmp_path)
    own, wide, narrow = check(change(), tree, MatrixRequest(("tree", "debug", "i386")), untold)
    assert stamps(tmp_path) == before, "the tree is only read"
    assert [one.title for one in (own, wide, narrow)] == ["own flags", "-O0", "-m32"]
    size = CompiledSize(80, 8, 2, 0, 0)
    assert own.records == (CompiledRecord("cache", size, size), _table(88, 8))
    assert own.residuals == (Residual("root", "lock", 64, 7 / 8, 0.0),)
    assert wide.records == own.records
    assert (narrow.records[0].after, narrow.residuals) == (
        CompiledSize(68, 4, 2, 0, 0),
        (Residual("root", "lock", 64, 15 / 16, 1 / 16),),
    )


def _table(size: int, alignment: int) -> CompiledRecord:
    held = CompiledSize(size, alignment, 2, 0, 0)
    return CompiledRecord("table", held, held, holder=True)


def test_a_change_that_moves_nothing_or_does_not_compile_is_told(tmp_path: Path) -> None:
    tree = program(tmp_path, {"src/a.c": SOUND})
    idle = HEADER.replace("#endif\n", "/* more */\n#endif\n")
    assert check(change(idle), tree, MatrixRequest(("tree",)), untold)[0].remarks == (
        "struct cache is laid out as before",
    )
    (own,) = check(change(HEADER.replace("void *root", "nothing root")), tree, MatrixRequest(("tree",)), untold)
    assert own.failed == "as patched, src/cache.h does not compile: src/cache.h:4: unknown type name 'nothing'"


def test_another_machine_is_compiled_for_with_its_compiler(tmp_path: Path) -> None:
    tree = program(tmp_path, {"src/a.c": SOUND}, "-m64", "-mtune=generic")
    if shutil.which("aarch64-linux-gnu-gcc") is None:
        pytest.skip("no aarch64-linux-gnu-gcc; install gcc-aarch64-linux-gnu")
    (arm64,) = check(change(), tree, MatrixRequest(("arm64",), None), untold)
    assert arm64.compiler.startswith("aarch64-linux-gnu-gcc")
    assert (arm64.failed, arm64.users) == ("", (CompiledUser("src/a.c"),))


def test_a_missing_compiler_is_a_result_with_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = program(tmp_path, {"src/a.c": SOUND})
    monkeypatch.setenv("PATH", str(tmp_path))
    (arm64,) = check(change(), tree, MatrixRequest(("arm64",)), untold)
    assert arm64.records == ()
    assert arm64.failed == (
        "aarch64-linux-gnu-gcc is not installed or cannot be run; install the package gcc-aarch64-linux-gnu"
    )


def test_users_that_fail_with_the_change_are_told_with_their_first_error(tmp_path: Path) -> None:
    """Units that do not compile as they are say nothing of the change."""
    tree = program(tmp_path, {"src/a.c": SOUND, "src/b.c": ASSERTING, "src/c.c": "#error never\n" + SOUND})
    (own,) = check(change(), tree, MatrixRequest(("tree",), None), untold)
    failed = 'src/b.c:2: static assertion failed: "second"'
    assert set(own.users) == {CompiledUser("src/a.c"), CompiledUser("src/b.c", failed=failed)}
    assert own.left_out == ("units that do not compile without the change either: 1, first src/c.c:1: #error never",)


def test_only_warnings_that_are_new_are_told(tmp_path: Path) -> None:
    warned = SOUND.replace("return", "int unused;\n\treturn")
    tree = program(tmp_path, {"src/a.c": warned, "src/b.c": FILLED})
    narrower = HEADER.replace("\tlong lock;\n", "\tsigned char lock;\n")
    (own,) = check(change(narrower), tree, MatrixRequest(("tree",), None), untold)
    overflow = "overflow in conversion from 'int' to 'signed char' changes value from '1000' to '-24' [-Woverflow]"
    assert set(own.users) == {CompiledUser("src/a.c"), CompiledUser("src/b.c", (f"src/b.c:2: {overflow}",))}


def test_as_many_users_are_compiled_as_asked_for_those_that_name_the_record_first(tmp_path: Path) -> None:
    often = SOUND + "struct cache *first, *second;\n"
    tree = program(tmp_path, {"src/a.c": SOUND, "src/b.c": often, "src/c.c": "int none;\n"})
    (own,) = check(change(), tree, MatrixRequest(("tree",), 1), untold)
    assert own.users == (CompiledUser("src/b.c"),)


def test_edited_units_are_compiled_beside_those_counted(tmp_path: Path) -> None:
    tree = program(tmp_path, {"src/a.c": SOUND, "src/b.c": SOUND})
    renamed = (
        FileChange("src/cache.h", HEADER.encode(), HEADER.replace("long uses", "long used").encode()),
        FileChange("src/a.c", SOUND.encode(), SOUND.replace("->uses", "->used").encode()),
    )
    (own,) = check(CheckedChange(renamed), tree, MatrixRequest(("tree",), 1), untold)
    assert own.users == (
        CompiledUser("src/a.c"),
        CompiledUser("src/b.c", failed="src/b.c:4: 'struct cache' has no member named 'uses'; did you mean 'used'?"),
    )


def test_a_name_that_is_no_configuration_is_an_error_that_lists_those_there_are(tmp_path: Path) -> None:
    tree = program(tmp_path, {"src/a.c": SOUND})
    assert matrix(tree, "src/cache.h") == ("tree", "debug", "release", "i386", "arm64")
    with pytest.raises(
        TreeError, match=r"there is no configuration 'uniprocessor' .* tree, debug, release, i386, arm64"
    ):
        check(change(), tree, MatrixRequest(("uniprocessor",)), untold)


def test_without_a_database_the_c_files_of_the_tree_are_its_units(tmp_path: Path) -> None:
    tree = program(tmp_path, {"src/a.c": SOUND, "src/b.c": "#ifndef GIVEN\n#error\n#endif\n" + ASSERTING})
    (tmp_path / "compile_commands.json").unlink()
    (own,) = check(change(), Tree(tree.root, cflags="-DGIVEN"), MatrixRequest(("tree",), None), untold)
    assert {one.unit: bool(one.failed) for one in own.users} == {"src/a.c": False, "src/b.c": True}


def test_a_warning_that_only_moved_is_not_new_and_the_same_text_once_more_is(tmp_path: Path) -> None:
    tree = program(tmp_path, {"src/a.c": SOUND})
    warned = HEADER.replace("#endif\n", "static inline void f(void) { int x; }\n#endif\n")
    write_files(tmp_path, {"src/cache.h": warned})
    more = warned.replace("struct table", "\nstruct table").replace(
        "#endif", "static inline void g(void) { int x; }\n#endif"
    )
    asked = CheckedChange(
        (FileChange("src/cache.h", warned.encode(), more.encode()),), "cache", "struct cache", "src/cache.h"
    )
    (own,) = check(asked, tree, MatrixRequest(("tree",), None), untold)
    assert own.users == (CompiledUser("src/a.c", ("src/cache.h:15: unused variable 'x' [-Wunused-variable]",)),)


@pytest.mark.parametrize(
    ("flags", "users"),
    [
        ("", {"src/direct.c", "src/through.c"}),
        ("-include include/forced.h", {"src/direct.c", "src/through.c", "src/apart.c"}),
    ],
)
def test_users_are_the_units_that_reach_the_header_by_their_text(tmp_path: Path, flags: str, users: set[str]) -> None:
    """Through other files, through loops, whatever the conditions say."""
    headers = {
        "include/a.h": "#pragma once\n#include <b.h>\n",
        "include/b.h": "#include <a.h>\n#ifdef NEVER\n# include\t<cache.h>\n#endif\n",
        "include/forced.h": "#include <cache.h>\n",
        "src/local.h": "#include <a.h>\n",
    }
    units = {
        "src/direct.c": SOUND,
        "src/through.c": '#include "local.h"\nint through;\n',
        "src/apart.c": "/* #include <cache.h> would */\nint apart;\n",
    }
    tree = program(tmp_path, units, "-Iinclude", "-Isrc", *flags.split())
    write_files(tmp_path, headers)
    (own,) = check(change(), tree, MatrixRequest(("tree",), None), untold)
    assert {one.unit for one in own.users} == users


@pytest.mark.parametrize(
    ("granules", "met"),
    [((0, 0), "7/8->0/1"), ((8, 64), "7/8->0/1"), ((8, 8), "7/8->1/8"), ((8, 16), "7/8->0/4")],
    ids=["only the alignment", "kept", "not kept", "kept in part"],
)
def test_starts_are_those_that_objects_have(tmp_path: Path, granules: tuple[int, int], met: str) -> None:
    """Where slab caches do not keep to an alignment, objects start as often elsewhere after a change as before it."""
    plain = "struct pool {\n\tlong name;\n\tlong limit;\n\tlong used;\n};\n"
    aligned = plain.replace("\tlong used", "\tchar spare[40];\n\tlong used __attribute__((aligned(64)))")
    tree = program(tmp_path, {"src/a.c": "int none;\n"})
    write_files(tmp_path, {"src/pool.h": plain})
    files = (FileChange("src/pool.h", plain.encode(), aligned.encode()),)
    pair = Residual("limit", "used", 64, 0.0, 0.0)
    asked = CheckedChange(files, "pool", "struct pool", "src/pool.h", pairs=(pair,), granules=granules)
    found = check(asked, tree, MatrixRequest(("tree",)), untold)
    assert met in paragraphs(found, "struct pool")


def test_a_compiler_that_names_no_line_leaves_its_own_words(tmp_path: Path) -> None:
    tree = program(tmp_path, {"src/a.c": SOUND}, "-std=none")
    (own,) = check(change(), tree, MatrixRequest(("tree",), None), untold)
    assert "unrecognized command-line option '-std=none'" in own.failed
