# SPDX-License-Identifier: GPL-2.0-or-later
"""Members as compilers describe them: one oddity per record, gcc and clang, DWARF 4 and 5."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from unit.c_records import Bench, Producer, line, member, only, places

from linesmith.analyzer.layouts import LayoutTable
from linesmith.analyzer.model import Layout, RecordKind

SOURCE = """
struct bits { int a; unsigned b : 3; unsigned c : 30; unsigned char d : 2, e : 6; }; struct bits v_bits;
struct __attribute__((packed)) crossing { unsigned a : 28; unsigned b : 12; }; struct crossing v_crossing;
struct flexible { int n; char data[]; }; struct flexible v_flexible;
struct marker { int n; char mark[0]; int m; }; struct marker v_marker;
struct ranks { char grid[3][5][7]; }; struct ranks v_ranks;
typedef long row[4]; struct rows { row rows[2]; }; struct rows v_rows;
struct __attribute__((packed)) packed { char a; long b; }; struct packed v_packed;
struct f;
struct functions { int (*open)(struct f *, const char *, ...); void (*close)(void); };
struct functions v_functions;
struct anonymous { int a; union { long b; char c; }; }; struct anonymous v_anonymous;
struct values { enum { OFF, ON = 4 } state; }; struct values v_values;
enum mode { A, B }; struct named { enum mode mode; }; struct named v_named;
struct inner { int i; }; typedef const struct inner read_only;
struct pointers { struct inner *one; read_only *two;
struct inner **three;
struct inner *four[3]; int *five; };
struct pointers v_pointers;
struct held { long a; char b; }; struct holder { char c; struct held in[2]; }; struct holder v_holder;
struct __attribute__((packed, aligned(4))) walk { unsigned long sector; int done[3]; };
struct __attribute__((packed)) loose { unsigned long sector; char last; };
struct bio { int flags;
struct walk walk; char state;
struct loose loose; };
struct bio v_bio;
struct vector { char a; float v __attribute__((vector_size(32))); char b; }; struct vector v_vector;
typedef long pair __attribute__((vector_size(16)));
struct vectors { char a; pair rows[3]; const pair *at; };
struct vectors v_vectors;
struct atomics { _Atomic int a; _Atomic long *b; }; struct atomics v_atomics;
struct qualified { const volatile int a; const char *b; char *restrict c; }; struct qualified v_qualified;
struct aligned { char a; int b __attribute__((aligned(64))); } __attribute__((aligned(128)));
struct aligned v_aligned;
"""
# Size and alignment of a record, and of each member: declaration, place, array, category, what it is or leads to.
EXPECTED = """\
bits: 16 aligned to 4
  int a @ 0 + 4, scalar
  unsigned int b @ 4 + 4, bits 32 + 3, scalar
  unsigned int c @ 8 + 4, bits 64 + 30, scalar
  unsigned char d @ 11 + 1, bits 94 + 2, scalar
  unsigned char e @ 12 + 1, bits 96 + 6, scalar
crossing: 5 aligned to 4
  unsigned int a @ 0 + 4, bits 0 + 28, scalar
  unsigned int b @ 3 + 4, bits 28 + 12, scalar
flexible: 4 aligned to 4
  int n @ 0 + 4, scalar
  char data[] @ 4 + 0, aligned to 1, (0,), flexible, scalar
marker: 8 aligned to 4
  int n @ 0 + 4, scalar
  char mark[0] @ 4 + 0, aligned to 1, (0,), scalar
  int m @ 4 + 4, scalar
ranks: 105 aligned to 1
  char grid[3][5][7] @ 0 + 105, aligned to 1, (3, 5, 7), scalar
packed: 9 aligned to 8
  char a @ 0 + 1, scalar
  long b @ 1 + 8, scalar
functions: 16 aligned to 8
  int (*open)(struct f *, const char  *, ...) @ 0 + 8, function pointer
  void (*close)(void) @ 8 + 8, function pointer
anonymous: 16 aligned to 8
  int a @ 0 + 4, scalar
  union @ 8 + 8, record, is union
values: 4 aligned to 4
  enum {OFF = 0, ON = 4} state @ 0 + 4, enum
named: 4 aligned to 4
  enum mode mode @ 0 + 4, enum
pointers: 56 aligned to 8
  struct inner * one @ 0 + 8, pointer, to inner
  read_only * two @ 8 + 8, pointer, to const inner
  struct inner * * three @ 16 + 8, pointer, to inner
  struct inner * four[3] @ 24 + 24, aligned to 8, (3,), pointer, to inner
  int * five @ 48 + 8, pointer
