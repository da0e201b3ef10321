# SPDX-License-Identifier: GPL-2.0-or-later
"""Members as compilers describe them: one oddity per test, gcc and clang, DWARF 4 and 5."""

from __future__ import annotations

import pytest
from unit.c_records import Bench, line, member, only, places

from linesmith.analyzer.model import MemberCategory, RecordKind


def test_bit_fields_count_from_the_start_of_the_record(bench: Bench) -> None:
    text = "struct s { int a; unsigned b : 3; unsigned c : 30; unsigned char d : 2, e : 6; } x;"
    layout = only(bench.read(text), "s")
    fields = [(each.name, each.offset, each.size, each.bit_offset, each.bit_size) for each in layout.members[1:]]
    assert fields == [("b", 4, 4, 32, 3), ("c", 8, 4, 64, 30), ("d", 11, 1, 94, 2), ("e", 12, 1, 96, 6)]


def test_a_packed_bit_field_may_cross_its_storage_unit(bench: Bench) -> None:
    text = "struct __attribute__((packed)) s { unsigned a : 28; unsigned b : 12; } x;"
    b = member(only(bench.read(text), "s"), "b")
    assert (b.offset, b.bit_offset, b.bit_size) == (3, 28, 12)


def test_big_endian_bit_fields_count_from_the_most_significant_bit(bench: Bench) -> None:
    if bench.producer.compiler == "gcc":
        pytest.skip("needs a cross compiler")
    text = "struct s { unsigned a : 3, b : 9; } x;"
    layout = only(bench.read(text, "--target=powerpc64-linux-gnu"), "s")
    assert [(each.bit_offset, each.bit_size) for each in layout.members] == [(0, 3), (3, 9)]


def test_flexible_array(bench: Bench) -> None:
    data = member(only(bench.read("struct s { int n; char data[]; } *x;"), "s"), "data")
    assert (line(data), data.flexible, data.offset, data.size, data.dimensions) == ("char data[]", True, 4, 0, (0,))


def test_zero_length_marker_is_not_flexible(bench: Bench) -> None:
    mark = member(only(bench.read("struct s { int n; char mark[0]; int m; } x;"), "s"), "mark")
    assert (line(mark), mark.flexible, mark.offset, mark.size) == ("char mark[0]", False, 4, 0)


def test_arrays_of_several_ranks(bench: Bench) -> None:
    grid = member(only(bench.read("struct s { char grid[3][5][7]; } x;"), "s"), "grid")
    assert (line(grid), grid.dimensions, grid.size) == ("char grid[3][5][7]", (3, 5, 7), 105)


def test_typedef_of_an_array_inside_an_array(bench: Bench) -> None:
    rows = member(only(bench.read("typedef long row[4]; struct s { row rows[2]; } x;"), "s"), "rows")
    assert (rows.dimensions, rows.size, rows.natural_alignment) == ((2, 4), 64, 8)


def test_atomic_members_are_kept(bench: Bench) -> None:
    layout = only(bench.read("struct s { _Atomic int a; _Atomic long *b; } x;"), "s")
    assert places(layout) == [("a", 0, 4), ("b", 8, 8)]
    if bench.producer.version == 5:  # DWARF 4 has no word for it
        assert line(layout.members[0]) == "_Atomic int a"


def test_qualifiers_stay_in_the_text(bench: Bench) -> None:
    text = "struct s { const volatile int a; const char *b; char *restrict c; } x;"
    layout = only(bench.read(text), "s")
    assert [each.size for each in layout.members] == [4, 8, 8]
    assert set(layout.members[0].type.split()) == {"const", "volatile", "int"}
    assert line(layout.members[1]) == "const char  * b"
    assert "restrict" in line(layout.members[2])


def test_packed_record(bench: Bench) -> None:
    layout = only(bench.read("struct __attribute__((packed)) s { char a; long b; } x;"), "s")
    assert (layout.size, places(layout)) == (9, [("a", 0, 1), ("b", 1, 8)])
    assert member(layout, "b").natural_alignment == 8


def test_alignment_of_a_member_and_of_a_record(bench: Bench) -> None:
    text = "struct s { char a; int b __attribute__((aligned(64))); } __attribute__((aligned(128))) x;"
    layout = only(bench.read(text), "s")
    assert (layout.size, member(layout, "b").offset) == (128, 64)
    if bench.producer.version == 5:
        assert (layout.alignment, member(layout, "b").alignment) == (128, 64)


def test_function_pointer(bench: Bench) -> None:
    text = "struct f; struct s { int (*open)(struct f *, const char *, ...); void (*close)(void); } x;"
    layout = only(bench.read(text), "s")
    assert line(layout.members[0]) == "int (*open)(struct f *, const char  *, ...)"
    assert line(layout.members[1]) == "void (*close)(void)"
    assert layout.members[0].category is MemberCategory.FUNCTION_POINTER


