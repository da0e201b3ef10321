# SPDX-License-Identifier: GPL-2.0-or-later
"""Recorded compiler calls: what is kept, and what is never run."""

from __future__ import annotations

from pathlib import Path

import pytest

from linesmith.analyzer.errors import TreeError
from linesmith.patches.flags import Flags, from_cmd_file


def read(tmp_path: Path, command: str, key: str = "cmd_a.s") -> Flags:
    record = tmp_path / ".a.s.cmd"
    record.write_text(
        f"{key} := {command}\n\nsource_a.s := a.c\n\ndeps_a.s := \\\n  $(wildcard x) \\\n", encoding="utf-8"
    )
    return from_cmd_file(record, tmp_path, (tmp_path,))


def test_what_decides_the_layout_is_kept(tmp_path: Path) -> None:
    flags = read(
        tmp_path,
        "gcc -nostdinc -I./include -include ./k.h -D__KERNEL__ -std=gnu11 -m64 -O2 -fshort-wchar -c -o a.o a.c",
    )
    assert flags.compiler == "gcc"
    assert flags.options == (
        "-nostdinc", "-I./include", "-include", "./k.h", "-D__KERNEL__", "-std=gnu11", "-m64", "-O2", "-fshort-wchar",
    )  # fmt: skip


def test_what_keeps_records_out_of_the_debug_information_falls_away(tmp_path: Path) -> None:
    flags = read(tmp_path, "gcc -g1 -femit-struct-debug-baseonly -fdebug-types-section -fshort-enums -c -o a.o a.c")
    assert flags.options == ("-fshort-enums",)


def test_quotes_and_signs_of_make_are_undone(tmp_path: Path) -> None:
    flags = read(tmp_path, """gcc -DNAME='"a b"' -D"STR(s)=$(pound)s" -DCOST=$$5 -S -o a.s a.c""")
    assert flags.options == ('-DNAME="a b"', "-DSTR(s)=#s", "-DCOST=$5")


@pytest.mark.parametrize(
    "word",
    [
        "-Wp,-MMD,dir/.a.d", "-MD", "-MF x", "-o x", "-fplugin=./evil.so", "-fplugin-arg-x-y=z", "-wrapper sh,-c",
        "-specs=x", "-B./bin", "@more", "-save-temps=obj", "-Werror", "-fdump-tree-all=x", "-flto", "-Xclang -load",
        "--coverage", "-aux-info x", "-Wa,-o,x", "-gsplit-dwarf", "-g0", "-fprofile-dir=x", "-T x",
        "-fdiagnostics-format=json-file",
    ],
)  # fmt: skip
def test_what_writes_files_or_loads_code_falls_away(tmp_path: Path, word: str) -> None:
    assert read(tmp_path, f"gcc {word} -DA -c a.c").options == ("-DA",)


def test_the_newer_key_and_a_launcher_are_known(tmp_path: Path) -> None:
    assert (
        read(tmp_path, "ccache x86_64-linux-gnu-gcc-12 -DA a.c", "savedcmd_a.s").compiler == "x86_64-linux-gnu-gcc-12"
    )


@pytest.mark.parametrize(
    "command",
    [
        "gcc -DA -c a.c; touch ran",
        "gcc -DA -c a.c && touch ran",
        "gcc -DA -c a.c | sh",
        "gcc `touch ran` a.c",
        "gcc -c a.c > ran",
        "sh -c 'touch ran'",
        "./gcc -c a.c",
        "rm -rf /gcc",
        "python3 gcc",
        "gcc 'unended",
        "",
    ],
)
def test_what_is_no_lone_call_of_a_compiler_is_refused(tmp_path: Path, command: str) -> None:
    with pytest.raises(TreeError, match=r"not run|make again"):
        read(tmp_path, command)
    assert not (tmp_path / "ran").exists()


def test_a_compiler_inside_the_tree_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TreeError, match="lies inside the tree; it was not run"):
        read(tmp_path, f"{tmp_path}/bin/gcc -c a.c")
