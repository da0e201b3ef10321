# SPDX-License-Identifier: GPL-2.0-or-later
"""The ``console`` blocks of a document are run, in order and in one place, and must print what they show.

A line ``[...]`` in the shown output stands for any number of lines, ``[...]`` within a line for any text.
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

CHECKOUT = Path(__file__).resolve().parents[2]
DOCUMENTS = (
    "README.md",
    "docs/access.md",
    "docs/intent.md",
    "docs/lint.md",
    "docs/line-map.md",
    "docs/configuration.md",
    "docs/doctor.md",
    "docs/tutorial.md",
)


@dataclass(frozen=True)
class Shown:
    command: str
    output: str


def shown_commands(document: Path) -> list[Shown]:
    """Every ``$ command`` of the console blocks with the output shown below it."""
    blocks = re.findall(r"^```console\n(.*?)^```$", document.read_text(), re.MULTILINE | re.DOTALL)
    parts = [part for block in blocks for part in re.split(r"^\$ ", block, flags=re.MULTILINE) if part]
    return [Shown(*part.partition("\n")[::2]) for part in parts]


def pattern(output: str) -> str:
    """A regular expression for the shown output, line by line, without blanks at line ends."""
    return "\n".join(_line_pattern(line) for line in output.rstrip().split("\n"))


def _line_pattern(line: str) -> str:
    return ".*?" if line == "[...]" else re.escape(line.rstrip()).replace(re.escape("[...]"), r"[^\n]*")


def without_trailing_blanks(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.rstrip().split("\n"))


@pytest.fixture
def workplace(tmp_path: Path) -> Path:
    """A directory with the example's sources where the checkout has them."""
    (tmp_path / "analyzer" / "demo").mkdir(parents=True)
    program.unpack(tmp_path / "analyzer" / "demo" / "sources")
    return tmp_path


@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_shown_output_is_what_the_commands_print(document: str, workplace: Path) -> None:
    shown = shown_commands(CHECKOUT / document)
    assert len(shown) >= 4
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "COLUMNS": "120"}
    for step in shown:
        done = subprocess.run(
            ["bash", "-c", step.command], cwd=workplace, env=environment, capture_output=True, text=True, check=False
        )
        printed = without_trailing_blanks(done.stdout)
        matches = re.fullmatch(pattern(step.output), printed, re.DOTALL)
        assert matches, f"$ {step.command}\n{printed}\n{done.stderr}"
