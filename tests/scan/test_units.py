# SPDX-License-Identifier: GPL-2.0-or-later
"""Compilations of a tree, from Kbuild's records or a database; what they include; and which are worth parsing."""

from __future__ import annotations

from pathlib import Path

import pytest
from patch_cases import write_files
from scan.trees import kernel_tree, program_tree, recorded

from linesmith.analyzer.errors import ScanFailed
from linesmith.patches.scan import kept_selection
from linesmith.patches.scan.database import database
from linesmith.patches.scan.files import Files
from linesmith.patches.scan.include_walk import IncludeWalk
from linesmith.patches.scan.kept_selection import Selections, stamp
from linesmith.patches.scan.program import question
from linesmith.patches.scan.selection import selected
from linesmith.patches.scan.unit import Unit


def silent(_remark: str) -> None:
    """Nobody is told."""


def test_kbuild_says_what_was_compiled_and_what_that_included(tmp_path: Path) -> None:
    """Units for assembly count, objects of assembly do not; records since 6.4 begin with another word."""
    sources = {"mm/a.c": "", "include/a.h": "", "kernel/asm-offsets.c": "", "kernel/entry.S": ""}
    tree, build = kernel_tree(tmp_path / "tree", sources), tmp_path / "build"
    recorded(build, "mm/a.o", tree / "mm/a.c", "gcc -c a.c", f"{tree}/include/a.h include/generated/b.h")
    recorded(build, "kernel/asm-offsets.s", tree / "kernel/asm-offsets.c", "gcc -S", word="savedcmd")
    recorded(build, "kernel/entry.o", tree / "kernel/entry.S", "gcc -c")
    units = {Path(unit.file).name: unit for unit in database(tree, build, silent).units}
    assert units.keys() == {"a.c", "asm-offsets.c"}
    assert units["a.c"].file == str(tree / "mm/a.c")
    assert set(units["a.c"].includes or ()) == {str(tree / "include/a.h"), str(build / "include/generated/b.h")}
    assert units["asm-offsets.c"].command == "gcc -S"


def test_a_program_has_a_database(tmp_path: Path) -> None:
    tree = program_tree(tmp_path, {"src/a.c": "", "src/b.c": ""})
    assert [unit.file for unit in database(tree, None, silent).units] == [str(tree / "src/a.c"), str(tree / "src/b.c")]


def test_a_build_of_other_sources_is_refused(tmp_path: Path) -> None:
    built = kernel_tree(tmp_path / "built", {"mm/a.c": ""})
    other = kernel_tree(tmp_path / "other", {"mm/a.c": ""})
    recorded(built, "mm/a.o", built / "mm/a.c", "gcc -c")
    with pytest.raises(ScanFailed, match=r"are of other sources .* give --tree the sources that were built"):
        database(other, built, silent)


KERNEL = {"Kbuild": "", "scripts/Makefile.build": ""}


@pytest.mark.parametrize(
    ("files", "complaint"),
    [
        ({"a.c": ""}, r"has no compile_commands\.json; let cmake, meson or bear write it"),
        (KERNEL, r"nothing that says how .* is compiled: .* has no \.config"),
        ({"compile_commands.json": "[{]"}, r"compile_commands\.json cannot be read"),
    ],
)
def test_a_tree_that_does_not_say_how_it_is_compiled(tmp_path: Path, files: dict[str, str], complaint: str) -> None:
    with pytest.raises(ScanFailed, match=complaint):
        database(write_files(tmp_path, files), None, silent)


def test_of_a_recorded_command_only_what_decides_parsing_is_handed_on(tmp_path: Path) -> None:
    command = (
        "ccache gcc -nostdinc -Wp,-MMD,d -fplugin=evil -DA='\"b c\"' -I inc -o x.o -c x.c ; ./tools/objtool/objtool x"
    )
    line = question(Unit("/t/x.c", tmp_path, command, tmp_path / ".x.o.cmd"), ())
    expected = '"arguments":["gcc","-nostdinc","-DA=\\"b c\\"","-Iinc","/t/x.c"]}\n'
    assert line.decode().endswith(expected)


# What a unit includes, from the text alone

LOOP = {"include/x.h": "#include <y.h>", "include/y.h": "#include <x.h>"}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (
            {"src/a.c": '#include "x.h"\n#include <y.h>', "src/x.h": "", "src/y.h": "", "include/x.h": ""},
            {"src/x.h", "include/y.h"},
        ),
        ({"src/a.c": "#ifdef A\n# include <x.h>\n#else\n#include <y.h>\n#endif\n"}, {"include/x.h", "include/y.h"}),
        ({"src/a.c": "#include <x.h>", **LOOP}, {"include/x.h", "include/y.h"}),
        ({"src/a.c": "", "include/forced.h": "#include <z.h>"}, {"include/forced.h", "include/z.h"}),
    ],
    ids=["quotes look beside the file", "both arms of a condition", "headers in a loop", "of the command line"],
)
def test_what_a_unit_includes(tmp_path: Path, files: dict[str, str], expected: set[str]) -> None:
    headers = {f"include/{name}.h": "" for name in "xyz"}
    tree = write_files(tmp_path, headers | files)
    forced = "-include include/forced.h " if "include/forced.h" in files else ""
    unit = Unit(str(tree / "src/a.c"), tree, f"gcc -nostdinc -I include {forced}-c src/a.c", tree)
    (followed,) = IncludeWalk(Files((Path("/"),))).followed([unit])
    assert {Path(file).relative_to(tree).as_posix() for file in followed.includes or ()} == expected


