# SPDX-License-Identifier: GPL-2.0-or-later
"""The README's ``console`` blocks are run, in order and in one place, and must print what they show.

A line ``[...]`` in the shown output stands for any number of lines.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from linesmith.analyzer.demo import program

README = Path(__file__).resolve().parents[2] / "README.md"


@dataclass(frozen=True)
class Shown:
    command: str
    output: str


def shown_commands() -> list[Shown]:
    """Every ``$ command`` of the console blocks with the output shown below it."""
    blocks = re.findall(r"^```console\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL)
    parts = [part for block in blocks for part in re.split(r"^\$ ", block, flags=re.MULTILINE) if part]
    return [Shown(*part.partition("\n")[::2]) for part in parts]


def pattern(output: str) -> str:
    """A regular expression for the shown output, line by line, without blanks at line ends."""
    lines = [".*?" if line == "[...]" else re.escape(line.rstrip()) for line in output.rstrip().split("\n")]
    return "\n".join(lines)


def without_trailing_blanks(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.rstrip().split("\n"))


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the example's sources where the checkout has them."""
    place = tmp_path_factory.mktemp("readme")
    (place / "analyzer" / "demo").mkdir(parents=True)
    program.unpack(place / "analyzer" / "demo" / "sources")
    return place


def test_the_shown_output_is_what_the_commands_print(workplace: Path) -> None:
    shown = shown_commands()
    assert len(shown) >= 4
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "COLUMNS": "120"}
    for step in shown:
        done = subprocess.run(
            ["bash", "-c", step.command], cwd=workplace, env=environment, capture_output=True, text=True, check=False
        )
        printed = without_trailing_blanks(done.stdout)
        matches = re.fullmatch(pattern(step.output), printed, re.DOTALL)
        assert matches, f"$ {step.command}\n{printed}\n{done.stderr}"
