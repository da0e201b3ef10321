# SPDX-License-Identifier: GPL-2.0-or-later
"""Records: names, variants, places, languages."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from unit.c_records import Bench, member, only, places, records

from linesmith.analyzer.model import RecordKind


def test_anonymous_record_takes_the_name_of_its_typedef(bench: Bench) -> None:
    layout = only(
        bench.read("typedef struct { int counter; } atomic_t; struct s { atomic_t *a; } x; atomic_t y;"), "atomic_t"
    )
    assert (layout.typedef, layout.title, layout.size) == (True, "atomic_t", 4)


def test_pointer_to_an_anonymous_record_has_the_typedef_as_target(bench: Bench) -> None:
    layout = only(bench.read("typedef struct { int c; } hidden, *handle; struct s { handle h; } x; hidden y;"), "s")
    assert member(layout, "h").target == "hidden"


def test_declaration_place_is_relative_to_the_compilation(bench: Bench) -> None:
    (bench.directory / "include").mkdir()
    (bench.directory / "include" / "s.h").write_text("\n\nstruct s {\n int a; };\n")
    layout = only(bench.read('#include "include/s.h"\nstruct s x;'), "s")
    assert layout.place == "include/s.h:3"
    assert member(layout, "a").line == 4


def test_record_inside_a_function(bench: Bench) -> None:
    layouts = bench.read(
        "int f(int n) { if (n) { struct local { int a[2]; } v = {{n, 1}}; return v.a[0]; } return 0; }"
    )
    assert only(layouts, "local").size == 8


def test_a_record_of_two_units_is_kept_once(bench: Bench) -> None:
    (bench.directory / "s.h").write_text("struct s { int a; struct s *next; };\n")
    parts = [bench.build(f'#include "s.h"\nstruct s {name};', "-c", name=name) for name in ("one", "two")]
    whole = bench.directory / "whole.o"
    subprocess.run(["ld", "-r", "-o", whole, *parts], check=True)
    assert only(records(whole), "s").units == 2


def test_one_name_with_two_layouts_gives_both(bench: Bench) -> None:
    texts = {"one": "struct s { int a; } x;", "two": "\nstruct s { long a; int b; } y;"}
    parts = [bench.build(text, "-c", name=name) for name, text in texts.items()]
    whole = bench.directory / "whole.o"
    subprocess.run(["ld", "-r", "-o", whole, *parts], check=True)
    variants = records(whole).variants("s")
    assert sorted((each.size, each.place) for each in variants) == [(4, "one.c:1"), (16, "two.c:2")]


def test_a_vector_and_an_array_of_one_size_make_two_layouts(bench: Bench) -> None:
    (bench.directory / "s.h").write_text("struct s { row v; };\n")
    texts = {"one": "typedef int row[4];", "two": "typedef int row __attribute__((vector_size(16)));"}
    parts = [bench.build(f'{text}\n#include "s.h"\nstruct s {name};', "-c", name=name) for name, text in texts.items()]
    whole = bench.directory / "whole.o"
    subprocess.run(["ld", "-r", "-o", whole, *parts], check=True)
    assert sorted(each.natural_alignment for each in records(whole).variants("s")) == [4, 16]


def test_layouts_that_differ_only_in_a_nested_record_are_told_apart(bench: Bench) -> None:
    inner = {"one": "struct in { int a; int b; };", "two": "struct in { int b; int a; };"}
    (bench.directory / "s.h").write_text("struct s { char c; struct in in; };\n")
    parts = [bench.build(f'{text}\n#include "s.h"\nstruct s {name};', "-c", name=name) for name, text in inner.items()]
    whole = bench.directory / "whole.o"
    subprocess.run(["ld", "-r", "-o", whole, *parts], check=True)
    layouts = records(whole)
    held = [member(each, "in").record for each in layouts.variants("s")]
    assert len(held) == 2
    assert {layouts.by_id(each).members[0].name for each in held if each is not None} == {"a", "b"}


def test_empty_record_has_size_zero(bench: Bench) -> None:
    assert only(bench.read("struct none { }; struct none x;"), "none").size == 0


def test_a_32_bit_target(bench: Bench) -> None:
    layout = only(bench.read("struct s { char a; void *b; long long c; } x;", "-m32"), "s")
    assert places(layout) == [("a", 0, 1), ("b", 4, 4), ("c", 8, 8)]
    assert (layout.size, layout.natural_alignment) == (16, 4)


def test_base_class_is_a_member_without_a_name(gcc: Bench) -> None:
    text = "struct base { long a; }; struct derived : base { static int shared; int b; void f() {} }; derived x;"
    layouts = gcc.read(text, suffix=".cc")
    layout = only(layouts, "derived")
    assert places(layout) == [("", 0, 8), ("b", 8, 4)]
    assert layout.members[0].record == only(layouts, "base").id


def test_names_in_namespaces_and_classes_are_qualified(gcc: Bench) -> None:
    text = "namespace ns { class outer { struct inner { int a; } i; int b; }; } ns::outer x;"
    layouts = gcc.read(text, suffix=".cc")
    assert only(layouts, "ns::outer::inner").kind is RecordKind.STRUCT
    assert only(layouts, "ns::outer").kind is RecordKind.CLASS


def test_a_declared_member_record_is_found_in_another_unit(gcc: Bench) -> None:
    text = 'struct __attribute__((visibility("default"))) part { virtual void f(); long a; };'
    (gcc.directory / "part.h").write_text(text)
    one = gcc.build(
        '#include "part.h"\nstruct whole { int n; part p; whole(); }; whole::whole() {}',
        "-c",
        "-femit-struct-debug-reduced",
        suffix=".cc",
        name="one",
    )
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
