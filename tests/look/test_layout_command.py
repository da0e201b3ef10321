# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith layout`` from the outside, where results of commands go, and the schemas of documents."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from c_source import compiled
from documented import obeys, unnamed
from hand_made import struct, table
from linesmith_command import LINESMITH, linesmith

from linesmith.analyzer.base.errors import TypeNotFound
from linesmith.analyzer.layouts.collection import LayoutTable, select
from linesmith.analyzer.layouts.diff import changes, paired
from linesmith.analyzer.layouts.dwarf import read_layouts
from linesmith.analyzer.layouts.gaps import asked_alignments
from linesmith.analyzer.layouts.leaves import flatten, leaves_at
from linesmith.analyzer.layouts.store import IndexedLayouts
from linesmith.analyzer.model import Layout, Member, MemberCategory, RecordKind
from linesmith.analyzer.report import pahole

SOURCES = Path(__file__).with_name("sources")
SOURCE = (SOURCES / "tcp.c").read_text()


@pytest.fixture(scope="module")
def elf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("layout"), SOURCE)


def headings(text: str) -> list[str]:
    return [line.removesuffix(" {") for line in text.splitlines() if line.endswith(" {") and line[0] not in "\t}"]


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        ([], ["struct tcp_info", "struct tcp_sock", "struct udp_sock", "union tcp_word"]),
        (["tcp_sock"], ["struct tcp_sock"]),
        (["struct tcp_sock"], ["struct tcp_sock"]),
        (["tcp_count"], ["tcp_count"]),
        (["tcp_*"], ["struct tcp_info", "struct tcp_sock", "tcp_count", "union tcp_word"]),
        (["union *"], ["union tcp_word"]),
        (["tcp_sock", "tcp_s*"], ["struct tcp_sock"]),
    ],
)
def test_names_keywords_typedefs_and_patterns_choose_records(elf: Path, names: list[str], shown: list[str]) -> None:
    done = linesmith("layout", elf, *names)
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(headings(done.stdout)) == shown


@pytest.mark.parametrize(
    ("names", "wanted", "offered"),
    [
        (["session_index", "worker"], "sesion_index", "did you mean session_index?"),
        (["queue", "worker"], "mutex", "it has queue, worker"),
        ([f"r{n}" for n in range(99)], "mutex", "a pattern such as 'tcp_*' lists types"),
        ([], "mutex", "it has none at all"),
        (["queue"], "struct", "quote both words, as in 'struct name'"),
    ],
)
def test_what_is_offered_depends_on_what_there_is(names: list[str], wanted: str, offered: str) -> None:
    with pytest.raises(TypeNotFound) as raised:
        select(table(*map(struct, names)), (wanted,))
    assert str(raised.value).partition("; ")[2].startswith(offered)


def test_json_has_gaps_lines_and_paths(elf: Path) -> None:
    document = json.loads(linesmith("layout", elf, "udp_sock", "tcp_sock", "--format", "json").stdout)
    assert (document["schema"], document["reader"]) == (1, "DWARF")
    udp, tcp = sorted(document["records"], key=lambda one: one["title"], reverse=True)
    assert (udp["title"], udp["size"], udp["lines"]) == ("struct udp_sock", 32, 1)
    assert [f"{path['path']} {path['offset']} {path['size']}" for path in udp["paths"]] == [
        *("inner.sent 0 4", "inner.queued 8 8", "inner.ready 16 4", "inner.error 16 4", "count 24 8")
    ]
    error = tcp["members"][-1]
    assert (error["name"], error["bit_offset"], error["bit_size"]) == ("error", 129, 3)
    assert (tcp["padding"], tcp["bit_padding"]) == (4, 28)
    assert tcp["holes"] == [{"offset": 4, "size": 4, "after": "sent"}]


def test_the_result_goes_where_o_says(elf: Path, tmp_path: Path) -> None:
    done = linesmith("layout", elf, "tcp_info", "-o", tmp_path / "layout.txt")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert headings((tmp_path / "layout.txt").read_text()) == ["struct tcp_info"]


