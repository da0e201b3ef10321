# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith layout`` from the outside, where results of commands go, and the schemas of documents."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from c_source import compiled
from documented import obeys, unnamed
from hand_made import struct, table
from linesmith_command import LINESMITH, linesmith

from linesmith.analyzer.base.errors import TypeNotFound
from linesmith.analyzer.demo import program
from linesmith.analyzer.layouts.collection import select

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


def test_help_says_what_a_command_does_in_a_whole_sentence() -> None:
    shown = " ".join(linesmith("--help").stdout.split())
    assert "Read the layouts of ELF files into the cache, so that later commands start faster." in shown


# Where results go: what a slip of -o must not destroy, outputs that cannot be written, names of any bytes


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory with the example program, compiled with debug information, and its profile."""
    directory = program.unpack(tmp_path_factory.mktemp("example") / "sources")
    program.build(directory, program.find_compiler())
    return directory


def test_a_patch_kept_in_the_tree_is_replaced_by_the_next(example: Path) -> None:
    kept = example / "guard.patch"
    kept.write_text("of yesterday")
    done = linesmith("patch", example / "bench", example / "bench.c2c", "--tree", example, "--dry-run", "-o", kept)
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