holder: 40 aligned to 8
  char c @ 0 + 1, scalar
  struct held in[2] @ 8 + 32, aligned to 8, (2,), record, is struct held
bio: 36 aligned to 4
  int flags @ 0 + 4, scalar
  struct walk walk @ 4 + 20, aligned to 4, record, is struct walk
  char state @ 24 + 1, scalar
  struct loose loose @ 25 + 9, aligned to 1, record, is struct loose
vector: 96 aligned to 32
  char a @ 0 + 1, scalar
  float __attribute__((__vector_size__(32))) v @ 32 + 32, float
  char b @ 64 + 1, scalar
vectors: 80 aligned to 16
  char a @ 0 + 1, scalar
  pair rows[3] @ 16 + 48, aligned to 16, (3,), scalar
  const pair  * at @ 64 + 8, pointer
aligned: 128 aligned to 64
  char a @ 0 + 1, scalar
  int b @ 64 + 4, scalar
"""


@pytest.fixture(scope="module")
def layouts(producer: Producer, tmp_path_factory: pytest.TempPathFactory) -> LayoutTable:
    return Bench(tmp_path_factory.mktemp("members"), producer).read(SOURCE)


def described(layout: Layout, layouts: LayoutTable) -> Iterator[str]:
    yield f"{layout.name}: {layout.size} aligned to {layout.natural_alignment}"
    for one in layout.members:
        words = [f"{line(one)} @ {one.offset} + {one.size}"]
        words += [f"bits {one.bit_offset} + {one.bit_size}"] if one.is_bit_field else []
        words += [f"aligned to {one.natural_alignment}"] if one.natural_alignment != one.size else []
        words += [f"{one.dimensions}"] if one.dimensions else []
        words += ["flexible"] if one.flexible else []
        words += [one.category.value]
        words += [f"is {layouts.by_id(one.record).title}"] if one.record is not None else []
        words += [f"to {'const ' if one.read_only_target else ''}{one.target}"] if one.target else []
        yield f"  {', '.join(words)}"


def test_members_are_as_the_source_has_them(layouts: LayoutTable) -> None:
    names = re.findall(r"^(\w+):", EXPECTED, re.MULTILINE)
    found = [line for name in names for line in described(only(layouts, name), layouts)]
    assert "\n".join(found).replace("long int", "long") == EXPECTED.rstrip()


def test_the_record_of_an_anonymous_member_has_its_members(layouts: LayoutTable) -> None:
    union = only(layouts, "anonymous").members[1]
    assert union.record is not None
    inner = layouts.by_id(union.record)
    assert (inner.kind, inner.name, places(inner)) == (RecordKind.UNION, "", [("b", 0, 8), ("c", 0, 1)])


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
        pytest.skip("needs clang")
    return only(bench.read(text, *flags), "s")


def test_big_endian_bit_fields_count_from_the_most_significant_bit(bench: Bench) -> None:
    layout = cross(bench, "struct s { unsigned a : 3, b : 9; } x;", "--target=powerpc64-linux-gnu")
    assert [(each.bit_offset, each.bit_size) for each in layout.members] == [(0, 3), (3, 9)]


def test_three_lanes_take_as_much_as_four(bench: Bench) -> None:
    text = "typedef float xyz __attribute__((ext_vector_type(3))); struct s { char a; xyz v; char b; } x;"
    assert places(cross(bench, text)) == [("a", 0, 1), ("v", 16, 16), ("b", 32, 1)]


@pytest.mark.parametrize(
    ("flags", "size", "offset"),
    [
        (("--target=aarch64-linux-gnu",), 64, 16),
        (("--target=armv7-linux-gnueabihf",), 64, 8),
        (("--target=riscv64-linux-gnu",), 64, 64),
        (("--target=i386-linux-gnu",), 64, 64),
        # Where it has vector registers.
        (("--target=s390x-linux-gnu", "-march=z13"), 16, 8),
    ],
)
def test_vectors_of_other_machines(bench: Bench, flags: tuple[str, ...], size: int, offset: int) -> None:
    layout = cross(bench, f"struct s {{ char a; float v __attribute__((vector_size({size}))); }} x;", *flags)
    assert (layout.members[1].offset, layout.members[1].natural_alignment, layout.natural_alignment) == (offset,) * 3
