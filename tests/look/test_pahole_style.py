# SPDX-License-Identifier: GPL-2.0-or-later
"""How a layout looks: the style of pahole, and pahole's own text where it is installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from c_source import compiled

from linesmith.analyzer.dwarf import read_layouts
from linesmith.analyzer.report.pahole import render_text
from linesmith.analyzer.selection import select


def shown(folder: Path, source: str, *wanted: str, expand: bool = False, flags: tuple[str, ...] = ()) -> str:
    layouts = read_layouts(compiled(folder, source, *flags)).layouts
    return render_text(select(layouts, wanted), layouts, expand)


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines()]


def test_members_stand_in_columns_with_offset_and_size(tmp_path: Path) -> None:
    assert shown(tmp_path, "struct pair { int first; long second[2]; } pair;", "pair") == (
        "struct pair {\n"
        "\tint                        first;                /*     0     4 */\n"
        "\n"
        "\t/* XXX 4 bytes hole, try to pack */\n"
        "\n"
        "\tlong int                   second[2];            /*     8    16 */\n"
        "\n"
        "\t/* size: 24, cachelines: 1, members: 2 */\n"
        "\t/* sum members: 20, holes: 1, sum holes: 4 */\n"
        "\t/* last cacheline: 24 bytes */\n"
        "};\n"
    )


def test_a_crossed_line_is_announced_with_how_far_it_is_back(tmp_path: Path) -> None:
    text = shown(tmp_path, "struct wide { char name[56]; long at[2]; int tail; } wide;", "wide")
    assert "/* --- cacheline 1 boundary (64 bytes) was 8 bytes ago --- */" in lines(text)


def test_the_values_of_an_anonymous_enum_are_written_out(tmp_path: Path) -> None:
    text = shown(tmp_path, "struct light { enum { RED, GREEN = 5 } colour; } light;", "light")
    assert lines(text)[1:5] == [
        "enum {",
        "RED   = 0,",
        "GREEN = 5,",
        "} colour;                                        /*     0     4 */",
    ]


def test_expanding_writes_named_records_out_and_keeps_the_typedef_in_a_comment(tmp_path: Path) -> None:
    source = (
        "typedef struct { int counter; } count_t; struct page { struct link { void *next; } lru; count_t uses; } page;"
    )
    text = shown(tmp_path, source, "page", expand=True)
    assert [line for line in lines(text) if line.endswith("{")] == [
        "struct page {",
        "struct link {",
        "/* typedef count_t */ struct {",
    ]


def test_an_array_of_function_pointers_is_written_as_c_wants_it(tmp_path: Path) -> None:
    text = shown(tmp_path, "struct table { int (*calls[4])(long); } table;", "table")
    assert lines(text)[1].startswith("int                        (*calls[4])(long int); /*     0    32 */")


def test_every_layout_of_a_name_is_shown_with_its_place(tmp_path: Path) -> None:
    first = compiled(tmp_path, "struct twin { int a; } first;", name="first")
    second = compiled(tmp_path, "struct twin { long a, b; } second;", name="second")
    both = tmp_path / "both.o"
    subprocess.run(["ld", "-r", "-o", both, first, second], check=True)
    layouts = read_layouts(both).layouts
    text = render_text(select(layouts, ("twin",)), layouts)
    assert [line for line in lines(text) if line.startswith("/* struct twin")] == [
        "/* struct twin, layout 1 of 2: first.c:1, in 1 compile unit */",
        "/* struct twin, layout 2 of 2: second.c:1, in 1 compile unit */",
    ]


def test_an_alignment_the_producer_did_not_state_is_inferred(tmp_path: Path) -> None:
    source = "struct lone { int a; } __attribute__((aligned(32))) lone; struct pair { int a; struct lone b; } pair;"
    silent = ("-gdwarf-4", "-gstrict-dwarf")
    assert "/* inferred alignments: the whole 32 */" in lines(shown(tmp_path, source, "lone", flags=silent))
    assert "/* inferred alignments: b 32 */" in lines(shown(tmp_path, source, "pair", flags=silent))
    assert "inferred" not in shown(tmp_path, source, "lone", "pair")


ODDITIES = {
    "bit-fields beside a plain member": "struct s { int low:3; int high:7; char last; } s;",
    "a closed storage unit": "struct s { unsigned a:3; unsigned :0; unsigned b:4; long c; } s;",
    "unnamed bits inside a unit": "struct s { unsigned a:3; unsigned :5; unsigned b:4; } s;",
    "bit padding": "struct s { long a; unsigned b:5; } s;",
    "a plain member before the bits of its unit": "struct s { char a; unsigned b:5; } s;",
    "nested anonymous records": "struct s { union { struct { int a; char b; long c; }; long d[9]; }; int e; } s;",
    "padding of a nested struct": "struct s { struct t { long a; char b; } t; int c; } s;",
    "padding of a last struct": "struct s { int c; struct t { long a; char b; } t; } s;",
    "an aligned member": "struct s { int a; int b __attribute__((aligned(64))); } s;",
    "an aligned struct": "struct s { int a; } __attribute__((aligned(32))) s;",
    "a packed struct": "struct s { char a; long b; } __attribute__((packed)) s;",
    "a flexible array": "struct s { int n; struct { long a; } tail[]; } s;",
    "an empty struct": "struct s { } s;",
    "arrays of two dimensions": "struct s { int grid[3][5]; char *names[2]; } s;",
    "function pointers": "struct s { int (*call)(void *, const char *, ...); void (*done)(void); } s;",
    "pointers to const and to pointers": "struct s { const char *a; char **b; const struct t *c; } s;",
    "a volatile member": "struct s { volatile unsigned a; _Bool b; } s;",
    "lines crossed inside a union": "struct s { long a[6]; union { long b[4]; struct { long c[3], d; }; }; int e; } s;",
    "a union by itself": "union s { int a; struct { char b; short c; }; } s;",
    "types whose names are wide": "struct s { unsigned long long name_longer_than_its_column; } s;",
    "enums": "enum kind { A, B }; struct s { enum kind a; enum kind b:2; } s;",
}


@pytest.mark.skipif(shutil.which("pahole") is None, reason="pahole is not installed (Debian package dwarves)")
@pytest.mark.parametrize("source", ODDITIES.values(), ids=ODDITIES.keys())
def test_the_text_is_pahole_s_own(tmp_path: Path, source: str) -> None:
    elf = compiled(tmp_path, source)
    theirs = subprocess.run(["pahole", "-F", "dwarf", "-C", "s", elf], capture_output=True, text=True, check=True)
    layouts = read_layouts(elf).layouts
    assert render_text(select(layouts, ("s",)), layouts) == theirs.stdout
