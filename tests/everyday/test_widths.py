# SPDX-License-Identifier: GPL-2.0-or-later
"""Text is as wide as the terminal, and in a file or a pipe as wide as is good to read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from linesmith_command import linesmith

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
    done = linesmith(*arguments, cwd=example, env=environment, cache=example / "cache")
    assert done.returncode == 0, done.stderr
    return done.stdout


def widest(text: str) -> int:
    """Columns of the longest line that is neither C nor begins with a file: these are as wide as they are."""
    return max(len(line) for line in text.splitlines() if "/*" not in line and not line.startswith("bench"))


@pytest.mark.parametrize("arguments", COMMANDS)
def test_no_line_is_wider_than_the_terminal_or_than_100_columns_in_a_pipe(
    example: Path, arguments: tuple[str, ...]
) -> None:
    assert widest(shown(example, *arguments, columns=60)) <= 60
    assert widest(shown(example, *arguments)) <= 100


def test_a_narrow_terminal_loses_nothing(example: Path) -> None:
    words = ("hot", "bench", "bench.c2c", "--line", "0")
    wide, narrow = (shown(example, *words, columns=columns) for columns in (120, 60))
    assert narrow.split() == wide.split()
