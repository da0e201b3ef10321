# SPDX-License-Identifier: GPL-2.0-or-later
"""Records and members as compilers describe them, one oddity each, and the records that functions can reach."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pytest
from unit.c_records import Bench, Producer, line, member, only, places, records

from linesmith.analyzer import _native
from linesmith.analyzer.layouts.collection import LayoutTable
from linesmith.analyzer.model import Layout, RecordKind, Touched

SOURCE, TABLE = (Path(__file__).with_name("sources") / name for name in ("members.c", "members.txt"))
EXPECTED = TABLE.read_text().partition("\n\n")[2]


@pytest.fixture(scope="module")
def layouts(producer: Producer, tmp_path_factory: pytest.TempPathFactory) -> LayoutTable:
    return Bench(tmp_path_factory.mktemp("members"), producer).read(SOURCE.read_text())


def described(layout: Layout, layouts: LayoutTable) -> Iterator[str]:
    yield f"{layout.name}: {layout.size} aligned to {layout.natural_alignment}"
    for one in layout.members:
        words = [f"{line(one)} @ {one.offset} + {one.size}"]
        words += [f"bits {one.bit_offset} + {one.bit_size}"] if one.is_bit_field else []
        words += [f"aligned to {one.natural_alignment}"] if one.natural_alignment != one.size else []
        words += [f"{one.dimensions}"] if one.dimensions else []
        words += ["flexible"] if one.flexible else []
        words += [one.category.value]
        words += [f"is {_held(layouts.by_id(one.record))}"] if one.record is not None else []
        words += [f"to {'const ' if one.read_only_target else ''}{one.target}"] if one.target else []
        yield f"  {', '.join(words)}"


def _held(layout: Layout) -> str:
    inside = ", ".join(f"{name} @ {offset} + {size}" for name, offset, size in places(layout))
    return layout.title if layout.name else f"{layout.kind.value} of {inside}"


def test_members_are_as_the_source_has_them(layouts: LayoutTable) -> None:
    names = re.findall(r"^(\w+):", EXPECTED, re.MULTILINE)
    found = [line for name in names for line in described(only(layouts, name), layouts)]
    assert "\n".join(found).replace("long int", "long") == EXPECTED.rstrip()


def test_an_array_of_a_typedef_of_an_array_has_the_dimensions_of_both(layouts: LayoutTable) -> None:
    rows = member(only(layouts, "rows"), "rows")
    assert (rows.dimensions, rows.size, rows.natural_alignment) == ((2, 4), 64, 8)


def test_qualifiers_stay_in_the_text(layouts: LayoutTable) -> None:
    layout = only(layouts, "qualified")
    assert [each.size for each in layout.members] == [4, 8, 8]
    assert set(layout.members[0].type.split()) == {"const", "volatile", "int"}
    assert line(layout.members[1]) == "const char  * b"
    assert "restrict" in line(layout.members[2])


def test_what_dwarf_4_has_no_word_for(layouts: LayoutTable, producer: Producer) -> None:
    atomics, aligned = only(layouts, "atomics"), only(layouts, "aligned")
    assert places(atomics) == [("a", 0, 4), ("b", 8, 8)]
    if producer.version == 5:
        assert line(atomics.members[0]) == "_Atomic int a"
        assert (aligned.alignment, member(aligned, "b").alignment) == (128, 64)


def cross(bench: Bench, text: str, *flags: str) -> Layout:
    """``struct s`` of the text for another machine, or with what clang alone knows."""
    if bench.producer.compiler == "gcc":
        pytest.skip("gcc does not compile this; the same test runs with clang")
    return only(bench.read(text, *flags), "s")


def test_big_endian_bit_fields_count_from_the_most_significant_bit(bench: Bench) -> None:
    layout = cross(bench, "struct s { unsigned a : 3, b : 9; } x;", "--target=powerpc64-linux-gnu")
    assert [(each.bit_offset, each.bit_size) for each in layout.members] == [(0, 3), (3, 9)]


def test_three_lanes_take_as_much_as_four(bench: Bench) -> None:
    text = "typedef float xyz __attribute__((ext_vector_type(3))); struct s { char a; xyz v; char b; } x;"
    assert places(cross(bench, text)) == [("a", 0, 1), ("v", 16, 16), ("b", 32, 1)]


@pytest.mark.parametrize(
    ("target", "size", "offset"),
    [("aarch64", 64, 16), ("armv7", 64, 8), ("riscv64", 64, 64), ("i386", 64, 64), ("s390x -march=z13", 16, 8)],
)
def test_vectors_of_other_machines(bench: Bench, target: str, size: int, offset: int) -> None:
    """With vector registers where the machine may have them."""
    machine, *more = target.split()
    system = "linux-gnueabihf" if machine == "armv7" else "linux-gnu"
    text = f"struct s {{ char a; float v __attribute__((vector_size({size}))); }} x;"
    layout = cross(bench, text, f"--target={machine}-{system}", *more)
    assert (layout.members[1].offset, layout.members[1].natural_alignment, layout.natural_alignment) == (offset,) * 3


TEXT = Path(__file__).with_name("sources").joinpath("touched.c").read_text()


def touched(path: Path, functions: Sequence[str], prefixes: Sequence[str] = ()) -> list[Touched]:
    return msgspec.json.decode(_native.read_touched(str(path), functions, prefixes, 2), type=list[Touched])


@pytest.fixture(scope="module")
def plain(producer: Producer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Bench(tmp_path_factory.mktemp("plain"), producer).object(TEXT, "-O0")


@pytest.fixture(scope="module")
def optimised(producer: Producer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Bench(tmp_path_factory.mktemp("optimised"), producer).object(TEXT, "-O2")


def test_parameters_variables_inner_blocks_and_results(plain: Path) -> None:
    found = [each for each in touched(plain, ["walk", "other"]) if not each.inlined_from]
    assert {(each.function, each.record, each.variable, each.via) for each in found} == {
        ("walk", "owner", "owner", "parameter"),
        ("walk", "owner", "all", "parameter"),
        ("walk", "counter", "count", "parameter"),
        ("walk", "local", "value", "variable"),
        ("walk", "tree", "inner", "variable"),
        ("other", "owner", "", "return"),
    }
    assert {each.variable for each in found if each.by_value} == {"value"}


def test_variables_of_inlined_functions_name_their_function(optimised: Path) -> None:
    inlined = [each for each in touched(optimised, ["glance"]) if each.inlined_from == "peek"]
    assert [(each.record, each.variable, each.read_only) for each in inlined] == [("tree", "tree", True)]


@pytest.mark.parametrize(
    ("functions", "prefixes", "found"),
    [
        pytest.param(["walk.isra.0"], [], {"walk.isra.0"}, id="the suffix of a clone is no part of the name"),
        pytest.param([], ["wal", "oth"], {"walk", "other"}, id="prefixes find whole names"),
        pytest.param(["absent"], [], set(), id="nothing"),
    ],
)
def test_functions_are_found_by_name(plain: Path, functions: list[str], prefixes: list[str], found: set[str]) -> None:
    assert {each.function for each in touched(plain, functions, prefixes)} == found


def test_the_result_does_not_depend_on_the_number_of_threads(optimised: Path) -> None:
    results = {_native.read_touched(str(optimised), ["walk", "other"], [], threads) for threads in (1, 2, 4)}
    assert len(results) == 1


RECORDS = """
#include "include/s.h"
typedef struct { int counter; } atomic_t; struct uses { atomic_t *a; } uses; atomic_t count;
typedef struct { int c; } hidden, *handle; struct points { handle h; } points; hidden h;
struct none { }; struct none none;
struct s s;
int f(int n) { if (n) { struct local { int a[2]; } v = {{n, 1}}; return v.a[0]; } return 0; }
"""


def joined(bench: Bench, texts: dict[str, str], header: str = "") -> LayoutTable:
    """The records of several units that include ``s.h`` behind their own text, linked to one object."""
    (bench.directory / "s.h").write_text(header)
    include = '\n#include "s.h"\nstruct s NAME;' if header else ""
    parts = [bench.build(text + include.replace("NAME", name), "-c", name=name) for name, text in texts.items()]
    whole = bench.directory / "whole.o"
    subprocess.run(["ld", "-r", "-o", whole, *parts], check=True)
    return records(whole)


def test_names_places_and_sizes_of_one_unit(bench: Bench) -> None:
    (bench.directory / "include").mkdir()
    (bench.directory / "include" / "s.h").write_text("\n\nstruct s {\n int a; };\n")
    layouts = bench.read(RECORDS)
    atomic = only(layouts, "atomic_t")
    assert (atomic.typedef, atomic.title, atomic.size) == (True, "atomic_t", 4)
    assert member(only(layouts, "points"), "h").target == "hidden"
    # A place is relative to the compilation.
    assert (only(layouts, "s").place, member(only(layouts, "s"), "a").line) == ("include/s.h:3", 4)
    assert [only(layouts, name).size for name in ("local", "none")] == [8, 0]


def test_a_record_of_two_units_is_kept_once(bench: Bench) -> None:
    layouts = joined(bench, {"one": "", "two": ""}, "struct s { int a; struct s *next; };\n")
    assert only(layouts, "s").units == 2


def test_one_name_with_two_layouts_gives_both(bench: Bench) -> None:
    variants = joined(bench, {"one": "struct s { int a; } x;", "two": "\nstruct s { long a; int b; } y;"}).variants("s")
    assert sorted((each.size, each.place) for each in variants) == [(4, "one.c:1"), (16, "two.c:2")]


def test_a_vector_and_an_array_of_one_size_make_two_layouts(bench: Bench) -> None:
    texts = {"one": "typedef int row[4];", "two": "typedef int row __attribute__((vector_size(16)));"}
    layouts = joined(bench, texts, "struct s { row v; };\n")
    assert sorted(each.natural_alignment for each in layouts.variants("s")) == [4, 16]


def test_layouts_that_differ_only_in_a_nested_record_are_two(bench: Bench) -> None:
    inner = {"one": "struct in { int a; int b; };", "two": "struct in { int b; int a; };"}
    layouts = joined(bench, inner, "struct s { char c; struct in in; };\n")
    held = [member(each, "in").record for each in layouts.variants("s")]
    assert len(held) == 2
    assert {layouts.by_id(each).members[0].name for each in held if each is not None} == {"a", "b"}


def test_a_32_bit_target(bench: Bench) -> None:
    layout = only(bench.read("struct s { char a; void *b; long long c; } x;", "-m32"), "s")
    assert places(layout) == [("a", 0, 1), ("b", 4, 4), ("c", 8, 8)]
    assert (layout.size, layout.natural_alignment) == (16, 4)


def test_base_classes_and_qualified_names_of_cxx(gcc: Bench) -> None:
    text = (
        "struct base { long a; }; struct derived : base { static int shared; int b; void f() {} }; derived x;"
        "namespace ns { class outer { struct inner { int a; } i; int b; }; } ns::outer y;"
    )
    layouts = gcc.read(text, suffix=".cc")
    layout = only(layouts, "derived")
    assert places(layout) == [("", 0, 8), ("b", 8, 4)]
    assert layout.members[0].record == only(layouts, "base").id
    assert only(layouts, "ns::outer::inner").kind is RecordKind.STRUCT
    assert only(layouts, "ns::outer").kind is RecordKind.CLASS


def test_a_declared_member_record_is_found_in_another_unit(gcc: Bench) -> None:
    text = 'struct __attribute__((visibility("default"))) part { virtual void f(); long a; };'
    (gcc.directory / "part.h").write_text(text)
    user = '#include "part.h"\nstruct whole { int n; part p; whole(); }; whole::whole() {}'
    one = gcc.build(user, "-c", "-femit-struct-debug-reduced", suffix=".cc", name="one")
    two = gcc.build('#include "part.h"\nvoid part::f() {}', "-c", suffix=".cc", name="two")
    whole = gcc.directory / "whole.o"
    subprocess.run(["ld", "-r", "-o", whole, one, two], check=True)
    layouts = records(whole)
    assert member(only(layouts, "whole"), "p").record in {each.id for each in layouts.variants("part")}


def test_rust_structs_are_read_and_enums_do_no_harm(tmp_path: Path) -> None:
    if shutil.which("rustc") is None:
        pytest.skip("rustc is not installed")
    source = tmp_path / "unit.rs"
    source.write_text(
        "#[repr(C)] pub struct Plain { a: u8, b: u32 }\n"
        "pub enum Choice { One(Plain), Two }\n"
        "#[no_mangle] pub fn look(c: &Choice) -> u32 { match c { Choice::One(p) => p.b, Choice::Two => 0 } }\n"
    )
    command = ["rustc", "-g", "--crate-type=staticlib", "--emit=obj", "-o", "unit.o", source.name]
    subprocess.run(command, cwd=tmp_path, check=True)
    layouts = records(tmp_path / "unit.o")
    assert places(only(layouts, "unit::Plain")) == [("a", 0, 1), ("b", 4, 4)]
    assert only(layouts, "unit::Choice").members == ()
