# SPDX-License-Identifier: GPL-2.0-or-later
"""How a layout looks: the style of pahole, and pahole's own text where it is installed."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from c_source import compiled

from linesmith.analyzer.layouts.collection import select
from linesmith.analyzer.layouts.dwarf import read_layouts
from linesmith.analyzer.layouts.store import IndexedLayouts
from linesmith.analyzer.report import pahole

SOURCE = """
struct pair { int first; long second[2]; } pair;
struct wide { char name[56]; long at[2]; int tail; } wide;
struct light { enum { RED, GREEN = 5 } colour; } light;
typedef struct { int counter; } count_t;
struct page { struct link { void *next; } lru; count_t uses; } page;
struct table { int (*calls[4])(long); } table;
"""


@pytest.fixture(scope="module")
def layouts(tmp_path_factory: pytest.TempPathFactory) -> IndexedLayouts:
    return read_layouts(compiled(tmp_path_factory.mktemp("style"), SOURCE)).layouts


def shown(layouts: IndexedLayouts, *wanted: str, expand: bool = False) -> str:
    return pahole.render_text(select(layouts, wanted), layouts, expand)


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines()]


def test_members_stand_in_columns_with_offset_and_size(layouts: IndexedLayouts) -> None:
    assert shown(layouts, "pair") == (
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


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("wide", ["/* --- cacheline 1 boundary (64 bytes) was 8 bytes ago --- */"]),
        ("light", ["enum {", "RED   = 0,", "GREEN = 5,", f"{'} colour;':49}/*     0     4 */"]),
        ("table", ["int                        (*calls[4])(long int); /*     0    32 */"]),
    ],
)
def test_lines_of_a_record(layouts: IndexedLayouts, name: str, expected: list[str]) -> None:
    assert [line for line in lines(shown(layouts, name)) if line in expected] == expected


def test_expanding_writes_named_records_out_and_keeps_the_typedef_in_a_comment(layouts: IndexedLayouts) -> None:
    opened = [line for line in lines(shown(layouts, "page", expand=True)) if line.endswith("{")]
    assert opened == ["struct page {", "struct link {", "/* typedef count_t */ struct {"]


def test_every_layout_of_a_name_is_shown_with_its_place(tmp_path: Path) -> None:
    first = compiled(tmp_path, "struct twin { int a; } first;", name="first")
    second = compiled(tmp_path, "struct twin { long a, b; } second;", name="second")
    both = tmp_path / "both.o"
    subprocess.run(["ld", "-r", "-o", both, first, second], check=True)
    layouts = read_layouts(both).layouts
    text = pahole.render_text(select(layouts, ("twin",)), layouts)
    assert [line for line in lines(text) if line.startswith("/* struct twin")] == [
        "/* struct twin, layout 1 of 2: first.c:1, in 1 compile unit */",
        "/* struct twin, layout 2 of 2: second.c:1, in 1 compile unit */",
    ]


def test_an_alignment_the_producer_did_not_state_is_inferred(tmp_path: Path) -> None:
    source = "struct lone { int a; } __attribute__((aligned(32))) lone; struct pair { int a; struct lone b; } pair;"
    silent = read_layouts(compiled(tmp_path, source, "-gdwarf-4", "-gstrict-dwarf", name="silent")).layouts
    assert "/* inferred alignments: the whole 32 */" in lines(shown(silent, "lone"))
    assert "/* inferred alignments: b 32 */" in lines(shown(silent, "pair"))
    assert "inferred" not in shown(read_layouts(compiled(tmp_path, source)).layouts, "lone", "pair")


# Each record is one oddity.
SOURCES = Path(__file__).with_name("sources")
ODDITIES = (SOURCES / "oddities.c").read_text()


@pytest.fixture(scope="module")
def oddities(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("oddities"), ODDITIES)


@pytest.mark.skipif(shutil.which("pahole") is None, reason="pahole is not installed (Debian package dwarves)")
@pytest.mark.parametrize("name", re.findall(r"^(?:struct|union) (\w+)", ODDITIES, re.MULTILINE))
def test_the_text_is_pahole_s_own(oddities: Path, name: str) -> None:
    command = ["pahole", "-F", "dwarf", "-C", name, str(oddities)]
    theirs = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert theirs
    assert shown(read_layouts(oddities).layouts, name) == theirs
