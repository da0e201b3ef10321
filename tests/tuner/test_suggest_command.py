# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith suggest`` from end to end: a program compiled here, the profile that comes with it, no stand-ins."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from documented import obeys
from linesmith_command import linesmith

from linesmith.analyzer.demo import walkthrough

pytestmark = pytest.mark.xdist_group("suggest-command")


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory with the example program, compiled with debug information, and its profile."""
    directory = walkthrough.unpack(tmp_path_factory.mktemp("example") / "sources")
    walkthrough.build(directory, walkthrough.find_compiler())
    return directory


def suggest(directory: Path, *words: str, profile: str = "bench.c2c") -> str:
    done = linesmith("suggest", "bench", profile, *words, cwd=directory)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def suggested(directory: Path, *words: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(suggest(directory, *words, "--format", "json"))
    return document


@pytest.fixture(scope="module")
def document(example: Path) -> dict[str, Any]:
    """The whole answer."""
    return suggested(example)


def test_the_guard_moves_away_from_what_is_read(document: dict[str, Any]) -> None:
    obeys(document, "suggest")
    first = document["candidates"][0]
    assert [(move["kind"], move["member"]) for move in first["moves"]] == [("move", "guard")]
    assert (first["type"], first["size"], first["lines"]) == ("session_index", 128, 2)
    assert {one["after"] for one in first["residual_phases"] if one["line_bytes"] == 64} == {0}
    judgement = first["judgement"]
    assert judgement["interval"]["high"] < 0
    assert first["recommended"].startswith("Replayed, it saves ")
    assert document["machine"] is None, "a program has no slabs"


def test_one_candidate_is_shown_in_full_by_its_place_and_by_its_name(example: Path, document: dict[str, Any]) -> None:
    name = document["candidates"][0]["name"]
    shown = suggest(example, "--candidate", "1")
    assert f"candidate {name}: " in shown
    assert "\n\nbefore:\n" in shown
    assert suggest(example, "--candidate", name.upper()) == shown


def test_a_kept_answer_is_the_same_in_full(example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert suggest(example, "--candidate", "1") == suggest(example, "--candidate", "1")


def test_output_goes_where_it_was_asked(example: Path, tmp_path: Path) -> None:
    destination = tmp_path / "candidates.json"
    words = ("--kernel", "6.6", "--cpus", "8", "--format", "json", "-o", str(destination))
    assert suggest(example, *words) == ""
    written = json.loads(destination.read_text())
    assert written["schema"] == 4
    machine = written["machine"]
    assert (machine["release"], machine["cpus"], machine["page_bytes"]) == ([6, 6], 8, 4096), "the kernel named"


def test_which_of_two_reports_is_looked_at_is_said(example: Path) -> None:
    (example / "two.c2c").write_text((example / "bench.c2c").read_text() * 2)
    first, second = (suggest(example, *words, profile="two.c2c") for words in ((), ("--section", "2")))
    assert first.startswith("two.c2c (report 1 of 2, --section 2 shows report 2), a perf c2c report ")
    assert second.startswith("two.c2c (report 2 of 2, --section 1 shows report 1), a perf c2c report ")
    assert "Whether the report is of this build is not known: " in " ".join(first.split())


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


def test_facts_of_the_source_and_a_limit_of_growth_are_kept_to(
    example: Path, document: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "facts.toml").write_text(FACTS)
    assert places_of_guard(document) - {16}
    bound = suggested(example, "--type", "session_index", "--constraints", str(tmp_path / "facts.toml"))
    assert places_of_guard(bound) == {16}
    still = suggested(example, "--type", "session_index", "--growth", "0")
    assert {one["size"] for one in still["candidates"]} == {128}


def test_another_configuration_is_asked_as_well(example: Path, tmp_path: Path) -> None:
    larger = walkthrough.unpack(tmp_path / "sources")
    header = larger / "session_index.h"
    header.write_text(header.read_text().replace("  uint64_t created;", "  uint64_t more[3];\n  uint64_t created;"))
    walkthrough.build(larger, walkthrough.find_compiler())
    text = suggest(example, "--full", "--configuration", str(larger / "bench"))
    assert "  - Also legal in bench, where struct session_index has 128 bytes: its size stays.\n" in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--candidate bbbbb", r"there is no candidate bbbbb here; .*candidates: [a-z]{5} \("),
        ("--candidate ٣", "neither the number"),
        (f"--candidate {'9' * 5000}", "neither the number"),
        ("--candidate 0", "neither the number"),
        ("--candidate 1.5", "is neither the number of a candidate, from 1 on, nor its name"),
        ("--constraints facts.toml", "session_indx, which the ELF file does not have; did you mean session_index"),
        ("--type sessio", r"did you mean session, .*found: session_index"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(example: Path, words: str, said: str) -> None:
    (example / "facts.toml").write_text(FACTS.replace("session_index", "session_indx"))
    done = linesmith("suggest", "bench", "bench.c2c", *words.split(), cwd=example)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
    assert re.search(said, done.stderr)


def test_the_command_that_lists_what_is_there_can_be_pasted(example: Path, tmp_path: Path) -> None:
    """With blanks in the names of files, and the options that explain the profile."""
    text = (example / "bench.c2c").read_text().replace("0x4050c0", "0x9950c0")
    (tmp_path / "of others.c2c").write_text(re.sub("(session_index|guard)_[a-z]+", "of_others", text))
    (tmp_path / "my bench").symlink_to(example / "bench")
    files = ("my bench", "of others.c2c")
    said = "see `linesmith hot 'my bench' 'of others.c2c' --section 1`"
    for words in (
        ("hot", *files, "--type", "session_index"),
        ("intent", files[0], "--from", files[1], "session_index"),
    ):
        done = linesmith(*words, "--section", "1", cwd=tmp_path)
        assert said in done.stdout + done.stderr
