# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith layout`` from the outside: names and patterns, JSON, errors, and where the result goes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from c_source import compiled
from hand_made import struct, table
from linesmith_command import LINESMITH, linesmith

from linesmith.analyzer.base.errors import TypeNotFound
from linesmith.analyzer.layouts.collection import select

SOURCE = """
struct tcp_sock { int sent; long queued; unsigned ready:1, error:3; } tcp_sock;
struct tcp_info { char state; } tcp_info;
union tcp_word { int flags; } tcp_word;
typedef struct { long counter; } tcp_count;
tcp_count count;
struct udp_sock { struct tcp_sock inner; tcp_count count; } udp_sock;
"""


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


@pytest.mark.parametrize("wanted", ["tcp_sok", "struct tcp_sok", "union tcp_sock"])
def test_an_unknown_type_offers_near_names(elf: Path, wanted: str) -> None:
    done = linesmith("layout", elf, wanted)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(f"linesmith: no type '{wanted}'")
    assert "tcp_sock" in done.stderr


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


def test_files_that_cannot_be_read_or_written_are_errors(elf: Path, tmp_path: Path) -> None:
    before = elf.read_bytes()
    for words, said in (
        ((elf, "-o", tmp_path / "absent" / "layout.txt"), "linesmith: cannot write "),
        ((elf, "-o", elf), "is not replaced; name another file with -o"),
        ((tmp_path / "absent.o",), "does not exist"),
    ):
        done = linesmith("layout", *words)
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr
    assert elf.read_bytes() == before


def test_a_reader_that_has_seen_enough_is_no_error(tmp_path: Path) -> None:
    many = "".join(f"struct wide{number} {{ long member; }} wide{number};" for number in range(2000))
    pipe = f"set -o pipefail; {LINESMITH} layout {compiled(tmp_path, many)} | head -1"
    done = subprocess.run(["bash", "-c", pipe], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("struct wide0 {\n", "")


def test_help_says_what_a_command_does_in_a_whole_sentence() -> None:
    shown = " ".join(linesmith("--help").stdout.split())
    assert "Read the layouts of ELF files into the cache, so that later commands start faster." in shown
