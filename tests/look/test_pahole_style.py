# SPDX-License-Identifier: GPL-2.0-or-later
"""How a layout looks and what a change did to layouts: the style of pahole, and pahole's own text."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from c_source import compiled
from linesmith_command import linesmith

from linesmith.analyzer.layouts.alignment import asked_alignments
from linesmith.analyzer.layouts.collection import LayoutTable, select
from linesmith.analyzer.layouts.diff import changes, paired
from linesmith.analyzer.layouts.dwarf import read_layouts
from linesmith.analyzer.layouts.leaves import flatten, leaves_at
from linesmith.analyzer.layouts.store import IndexedLayouts
from linesmith.analyzer.model import Layout, Member, MemberCategory, RecordKind
from linesmith.analyzer.report import pahole

SOURCES = Path(__file__).with_name("sources")
SOURCE = (SOURCES / "style.c").read_text()


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


# What a change did to layouts, read from two compiled files

OLD = (SOURCES / "before.c").read_text()
NEW = (SOURCES / "after.c").read_text()
EXPECTED = (SOURCES / "difference.txt").read_text()


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("builds")
    return compiled(folder, OLD, name="old"), compiled(folder, NEW, name="new")


def difference(builds: tuple[Path, Path], *arguments: str) -> tuple[int, str]:
    done = linesmith("diff", *builds, *arguments)
    assert done.stderr == ""
    return done.returncode, done.stdout


def test_what_a_change_did_to_each_record(builds: tuple[Path, Path]) -> None:
    assert difference(builds) == (1, EXPECTED)


def test_types_and_patterns_narrow_the_comparison(builds: tuple[Path, Path]) -> None:
    assert difference(builds, "same") == (0, "no layout differs\n")
    status, text = difference(builds, "struct sw*")
    assert (status, text.partition(":")[0], text in EXPECTED) == (1, "struct swapped", True)


def test_json_carries_both_sides(builds: tuple[Path, Path]) -> None:
    status, text = difference(builds, "swapped", "--format", "json")
    (record,) = json.loads(text)["records"]
    assert (status, record["old"]["padding"], record["new"]["padding"]) == (1, 0, 4)
    moved = [(one["path"], one["old"]["offset"], one["new"]["offset"]) for one in record["members"]]
    assert moved == [("b", 8, 0), ("a", 0, 8)]
    assert record["holes"] == [{"after": "a", "old": 4, "new": 0}]


@pytest.mark.skipif(shutil.which("pahole") is None, reason="pahole is not installed (Debian package dwarves)")
def test_btf_and_dwarf_of_one_file_are_no_difference(tmp_path: Path) -> None:
    elf = compiled(tmp_path, "struct s { int a:3; union { long b; char c[9]; }; } __attribute__((aligned(64))) s;")
    btf = tmp_path / "subject.btf"
    subprocess.run(["pahole", f"--btf_encode_detached={btf}", elf], check=True)
    assert linesmith("diff", btf, elf).stdout == "no layout differs\n"


def test_a_type_that_neither_file_has_is_an_error(builds: tuple[Path, Path]) -> None:
    done = linesmith("diff", *builds, "swapd")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("did you mean swapped?\n")


# Damaged debug information may nest records without end; what follows nesting ends all the same

LONG = Member("x", "long", "x", 0, 8)
WORDS = (Member("x", "int", "x", 0, 4), Member("y", "int", "y", 4, 4))


def record(number: int, size: int, *members: Member) -> Layout:
    return Layout(number, "", RecordKind.STRUCT, size, members)


def held(number: int) -> Member:
    return Member("", "struct", "", 0, 8, category=MemberCategory.RECORD, record=number)


NESTINGS = {
    "two records that hold each other": [record(number, 8, held(1 - number)) for number in (0, 1)],
    "sixty records, each of which holds the one below twice": [
        record(0, 8, *WORDS),
        *(record(number, 8, held(number - 1), held(number - 1)) for number in range(1, 60)),
    ],
    "the same over a record without members": [
        record(0, 0),
        *(record(number, 0, held(number - 1), held(number - 1)) for number in range(1, 60)),
    ],
    "two thousand records, one in the other": [
        record(0, 8, LONG),
        *(record(number, 8, held(number - 1)) for number in range(1, 2000)),
    ],
}
SLOW = "the same over a record without members"


@pytest.mark.parametrize(
    "nesting", [pytest.param(name, marks=[pytest.mark.study] if name == SLOW else []) for name in NESTINGS]
)
def test_nesting_comes_to_an_end(nesting: str) -> None:
    table = LayoutTable(NESTINGS[nesting])
    outermost = NESTINGS[nesting][-1]
    assert pahole.render_text((outermost,), table, expand=True).count("}") < 1 << 17
    assert len(flatten(outermost, table)) <= 1 << 16
    assert len(leaves_at(outermost, table, 0)) <= 1 << 16
    assert changes(table, table, paired((outermost,), (outermost,))) == ()
    assert len(list(asked_alignments(outermost, table))) <= 1 << 17
