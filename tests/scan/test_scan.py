# SPDX-License-Identifier: GPL-2.0-or-later
"""Scans of small trees: which units are parsed, what is found, and units that cannot be parsed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from patch_cases import stamps, write_files
from scan.trees import kernel_tree, program_tree, recorded

from linesmith.analyzer.base.errors import Deadline, ScanFailed, TreeError
from linesmith.analyzer.cli.premises import ScanOptions, refuse_other_tree
from linesmith.analyzer.model import SourceScan
from linesmith.patches.scan.scan import Watch, scanned
from linesmith.patches.scan.units import database

SOURCES = Path(__file__).with_name("sources")
HEADER = (SOURCES / "box.h").read_text()
FILES = {
    "include/box.h": HEADER,
    "a.c": "#include <box.h>\nstruct box unit = { 1, 1 };\n",
    "b.c": "#include <box.h>\nint wide(struct box *b) { return b->width; }\n",
}


class Run:
    """A tree that is scanned again and again; ``parsed`` counts the units of the last scan that were parsed."""

    def __init__(self, tree: Path) -> None:
        self.tree = tree
        self.parsed = 0

    def scan(self) -> SourceScan:
        self.parsed = 0

        def count(done: int, _total: int) -> None:
            self.parsed = done

        (found,) = scanned(self.tree, None, ["box"], Watch(count, lambda _remark: None))
        return found


@pytest.fixture
def run(parser: Path, tmp_path: Path) -> Run:  # noqa: ARG001 - sets the environment
    return Run(program_tree(tmp_path / "tree", FILES))


def test_declaration_dependencies_and_uses_are_found(run: Run) -> None:
    found = run.scan()
    (source,) = found.sources
    assert (source.span.file, source.span.line, [one.name for one in source.members]) == (
        "include/box.h",
        1,
        ["width", "height"],
    )
    assert [(one.kind.value, one.members, one.place, one.text) for one in found.dependencies] == [
        ("positional initialiser", ("width", "height"), "a.c:2", "struct box unit = { 1, 1 };")
    ]
    uses = {(one.member, one.kind.value, one.place, one.function) for one in found.uses}
    assert ("width", "read", "b.c:2", "wide") in uses
    assert ("height", "read", "include/box.h:5", "area") in uses


def test_a_second_scan_parses_nothing_and_says_the_same(run: Run, tmp_path: Path) -> None:
    before = stamps(run.tree)
    first = run.scan()
    assert run.parsed == 2
    assert stamps(run.tree) == before, "the tree stays as it is"
    assert run.scan() == first
    assert run.parsed == 0
    for path in (tmp_path / "cache").glob("*.scan"):
        path.write_bytes(path.read_bytes()[:-10])
    assert run.scan() == first, "what a killed scan left is cut off"
    assert run.parsed == 1


def test_what_changed_is_parsed_again(run: Run) -> None:
    """A unit alone, a header with all that include it, and all where an option changes."""
    run.scan()
    (run.tree / "b.c").write_text("#include <box.h>\nint high(struct box *b) { return b->height; }\n")
    found = run.scan()
    assert run.parsed == 1
    assert {one.function for one in found.uses} == {"high", "area"}
    (run.tree / "include/box.h").write_text(HEADER.replace("height;", "height, depth;", 1))
    found = run.scan()
    assert run.parsed == 2
    assert [one.name for one in found.sources[0].members] == ["width", "height", "depth"]
    program_tree(run.tree, FILES, "-I include -DNDEBUG")
    run.scan()
    assert run.parsed == 2


def test_of_what_units_see_of_a_record_the_most_counts(run: Run) -> None:
    header = HEADER.replace("\tint height;\n", "\tint height;\n#ifdef DEEP\n\tint depth;\n#endif\n")
    for units in ("ab", "ba"):
        texts = {f"{name}.c": f"#include <box.h>\nstruct box *{name};\n" for name in units}
        texts[f"{units[0]}.c"] = "#define DEEP\n" + texts[f"{units[0]}.c"]
        program_tree(run.tree, {"include/box.h": header, **texts})
        assert [one.name for one in run.scan().sources[0].members] == ["width", "height", "depth"]


def test_the_cache_does_not_grow_with_every_change(run: Run, tmp_path: Path) -> None:
    for turn in range(12):
        (run.tree / "include/box.h").write_text(f"{HEADER}/* {turn} */\n")
        found = run.scan()
    (kept,) = (tmp_path / "cache").glob("*.scan")
    assert len(kept.read_bytes().splitlines()) < 15
    assert run.scan() == found
    assert run.parsed == 0


def test_a_unit_with_errors_is_named_and_the_others_count(run: Run) -> None:
    program_tree(run.tree, {**FILES, "broken.c": "#include <box.h>\n#include <nowhere.h>\nstruct box b = { 1, 2 };\n"})
    found = run.scan()
    assert [unit for unit, _ in found.failed] == ["broken.c"]
    assert "nowhere.h" in found.failed[0][1]
    assert "a.c:2" in [one.place for one in found.dependencies]


DIES = (SOURCES / "dies.sh").read_text()


def test_a_unit_that_kills_the_parser_costs_itself(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = write_files(tmp_path, {"dies": DIES, "ends": "#!/bin/sh\nread -r line\n"})
    for name in ("dies", "ends"):
        (program / name).chmod(0o755)
    monkeypatch.setenv("LINESMITH_SOURCE_SCAN", str(program / "dies"))
    found = run.scan()
    assert (found.failed, found.units) == ((("a.c", "the program that parses it ended"),), 1)
    monkeypatch.setenv("LINESMITH_SOURCE_SCAN", str(program / "ends"))
    with pytest.raises(ScanFailed, match="none of the 2 units that use box can be parsed"):
        run.scan()


# Compilations of a tree, what they include, and which are worth parsing


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


def test_a_build_of_other_sources_is_refused(tmp_path: Path) -> None:
    built = kernel_tree(tmp_path / "built", {"mm/a.c": ""})
    other = kernel_tree(tmp_path / "other", {"mm/a.c": ""})
    recorded(built, "mm/a.o", built / "mm/a.c", "gcc -c")
    with pytest.raises(ScanFailed, match=r"belong to other sources .* give --tree the sources that were built"):
        database(other, built, silent)


KERNEL = {"Kbuild": "", "scripts/Makefile.build": ""}


@pytest.mark.parametrize(
    ("files", "complaint"),
    [
        ({"a.c": ""}, r"has no compile_commands\.json; let cmake, meson or bear write it"),
        (KERNEL, r"cannot find how .* is compiled: .* has no \.config"),
        ({"compile_commands.json": "[{]"}, r"compile_commands\.json cannot be read"),
    ],
)
def test_a_tree_that_does_not_say_how_it_is_compiled(tmp_path: Path, files: dict[str, str], complaint: str) -> None:
    with pytest.raises(ScanFailed, match=complaint):
        database(write_files(tmp_path, files), None, silent)


# What a unit includes, from the text alone, and which units are worth parsing for a record

BOXES = (SOURCES / "boxes.h").read_text()
INLINE = "static inline int w(struct holder *h) { return h->other->width; }"


def scan_box(tree: Path, files: dict[str, str], flags: str = "-I include", others: int = 0) -> SourceScan:
    """What is found of ``struct box`` in the files and in others that only include the header."""
    more = {f"other{number}.c": "#include <box.h>\nint x;\n" for number in range(others)}
    (found,) = scanned(program_tree(tree, files | more, flags), None, ["box"], Watch(lambda _, __: None, silent))
    return found


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(
    ("files", "flags"),
    [
        ({"src/a.c": '#include "box.h"\n', "src/box.h": BOXES, "include/box.h": ""}, "-I include"),
        ({"a.c": "#ifndef A\n# include <box.h>\n#endif\n"}, "-I include"),
        (
            {
                "a.c": "#include <x.h>\n",
                "include/x.h": "#pragma once\n#include <y.h>\n",
                "include/y.h": "#include <x.h>\n#include <box.h>\n",
            },
            "-I include",
        ),
        ({"a.c": ""}, "-I include -include include/box.h"),
        ({"a.c": "#include <box.h>\n"}, "-Wp,-MMD,d -fplugin=evil -DA='\"b c\"' -I include -o x.o"),
    ],
    ids=["quotes look beside the file", "in a condition", "headers in a loop", "of the command line", "options of gcc"],
)
def test_a_unit_that_includes_the_record_is_parsed(tmp_path: Path, files: dict[str, str], flags: str) -> None:
    (unit,) = (name for name in files if name.endswith(".c"))
    use = "int f(struct box *b) { return b->width; }\n"
    found = scan_box(tmp_path, {"include/box.h": f"#pragma once\n{BOXES}", **files, unit: files[unit] + use}, flags)
    assert (found.units, {one.member for one in found.uses}) == (1, {"width"})


@pytest.mark.usefixtures("parser")
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
    units = {f"{number}.c": f"#include <box.h>\n{text}\n" for number, text in enumerate(texts)}
    assert scan_box(tmp_path, {"include/box.h": BOXES, **units}, others=9).units == len(texts)


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(
    "text",
    [
        "int box; int width;\n",
        "/* struct box */ int f(struct holder *h) { return h->a; }\n",
        "struct rectangle { int width; };\nint f(struct rectangle *r) { return r->width; }\n",
        None,
    ],
    ids=["a word alone", "a comment", "a member of another record", "without the declaration"],
)
def test_one_unit_is_parsed_for_a_header_that_no_unit_uses(tmp_path: Path, text: str | None) -> None:
    unit = f"#include <box.h>\n{text}" if text else "struct box; void f(struct box *b);\n"
    found = scan_box(tmp_path, {"include/box.h": BOXES + INLINE, "a.c": unit}, others=9)
    assert (found.units, [one.function for one in found.uses]) == (1, ["w"])


@pytest.mark.usefixtures("parser")
def test_a_typedef_behind_an_unnamed_body_is_a_name(tmp_path: Path) -> None:
    files = {"include/pair.h": "typedef struct { int a; int b; } pair_t;\n"}
    files |= {"a.c": "#include <pair.h>\npair_t p = { 1, 2 };\n"} | {
        f"{at}.c": "#include <pair.h>\n" for at in range(9)
    }
    (found,) = scanned(program_tree(tmp_path, files), None, ["pair_t"], Watch(lambda _, __: None, silent))
    assert [one.place for one in found.dependencies] == ["a.c:2"]


# Whether an ELF file is of a source tree, by the files that declare its records


MAIN = '#include "far.h"\n#include "own.h"\nstruct far far;\nstruct own own;\nint main() { return own.x + far.x; }\n'


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A program of ``app`` with a record from ``dep`` and one that is generated into ``out``, to which a link leads."""
    for name, record in (("dep/far.h", "far"), ("out/own.h", "own"), ("other/include/none.h", "none")):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"struct {record} {{ int x; }};\n")
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "main.c").write_text(MAIN)
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "out").symlink_to(tmp_path / "out")
    command = ["gcc", "-g", "-Idep", "-Iout", "-o", "main", "app/main.c"]
    subprocess.run(command, cwd=tmp_path, check=True)
    return tmp_path / "main"


@pytest.mark.parametrize(
    ("tree", "build"),
    [("dep", None), (".", None), ("linked", None), ("app", "out")],
    ids=["at its top", "above it", "through a link", "generated into the build"],
)
def test_a_file_of_the_tree_is_not_refused(program: Path, tree: str, build: str | None) -> None:
    folder = program.parent
    refuse_other_tree(program, ScanOptions(folder / tree, folder / build if build else None, Deadline()))


def test_a_file_of_another_tree_is_refused(program: Path) -> None:
    with pytest.raises(TreeError, match=r"main was not built from .*other, which has none of the 2 files"):
        refuse_other_tree(program, ScanOptions(program.parent / "other", None, Deadline()))


def test_a_name_that_no_file_can_have_is_only_not_there(tmp_path: Path) -> None:
    source = f'# 1 "{"a" * 300}.h"\nstruct far {{ int x; }} far;\nint main(void) {{ return far.x; }}\n'
    (tmp_path / "main.i").write_text(source)
    subprocess.run(["gcc", "-g", "-o", "main", "main.i"], cwd=tmp_path, check=True)
    with pytest.raises(TreeError, match="which has no aaa"):
        refuse_other_tree(tmp_path / "main", ScanOptions(tmp_path, None, Deadline()))
