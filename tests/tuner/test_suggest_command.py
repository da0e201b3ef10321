# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith suggest`` from end to end: a program compiled here, the profile that comes with it, no stand-ins."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

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
    start = [sys.executable, "-c", "from linesmith.analyzer.cli import main; main()", "suggest"]
    return subprocess.run(
        [*start, *words],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=120,
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


def test_text_tells_the_change_first(example: Path) -> None:
    done = suggest(example, "bench", "bench.c2c", "--limit", "1")
    assert done.returncode == 0
    assert "candidate 1: move guard behind" in done.stdout
    assert "candidate 2" not in done.stdout


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
    subprocess.run(["strip", "-o", bare, example / "bench"], check=True, timeout=60)
    assert "bare" in refused(example, "bare", "bench.c2c")


def test_a_section_that_is_not_there_is_refused(example: Path) -> None:
    assert "--section 7" in refused(example, "bench", "bench.c2c", "--section", "7")


def test_an_output_that_cannot_be_written_is_refused(example: Path) -> None:
    assert "cannot write" in refused(example, "bench", "bench.c2c", "-o", "missing/candidates.txt")
