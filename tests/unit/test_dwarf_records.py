# SPDX-License-Identifier: GPL-2.0-or-later
"""Records: names, variants, places, languages."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from unit.c_records import Bench, member, only, places, records

from linesmith.analyzer.layouts.collection import LayoutTable
from linesmith.analyzer.model import RecordKind

SOURCE = """
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
    layouts = bench.read(SOURCE)
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
