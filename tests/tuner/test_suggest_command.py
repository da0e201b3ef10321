# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith suggest`` from end to end: a program compiled here, the profile that comes with it, no stand-ins."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from linesmith.analyzer.demo import program
from linesmith.analyzer.report import suggest_json


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory with the example program, compiled with debug information, and its profile."""
    directory = program.unpack(tmp_path_factory.mktemp("example") / "sources")
    program.build(directory, program.find_compiler())
    return directory


def suggest(directory: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The command, run in ``directory`` as a user would."""
    return linesmith(directory, "suggest", *words)


def linesmith(directory: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Any command, run so."""
    start = [sys.executable, "-c", "from linesmith.analyzer.cli import main; main()"]
    return subprocess.run(
        [*start, *words],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def refused(directory: Path, *words: str) -> str:
    """What the command says when it ends with status 2: one line, and nothing on standard output."""
    done = suggest(directory, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
    return done.stderr


def test_the_guard_moves_away_from_what_is_read(example: Path) -> None:
    document = json.loads(suggest(example, "bench", "bench.c2c", "--format", "json").stdout)
    jsonschema.validate(document, suggest_json.schema())
    first = document["candidates"][0]
    assert [(move["kind"], move["member"]) for move in first["moves"]] == [("move", "guard")]
    assert (first["type"], first["size"], first["lines"]) == ("session_index", 128, 2)
    assert {one["after"] for one in first["residual_phases"] if one["line_bytes"] == 64} == {0}
    assert first["predicted"]["after"] == 0 < first["predicted"]["before"]


def test_text_tells_what_is_recommended_first(example: Path) -> None:
    done = suggest(example, "bench", "bench.c2c", "--type", "session_index")
    assert done.returncode == 0
    blocks = done.stdout.split("\n\n")
    assert blocks[1].startswith("line 0, struct session_index: false sharing")
    assert re.match(r"recommended: candidate [a-z]{5}: move guard behind", blocks[2])
    assert blocks[3].startswith("why: ")


def test_a_limit_cuts_the_list(example: Path) -> None:
    words = ("bench", "bench.c2c", "--format", "json")
    every, first = (json.loads(suggest(example, *words, *more).stdout)["candidates"] for more in ((), ("--limit", "1")))
    assert first == every[:1] != []


def test_one_candidate_is_shown_in_full_by_its_place_and_by_its_name(example: Path) -> None:
    first = json.loads(suggest(example, "bench", "bench.c2c", "--format", "json").stdout)["candidates"][0]
    shown = suggest(example, "bench", "bench.c2c", "--candidate", "1").stdout
    assert f"candidate {first['name']}: " in shown
    assert "\n\nbefore:\n" in shown
    assert suggest(example, "bench", "bench.c2c", "--candidate", first["name"].upper()).stdout == shown


def test_a_name_that_no_candidate_has_is_refused_with_those_there_are(example: Path) -> None:
    first = json.loads(suggest(example, "bench", "bench.c2c", "--format", "json").stdout)["candidates"][0]
    said = refused(example, "bench", "bench.c2c", "--candidate", "other")
    assert said.startswith("linesmith: no candidate is called other here; ")
    assert f"there are: {first['name']} (move guard behind" in said
    for no_choice in ("0", "-1", "1.5", "a-b"):
        told = refused(example, "bench", "bench.c2c", "--candidate", no_choice)
        assert "is neither the number of a candidate, from 1 on, nor its name" in told


def test_a_number_beyond_the_candidates_is_refused(example: Path) -> None:
    assert "so there is no --candidate 99; see `linesmith suggest`" in refused(
        example, "bench", "bench.c2c", "--candidate", "99"
    )


FACTS = """\
[[session_index]]
offset = ["guard"]
reason = "the assembly of the renewal knows it"
place = "renew.S:12"
"""


def places_of_guard(document: dict[str, Any]) -> set[int]:
    """The bytes at which the candidates put the member."""
    members = (member for one in document["candidates"] for member in one["after"]["members"])
    return {member["offset"] for member in members if member["name"] == "guard"}


def test_facts_of_the_source_are_kept_to(example: Path, tmp_path: Path) -> None:
    (tmp_path / "facts.toml").write_text(FACTS)
    words = ("bench", "bench.c2c", "--type", "session_index", "--format", "json")
    free, bound = (
        json.loads(suggest(example, *words, *more).stdout)
        for more in ((), ("--constraints", str(tmp_path / "facts.toml")))
    )
    assert places_of_guard(free) - {16}
    assert places_of_guard(bound) == {16}


def test_facts_of_what_is_not_there_are_refused(example: Path, tmp_path: Path) -> None:
    (tmp_path / "facts.toml").write_text(FACTS.replace("session_index", "session_indx"))
    message = refused(example, "bench", "bench.c2c", "--constraints", str(tmp_path / "facts.toml"))
    assert "session_indx, which the ELF file does not have; did you mean session_index" in message


def test_another_configuration_is_asked_as_well(example: Path, tmp_path: Path) -> None:
    larger = program.unpack(tmp_path / "sources")
    header = larger / "session_index.h"
    header.write_text(header.read_text().replace("  uint64_t created;", "  uint64_t more[3];\n  uint64_t created;"))
    program.build(larger, program.find_compiler())
    words = ("bench", "bench.c2c", "--type", "session_index", "--configuration", str(larger / "bench"))
    assert (
        "  - Also legal in bench, where struct session_index has 128 bytes: its size stays.\n"
        in suggest(example, *words).stdout
    )


def test_a_limit_of_growth_holds_for_all_candidates(example: Path) -> None:
    words = ("bench", "bench.c2c", "--type", "session_index", "--format", "json", "--growth", "0")
    sizes = {one["size"] for one in json.loads(suggest(example, *words).stdout)["candidates"]}
    assert max(sizes) <= 128


def test_a_program_has_no_slabs_unless_a_kernel_is_named(example: Path) -> None:
    words = ("bench", "bench.c2c", "--format", "json")
    program, kernel = (
        json.loads(suggest(example, *words, *more).stdout)["machine"]
        for more in ((), ("--kernel", "6.6", "--cpus", "8"))
    )
    assert program is None
    assert (kernel["release"], kernel["cpus"], kernel["page_bytes"]) == ([6, 6], 8, 4096)


def test_the_recommended_candidate_is_the_one_that_patch_takes(example: Path) -> None:
    document = json.loads(suggest(example, "bench", "bench.c2c", "--format", "json").stdout)
    chosen = next(one for one in document["candidates"] if one["recommended"])
    words = ("bench", "bench.c2c", "--tree", ".", "--cflags=-std=c11", "--format", "json")
    taken = json.loads(linesmith(example, "patch", *words).stdout)
    assert (taken["candidate"], taken["name"]) == (chosen["number"], chosen["name"])


def test_output_goes_where_it_was_asked(example: Path, tmp_path: Path) -> None:
    destination = tmp_path / "candidates.json"
    done = suggest(example, "bench", "bench.c2c", "--format", "json", "-o", str(destination))
    assert (done.returncode, done.stdout) == (0, "")
    assert json.loads(destination.read_text())["schema"] == 1


def test_a_type_narrows_with_and_without_the_keyword(example: Path) -> None:
    named = [
        suggest(example, "bench", "bench.c2c", "--type", name).stdout
        for name in ("session_index", "struct session_index")
    ]
    assert named[0] == named[1] != ""


def test_a_type_that_no_line_holds_is_said_with_what_was_found(example: Path) -> None:
    message = refused(example, "bench", "bench.c2c", "--type", "session")
    assert "session" in message
    assert "found: session_index" in message


def test_a_foreign_profile_is_refused(example: Path) -> None:
    assert "guard.c is no profile" in refused(example, "bench", "guard.c")


def test_an_elf_without_debug_information_is_refused(example: Path) -> None:
    bare = example / "bare"
    subprocess.run(["strip", "-o", bare, example / "bench"], check=True, timeout=300)
    assert "bare" in refused(example, "bare", "bench.c2c")


def test_a_section_that_is_not_there_is_refused(example: Path) -> None:
    assert "--section 7" in refused(example, "bench", "bench.c2c", "--section", "7")


def test_an_output_that_cannot_be_written_is_refused(example: Path) -> None:
    assert "cannot write" in refused(example, "bench", "bench.c2c", "-o", "missing/candidates.txt")
