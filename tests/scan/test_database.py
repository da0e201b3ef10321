# SPDX-License-Identifier: GPL-2.0-or-later
"""Compilations of a tree: from Kbuild's records, from a database, or a sentence that says what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from scan.trees import kernel_tree, program_tree, recorded, written

from linesmith.analyzer.errors import ScanFailed
from linesmith.patches.scan.database import database
from linesmith.patches.scan.program import question
from linesmith.patches.scan.unit import Unit


def silent(_remark: str) -> None:
    """Nobody is told."""


def test_kbuild_says_what_was_compiled_and_what_that_included(tmp_path: Path) -> None:
    tree = kernel_tree(tmp_path / "tree", {"mm/a.c": "", "include/a.h": ""})
    build = tmp_path / "build"
    recorded(build, "mm/a.o", tree / "mm/a.c", "gcc -c a.c", f"{tree}/include/a.h include/generated/b.h")
    (unit,) = database(tree, build, silent).units
    assert unit.file == str(tree / "mm/a.c")
    assert unit.includes == frozenset([str(tree / "include/a.h"), str(build / "include/generated/b.h")])


def test_records_since_6_4_begin_with_another_word(tmp_path: Path) -> None:
    tree = kernel_tree(tmp_path, {"mm/a.c": ""})
    recorded(tree, "mm/a.o", tree / "mm/a.c", "gcc -c a.c", word="savedcmd")
    assert [unit.command for unit in database(tree, None, silent).units] == ["gcc -c a.c"]


def test_units_for_assembly_count_objects_of_assembly_do_not(tmp_path: Path) -> None:
    tree = kernel_tree(tmp_path, {"kernel/asm-offsets.c": "", "kernel/entry.S": ""})
    recorded(tree, "kernel/asm-offsets.s", tree / "kernel/asm-offsets.c", "gcc -S")
    recorded(tree, "kernel/entry.o", tree / "kernel/entry.S", "gcc -c")
    assert [Path(unit.file).name for unit in database(tree, None, silent).units] == ["asm-offsets.c"]


def test_a_program_has_a_database(tmp_path: Path) -> None:
    tree = program_tree(tmp_path, {"src/a.c": "", "src/b.c": ""})
    assert [unit.file for unit in database(tree, None, silent).units] == [str(tree / "src/a.c"), str(tree / "src/b.c")]


def test_a_build_of_other_sources_is_refused(tmp_path: Path) -> None:
    built = kernel_tree(tmp_path / "built", {"mm/a.c": ""})
    other = kernel_tree(tmp_path / "other", {"mm/a.c": ""})
    recorded(built, "mm/a.o", built / "mm/a.c", "gcc -c")
    with pytest.raises(ScanFailed, match=r"are of other sources .* give --tree the sources that were built"):
        database(other, built, silent)


def test_a_program_without_a_database_is_told_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(ScanFailed, match=r"has no compile_commands\.json; let cmake, meson or bear write it"):
        database(written(tmp_path, {"a.c": ""}), None, silent)


def test_a_kernel_without_objects_or_configuration_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(ScanFailed, match=r"nothing that says how .* is compiled: .* has no \.config"):
        database(kernel_tree(tmp_path, {}), None, silent)


def test_a_database_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "compile_commands.json").write_text("[{]")
    with pytest.raises(ScanFailed, match=r"compile_commands\.json cannot be read"):
        database(tmp_path, None, silent)


def test_of_a_recorded_command_only_what_decides_parsing_is_handed_on(tmp_path: Path) -> None:
    command = (
        "ccache gcc -nostdinc -Wp,-MMD,d -fplugin=evil -DA='\"b c\"' -I inc -o x.o -c x.c ; ./tools/objtool/objtool x"
    )
    line = question(Unit("/t/x.c", tmp_path, command, tmp_path / ".x.o.cmd"), ())
    expected = '"arguments":["gcc","-nostdinc","-DA=\\"b c\\"","-Iinc","/t/x.c"]}\n'
    assert line.decode().endswith(expected)
