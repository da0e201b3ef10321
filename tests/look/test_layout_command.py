# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith layout`` from the outside: names and patterns, JSON, errors, and where the result goes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from c_source import compiled
from linesmith_command import LINESMITH, linesmith

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


def shown(elf: Path, *arguments: str) -> list[str]:
    done = linesmith("layout", elf, *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return headings(done.stdout)


def test_without_a_type_every_tagged_record_is_shown(elf: Path) -> None:
    assert set(shown(elf)) == {"struct tcp_sock", "struct tcp_info", "union tcp_word", "struct udp_sock"}


def test_a_name_may_carry_its_keyword(elf: Path) -> None:
    assert shown(elf, "tcp_sock") == shown(elf, "struct tcp_sock") == ["struct tcp_sock"]


def test_a_typedef_of_an_anonymous_record_is_a_name(elf: Path) -> None:
    assert shown(elf, "tcp_count") == ["tcp_count"]


def test_a_pattern_names_all_that_match(elf: Path) -> None:
    assert shown(elf, "tcp_*") == ["tcp_count", "struct tcp_info", "struct tcp_sock", "union tcp_word"]
    assert shown(elf, "union *") == ["union tcp_word"]


def test_a_record_named_twice_is_shown_once(elf: Path) -> None:
    assert shown(elf, "tcp_sock", "tcp_s*") == ["struct tcp_sock"]


@pytest.mark.parametrize("wanted", ["tcp_sok", "struct tcp_sok", "union tcp_sock"])
def test_an_unknown_type_offers_near_names(elf: Path, wanted: str) -> None:
    done = linesmith("layout", elf, wanted)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"linesmith: no struct or union is called '{wanted}'")
    assert "tcp_sock" in done.stderr
    assert done.stderr.count("\n") == 1


def test_json_tells_gaps_lines_and_paths(elf: Path) -> None:
    done = linesmith("layout", elf, "udp_sock", "--format", "json")
    document = json.loads(done.stdout)
    (record,) = document["records"]
    assert (document["schema"], document["reader"]) == (1, "DWARF")
    assert (record["title"], record["size"], record["lines"]) == ("struct udp_sock", 32, 1)
    assert [(path["path"], path["offset"], path["size"]) for path in record["paths"]] == [
        ("inner.sent", 0, 4),
        ("inner.queued", 8, 8),
        ("inner.ready", 16, 4),
        ("inner.error", 16, 4),
        ("count", 24, 8),
    ]


def test_json_places_bit_fields_by_bit(elf: Path) -> None:
    (record,) = json.loads(linesmith("layout", elf, "tcp_sock", "--format", "json").stdout)["records"]
    error = record["members"][-1]
    assert (error["name"], error["bit_offset"], error["bit_size"]) == ("error", 129, 3)
    assert (record["padding"], record["bit_padding"]) == (4, 28)
    assert record["holes"] == [{"offset": 4, "size": 4, "after": "sent"}]


def test_the_result_goes_where_o_says(elf: Path, tmp_path: Path) -> None:
    chosen = tmp_path / "layout.txt"
    done = linesmith("layout", elf, "tcp_info", "-o", chosen)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert headings(chosen.read_text()) == ["struct tcp_info"]


def test_a_place_that_cannot_be_written_is_an_error(elf: Path, tmp_path: Path) -> None:
    done = linesmith("layout", elf, "tcp_info", "-o", tmp_path / "absent" / "layout.txt")
    assert done.returncode == 2
    assert done.stderr.startswith("linesmith: cannot write ")


def test_the_elf_itself_is_never_overwritten(elf: Path) -> None:
    before = elf.read_bytes()
    done = linesmith("layout", elf, "tcp_info", "-o", elf)
    assert (done.returncode, elf.read_bytes()) == (2, before)
    assert "stays as it is" in done.stderr


def test_an_elf_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    done = linesmith("layout", tmp_path / "absent.o")
    assert done.returncode == 2
    assert "does not exist" in done.stderr


def test_a_reader_that_has_seen_enough_is_no_error(tmp_path: Path) -> None:
    many = "".join(f"struct wide{number} {{ long member; }} wide{number};" for number in range(2000))
    pipe = f"set -o pipefail; {LINESMITH} layout {compiled(tmp_path, many)} | head -1"
    done = subprocess.run(["bash", "-c", pipe], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("struct wide0 {\n", "")
