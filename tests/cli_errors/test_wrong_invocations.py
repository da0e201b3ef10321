# SPDX-License-Identifier: GPL-2.0-or-later
"""Command lines as somebody tries them who is new to it: each ends in one sentence that says what to do next."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cli_errors.transcripts import commands, run, split
from cli_errors.workplace import furnish

# What is wrong, and behind the semicolon the next step; a question what was meant is one, too.
SENTENCE = re.compile(r"linesmith[a-z -]*: [^\n]+; [^\n]+\n")


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return furnish(tmp_path_factory.mktemp("first-time").resolve() / "work")


@pytest.mark.parametrize("transcript", commands(), ids=lambda path: path.stem)
def test_a_wrong_command_line_says_what_to_do(workplace: Path, transcript: Path) -> None:
    line, expected = split(transcript)
    before = sorted(workplace.rglob("*"))

    done = run(line, workplace)

    assert done.stderr == expected
    assert SENTENCE.fullmatch(expected)
    assert (done.returncode, done.stdout) == (2, "")
    assert sorted(workplace.rglob("*")) == before


def test_an_error_is_one_line_where_nothing_is_kept_yet(workplace: Path, tmp_path: Path) -> None:
    done = run(f"LINESMITH_CACHE_DIR={tmp_path} linesmith patch bench bench.c2c --tree folder", workplace)
    assert SENTENCE.fullmatch(done.stderr), done.stderr
