# SPDX-License-Identifier: GPL-2.0-or-later
"""The ``console`` blocks of a document are run, in order and in one place, and must print what they show.

A line ``[...]`` in the shown output stands for any number of lines, ``[...]`` within a line for any text.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from demo.example import unpacked
from linesmith_command import LINESMITH, linesmith

CHECKOUT = Path(__file__).resolve().parents[2]
DOCUMENTS = (
    "README.md",
    *(f"docs/{name}.md" for name in ("access", "intent", "lint", "line-map", "configuration", "doctor", "tutorial")),
)
ENVIRONMENT = {**os.environ, "PATH": f"{LINESMITH.parent}:{os.environ['PATH']}", "COLUMNS": "120"}
# A command line that needs no shell.
PLAIN = re.compile(r"linesmith [^|&;<>()$`*?~#]*")


@dataclass(frozen=True)
class Shown:
    command: str
    output: str


def shown_commands(document: Path) -> list[Shown]:
    """Every ``$ command`` of the console blocks with the output shown below it."""
    blocks = re.findall(r"^```console\n(.*?)^```$", document.read_text(), re.MULTILINE | re.DOTALL)
    parts = [part for block in blocks for part in re.split(r"^\$ ", block, flags=re.MULTILINE) if part]
    return [Shown(*part.partition("\n")[::2]) for part in parts]


def check(step: Shown, folder: Path, **variables: str) -> None:
    """Run the command in the folder; what it prints must be what is shown."""
    environment = ENVIRONMENT | variables
    if PLAIN.fullmatch(step.command) and not variables:
        done = linesmith(*shlex.split(step.command)[1:], cwd=folder, env=environment)
    else:
        bash = ["bash", "-c", step.command]
        done = subprocess.run(bash, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    printed, expected = (
        "\n".join(line.rstrip() for line in text.rstrip().split("\n")) for text in (done.stdout, step.output)
    )
    pattern = "\n".join(map(_line_pattern, expected.split("\n")))
    assert re.fullmatch(pattern, printed, re.DOTALL), f"$ {step.command}\n{printed}\n{done.stderr}"


def _line_pattern(line: str) -> str:
    return ".*?" if line == "[...]" else re.escape(line).replace(re.escape("[...]"), r"[^\n]*")


@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_shown_output_is_what_the_commands_print(document: str, tmp_path: Path) -> None:
    (tmp_path / "analyzer" / "demo").mkdir(parents=True)
    unpacked(tmp_path / "analyzer" / "demo" / "sources")
    shown = shown_commands(CHECKOUT / document)
    assert len(shown) >= 4
    for step in shown:
        check(step, tmp_path)
