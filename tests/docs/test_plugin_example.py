# SPDX-License-Identifier: GPL-2.0-or-later
"""The plugin of ``docs/plugins.md``, put together from the page, is found, conforms, and reads what the page shows."""

from __future__ import annotations

import importlib
import importlib.metadata
import re
import tomllib
from pathlib import Path

import pytest
from demo.example import unpacked
from docs.test_readme import check, shown_commands
from profiles.conformance import Example, breaches

from linesmith.plugins.registry import profile_sources

PAGE = Path(__file__).resolve().parents[2] / "docs" / "plugins.md"


def block(language: str) -> str:
    """The page's first block of that language."""
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