# Which units are worth parsing for a record

HEADER = """
struct box { int width; int height; };
typedef struct box box_t;
struct holder { long a; struct box inner; struct box *other; };
struct outer { struct holder first; };
struct box *box_of(struct holder *h);
extern struct box the_box;
#define first_box(h) ((h)->other)
#define wide(b) ((b)->width)
#define BOX_INIT { 1, 2 }
#define MAKE_BOX(name) struct box name = BOX_INIT
"""
INLINE = {"user.h": "static inline int w(struct holder *h) { return h->other->width; }"}


def chosen(
    folder: Path, units: dict[str, str], headers: dict[str, str], record: str = "box", others: int = 0
) -> list[str]:
    """The names of the units that are chosen, of those given and of others that only include the headers."""
    units = units | {f"other{number}.c": "int x;" for number in range(others)}
    write_files(folder, headers | units)
    includes = frozenset(str(folder / name) for name in headers)
    known = [Unit(str(folder / name), folder, "gcc", folder, includes) for name in units]
    return [Path(unit.file).name for unit in selected(known, record, Files((Path("/"),)))]


def test_units_count_that_can_come_to_the_record(tmp_path: Path) -> None:
    texts = [
        "void f(void *p) { struct box *b = p; }",
        "void f(void *p) { box_t *b = p; }",
        "int f(struct holder *h) { return h->other->width; }",
        "int f(struct holder *h) { return h->inner.height; }",
        "int f(struct holder *h) { return box_of(h)->width; }",
        "int f(void) { return the_box.width; }",
        "int f(struct holder *h) { return first_box(h)->width; }",
        "int f(struct holder *h) { return wide(h->other); }",
        "static struct holder h = { 1, { 2, 3 }, 0 };",
        "static struct outer o[] = { { { 1, { 2, 3 } } } };",
        "void g(struct outer *p) { *p = (struct outer) { { 1 } }; }",
        "MAKE_BOX(mine);",
    ]
    units = {f"{number}.c": text for number, text in enumerate(texts)}
    assert chosen(tmp_path, units, {"box.h": HEADER}, others=9) == list(units)


def test_units_do_not_count_for_a_word_alone(tmp_path: Path) -> None:
    texts = [
        "int box; int width;",
        "/* struct holder h = { 1 }; */ int f(struct holder *h) { return h->a; }",
        "int f(struct rectangle *r) { return r->width; }",
    ]
    units = {f"{number}.c": text for number, text in enumerate(texts)}
    # One is parsed for the header; it is no part of any unit, since so many include it.
    assert len(chosen(tmp_path, units, {"box.h": HEADER}, others=9)) <= 1


def test_one_unit_is_parsed_for_the_inline_functions_of_a_header(tmp_path: Path) -> None:
    headers = {"box.h": HEADER, **INLINE}
    assert len(chosen(tmp_path / "many", {}, headers, others=10)) == 1
    assert chosen(tmp_path / "few", {}, headers, others=3) == ["other0.c", "other1.c", "other2.c"], "a part of each"


def test_units_that_do_not_include_the_declaration_never_count(tmp_path: Path) -> None:
    write_files(tmp_path, {"box.h": HEADER, "a.c": "struct box; void f(struct box *b);"})
    unit = Unit(str(tmp_path / "a.c"), tmp_path, "gcc", tmp_path, frozenset())
    assert selected([unit], "box", Files((Path("/"),))) == ()


def test_a_typedef_behind_an_unnamed_body_is_a_name(tmp_path: Path) -> None:
    pair = {"pair.h": "typedef struct { int a; int b; } pair_t;"}
    assert chosen(tmp_path, {"a.c": "pair_t p = { 1, 2 };"}, pair, "pair_t", others=9) == ["a.c"]


def test_another_way_of_choosing_chooses_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINESMITH_CACHE_DIR", str(tmp_path / "cache"))
    tree = program_tree(tmp_path / "tree", {"a.c": "struct box { int width; } box;", "b.c": "int x;"})
    build = database(tree, None, silent)
    searched: list[str] = []

    def watched(units: tuple[Unit, ...], record: str, files: Files) -> tuple[Unit, ...]:
        searched.append(record)
        return selected(units, record, files)

    monkeypatch.setattr(kept_selection, "selected", watched)
    for _ in range(2):
        assert [Path(unit.file).name for unit in Selections(build, Files((tmp_path,))).units("box")] == ["a.c"]
    assert searched == ["box"]
    monkeypatch.setattr(kept_selection, "stamp", lambda: f"{stamp()} of another release")
    assert len(Selections(build, Files((tmp_path,))).units("box")) == 1
    assert searched == ["box", "box"]