def test_anonymous_union_is_a_member_without_a_name(bench: Bench) -> None:
    layouts = bench.read("struct s { int a; union { long b; char c; }; } x;")
    union = only(layouts, "s").members[1]
    assert (union.name, union.offset, union.size, union.category) == ("", 8, 8, MemberCategory.RECORD)
    assert union.record is not None
    inner = layouts.by_id(union.record)
    assert (inner.kind, inner.name, places(inner)) == (RecordKind.UNION, "", [("b", 0, 8), ("c", 0, 1)])


def test_anonymous_enumeration_is_written_out(bench: Bench) -> None:
    state = member(only(bench.read("struct s { enum { OFF, ON = 4 } state; } x;"), "s"), "state")
    assert (line(state), state.category) == ("enum {OFF = 0, ON = 4} state", MemberCategory.ENUM)


def test_named_enumeration(bench: Bench) -> None:
    mode = member(only(bench.read("enum mode { A, B }; struct s { enum mode mode; } x;"), "s"), "mode")
    assert (line(mode), mode.size, mode.natural_alignment) == ("enum mode mode", 4, 4)


def test_pointer_names_the_record_behind_typedef_const_and_levels(bench: Bench) -> None:
    text = """
    struct inner { int i; }; typedef const struct inner read_only;
    struct s { struct inner *one; read_only *two; struct inner **three; struct inner *four[3]; int *five; } x;
    """
    layout = only(bench.read(text), "s")
    assert [each.target for each in layout.members] == ["inner", "inner", "inner", "inner", None]
    assert [each.read_only_target for each in layout.members] == [False, True, False, False, False]


def test_nested_record_is_linked_by_id(bench: Bench) -> None:
    layouts = bench.read("struct inner { long a; char b; }; struct s { char c; struct inner in[2]; } x;")
    held = member(only(layouts, "s"), "in")
    assert held.record is not None
    assert layouts.by_id(held.record) == only(layouts, "inner")
    assert (held.offset, held.size, held.natural_alignment) == (8, 32, 8)


def test_a_packed_record_aligns_its_holder_to_what_it_states(bench: Bench) -> None:
    text = """
        struct __attribute__((packed, aligned(4))) walk { unsigned long sector; int done[3]; };
        struct __attribute__((packed)) loose { unsigned long sector; char last; };
        struct bio { int flags; struct walk walk; char state; struct loose loose; } x;
    """
    walk, loose = (member(only(bench.read(text), "bio"), name) for name in ("walk", "loose"))
    assert (walk.offset, walk.natural_alignment) == (4, 4)
    assert (loose.offset, loose.natural_alignment) == (25, 1)


def test_a_vector_is_one_value_aligned_to_its_size(bench: Bench) -> None:
    layout = only(bench.read("struct s { char a; float v __attribute__((vector_size(32))); char b; } x;"), "s")
    vector = member(layout, "v")
    assert line(vector) == "float __attribute__((__vector_size__(32))) v"
    assert (vector.offset, vector.size, vector.dimensions, vector.category) == (32, 32, (), MemberCategory.FLOAT)
    assert (layout.size, layout.natural_alignment, vector.natural_alignment) == (96, 32, 32)


def test_an_array_of_vectors_and_a_pointer_to_one(bench: Bench) -> None:
    text = "typedef long pair __attribute__((vector_size(16))); struct s { char a; pair rows[3]; const pair *at; } x;"
    rows, at = only(bench.read(text), "s").members[1:]
    assert (line(rows), rows.offset, rows.size, rows.dimensions) == ("pair rows[3]", 16, 48, (3,))
    assert (rows.natural_alignment, at.offset, at.natural_alignment) == (16, 64, 8)


def test_three_lanes_take_as_much_as_four(bench: Bench) -> None:
    if bench.producer.compiler == "gcc":
        pytest.skip("an extension of clang")
    text = "typedef float xyz __attribute__((ext_vector_type(3))); struct s { char a; xyz v; char b; } x;"
    assert places(only(bench.read(text), "s")) == [("a", 0, 1), ("v", 16, 16), ("b", 32, 1)]


@pytest.mark.parametrize(
    ("target", "offset"),
    [("aarch64-linux-gnu", 16), ("armv7-linux-gnueabihf", 8), ("riscv64-linux-gnu", 64), ("i386-linux-gnu", 64)],
)
def test_vectors_of_other_machines(bench: Bench, target: str, offset: int) -> None:
    if bench.producer.compiler == "gcc":
        pytest.skip("needs a cross compiler")
    text = "struct s { char a; float v __attribute__((vector_size(64))); } x;"
    layout = only(bench.read(text, f"--target={target}"), "s")
    assert (layout.members[1].offset, layout.members[1].natural_alignment, layout.natural_alignment) == (offset,) * 3


def test_vectors_of_s390x_need_8_bytes_where_it_has_vector_registers(bench: Bench) -> None:
    if bench.producer.compiler == "gcc":
        pytest.skip("needs a cross compiler")
    text = "struct s { char a; int v __attribute__((vector_size(16))); } x;"
    vector = member(only(bench.read(text, "--target=s390x-linux-gnu", "-march=z13"), "s"), "v")
    assert (vector.offset, vector.natural_alignment) == (8, 8)
