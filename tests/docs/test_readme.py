# SPDX-License-Identifier: GPL-2.0-or-later
"""The ``console`` blocks of a document are run, in order and in one place, and must print what they show.

A line ``[...]`` in the shown output stands for any number of lines, ``[...]`` within a line for any text.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import re
import shlex
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest
from demo.example import unpacked
from linesmith_command import LINESMITH, linesmith
from profiles.conformance import Example, breaches

from linesmith.plugins.registry import profile_sources

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


# The plugin of docs/plugins.md, put together from the page

PAGE = Path(__file__).resolve().parents[2] / "docs" / "plugins.md"


def block(language: str) -> str:
    found = re.search(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert found
    return found.group(1)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A folder with the example as an installer leaves it: module, metadata, entry points; and the log."""
    (tmp_path / "contention_log.py").write_text(block("python"))
    (tmp_path / "spin.log").write_text(block("text"))
    project = tomllib.loads(block("toml"))["project"]
    metadata = tmp_path / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    metadata.mkdir()
    head = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (metadata / "METADATA").write_text(head)
    points = "".join(
        f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in named.items())
        for group, named in project["entry-points"].items()
    )
    (metadata / "entry_points.txt").write_text(points)
    return tmp_path


def test_the_example_conforms(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(package))
    importlib.invalidate_caches()
    source = next(one for one in profile_sources() if one.name == "contention-log")
    assert list(breaches(source, Example(package / "spin.log"))) == []


def test_the_commands_of_the_page_read_its_log(package: Path) -> None:
    (package / "analyzer" / "demo").mkdir(parents=True)
    unpacked(package / "analyzer" / "demo" / "sources")
    steps = shown_commands(PAGE)
    assert steps
    for step in steps:
        check(step, package, PYTHONPATH=str(package))


def test_every_group_of_plugins_is_on_the_page() -> None:
    installed = {point.group for point in importlib.metadata.distribution("linesmith").entry_points}
    assert {group for group in installed if group.startswith("linesmith.")} == set(
        re.findall(r"^\| `(linesmith\.\w+)` \|", PAGE.read_text(), re.MULTILINE)
    )
