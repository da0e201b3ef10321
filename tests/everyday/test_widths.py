# SPDX-License-Identifier: GPL-2.0-or-later
"""Text is as wide as the terminal, and in a file or a pipe as wide as is good to read."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from linesmith_command import LINESMITH

from linesmith.analyzer.demo import program

COMMANDS = (("hot", "bench", "bench.c2c"), ("suggest", "bench", "bench.c2c"), ("access", "bench", "--type", "session"))


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the example program ``bench`` and its profile ``bench.c2c``."""
    folder = program.unpack(tmp_path_factory.mktemp("example") / "sources")
    program.build(folder, program.find_compiler())
    return folder


def shown(example: Path, *arguments: str, columns: int | None = None) -> str:
    """What the command prints into a pipe, for a terminal of so many columns where they are said."""
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    environment |= {"COLUMNS": str(columns)} if columns else {}
    environment["LINESMITH_CACHE_DIR"] = str(example / "cache")
    done = subprocess.run(
        [LINESMITH, *arguments], capture_output=True, text=True, check=True, cwd=example, env=environment
    )
    return done.stdout


def widest(text: str) -> int:
    """Columns of the longest line that is neither C nor begins with a file: these are as wide as they are."""
    return max(len(line) for line in text.splitlines() if "/*" not in line and not line.startswith("bench"))


@pytest.mark.parametrize("arguments", COMMANDS)
@pytest.mark.parametrize("columns", [60, 80])
def test_no_line_is_wider_than_the_terminal(example: Path, arguments: tuple[str, ...], columns: int) -> None:
    assert widest(shown(example, *arguments, columns=columns)) <= columns


@pytest.mark.parametrize("arguments", COMMANDS)
def test_a_pipe_gets_what_a_terminal_of_100_columns_gets(example: Path, arguments: tuple[str, ...]) -> None:
    piped = shown(example, *arguments)
    assert widest(piped) <= 100
    assert piped == shown(example, *arguments, columns=100)


def test_a_narrow_terminal_loses_nothing(example: Path) -> None:
    wide, narrow = (shown(example, "hot", "bench", "bench.c2c", columns=columns) for columns in (120, 60))
    assert narrow.split() == wide.split()


def test_in_a_narrow_terminal_steps_stand_below_each_access(example: Path) -> None:
    text = shown(example, "suggest", "bench", "bench.c2c", columns=80)
    assert "  B  session_index_find reads root\n     now  " in text