def test_a_reader_that_has_seen_enough_is_no_error(tmp_path: Path) -> None:
    many = "".join(f"struct wide{number} {{ long member; }} wide{number};" for number in range(2000))
    pipe = f"set -o pipefail; {LINESMITH} layout {compiled(tmp_path, many)} | head -1"
    done = subprocess.run(["bash", "-c", pipe], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("struct wide0 {\n", "")


# Where results go: what a slip of -o must not destroy, outputs that cannot be written, names of any bytes


def test_a_patch_kept_in_the_tree_is_replaced_by_the_next(example: Path, tmp_path: Path) -> None:
    tree = Path(shutil.copytree(example, tmp_path / "tree"))
    kept = tree / "guard.patch"
    kept.write_text("of yesterday")
    done = linesmith("patch", tree / "bench", tree / "bench.c2c", "--tree", tree, "--dry-run", "-o", kept)
    assert done.returncode == 0, done.stderr
    assert "diff --git" in kept.read_text()


@pytest.mark.parametrize("words", [("--version",), ("hot", "bench", "bench.c2c")])
def test_a_full_disk_behind_standard_output_is_one_sentence(example: Path, words: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        command = [str(LINESMITH), *words]
        done = subprocess.run(command, cwd=example, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert (
        done.stderr
        == "linesmith: standard output: No space left on device; free space there or change its permissions\n"
    )


def test_a_profile_comes_from_standard_input(example: Path) -> None:
    done = linesmith("hot", "bench", "-", "--line", "0", cwd=example, stdin=(example / "bench.c2c").read_text())
    assert done.returncode == 0, done.stderr
    assert "object    session_index" in done.stdout


def test_the_name_of_a_profile_may_be_no_utf8(example: Path, tmp_path: Path) -> None:
    name = tmp_path / os.fsdecode(b"r\xff.c2c")
    shutil.copy(example / "bench.c2c", name)
    done = linesmith("hot", example / "bench", name, "--format", "json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["source"].endswith(r"r\xff.c2c")


def test_the_next_command_explains_the_profile_in_the_same_way(example: Path) -> None:
    files, how = ("bench", "bench.c2c"), ("--by-symbol", "--section", "1")
    shown = " ".join(linesmith("hot", *files, *how, cwd=example).stdout.split())
    assert "next: linesmith suggest bench bench.c2c --section 1 --by-symbol --type session_index" in shown
    shown = " ".join(linesmith("suggest", *files, *how, "--cpus", "8", cwd=example).stdout.split())
    assert "linesmith patch bench bench.c2c --section 1 --by-symbol --cpus 8 --type session_index" in shown


# The JSON documents obey their schemas, and the pages about them tell the truth

OLD = (
    "struct s { int a; unsigned b:3; union { long c; struct { char d; int e; } f[2]; }; } s; struct gone { int x; } g;"
)
NEW = "struct s { long a; unsigned b:5; union { long c; struct { char d; int e; } f[3]; }; } s;"


@pytest.mark.parametrize("name", ["layout", "diff", "access", "slab", "report"])
def test_the_page_of_a_schema_names_every_field(name: str) -> None:
    assert unnamed(name) == []


def test_documents_obey_their_schemas(tmp_path: Path) -> None:
    old, new = compiled(tmp_path, OLD, name="old"), compiled(tmp_path, NEW, name="new")
    layout = linesmith("layout", old, "--format", "json", cache=tmp_path / "cache")
    obeys(json.loads(layout.stdout), "layout")
    diff = linesmith("diff", old, new, "--format", "json", cache=tmp_path / "cache")
    obeys(json.loads(diff.stdout), "diff")


# How a layout looks and what a change did to layouts: the style of pahole, and pahole's own text


STYLE = (SOURCES / "style.c").read_text()


@pytest.fixture(scope="module")
def layouts(tmp_path_factory: pytest.TempPathFactory) -> IndexedLayouts:
    return read_layouts(compiled(tmp_path_factory.mktemp("style"), STYLE)).layouts


def shown(layouts: IndexedLayouts, *wanted: str, expand: bool = False) -> str:
    return pahole.render_text(select(layouts, wanted), layouts, expand)


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines()]


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

BEFORE = (SOURCES / "before.c").read_text()
AFTER = (SOURCES / "after.c").read_text()
EXPECTED = (SOURCES / "difference.txt").read_text()


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("builds")
    return compiled(folder, BEFORE, name="old"), compiled(folder, AFTER, name="new")


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
