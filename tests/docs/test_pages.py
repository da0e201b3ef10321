# SPDX-License-Identifier: GPL-2.0-or-later
"""Documents agree with what they speak of: the layers that are enforced, modules, tests, and each other by links."""

from __future__ import annotations

import configparser
import pkgutil
import re
from importlib import import_module
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
DOCS = CHECKOUT / "docs"
GENERATED = {"linesmith.analyzer._native"}
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[\w-]+)?\)")


def enforced_layers() -> list[set[str]]:
    """Modules by layer, highest first, as ``setup.cfg`` has them."""
    config = configparser.ConfigParser()
    config.read(CHECKOUT / "setup.cfg")
    lines = config["importlinter:contract:layers"]["layers"].strip().splitlines()
    return [set(re.findall(r"linesmith[\w.]+", line)) for line in lines]


def exists(name: str) -> bool:
    """Whether a path such as ``analyzer/layouts/dwarf.py`` is there, wherever the package is installed."""
    package, _, rest = name.partition("/")
    return any((Path(home) / rest).exists() for home in import_module(f"linesmith.{package}").__path__)


def test_the_architecture_names_the_enforced_layers_and_every_module_has_one() -> None:
    table = (DOCS / "architecture.md").read_text().partition("| layer, highest first |")[2].partition("\n\n")[0]
    rows = [line.split("|")[1] for line in table.splitlines()[2:]]
    assert [{f"linesmith.{name}" for name in re.findall(r"`([\w.]+)`", row)} for row in rows] == enforced_layers()
    found = pkgutil.iter_modules(import_module("linesmith.analyzer").__path__)
    modules = {f"linesmith.analyzer.{one.name}" for one in found}
    assert modules - set().union(*enforced_layers()) - GENERATED == set()


def test_every_part_named_in_the_stages_exists() -> None:
    text = (DOCS / "architecture.md").read_text()
    named = {name.rstrip("/") for name in re.findall(r"`((?:analyzer|tuner|patches|plugins)/[\w/.]*)`", text)}
    # Sources of the native parts are in a checkout and in no wheel.
    assert {name for name in named if not exists(name) and "/native" not in name} == set()


def linked_from(document: Path) -> set[Path]:
    """Files that the document links to; addresses of other sites left out."""
    links = [link for link in LINK.findall(document.read_text()) if "://" not in link]
    return {(document.parent / link).resolve() for link in links}


def reachable(document: Path, seen: set[Path]) -> set[Path]:
    for target in linked_from(document) - seen:
        seen.add(target)
        if target.suffix == ".md" and target.is_file():
            reachable(target, seen)
    return seen


def test_every_link_has_a_target_and_every_document_is_reached_from_the_readme() -> None:
    documents = [CHECKOUT / "README.md", CHECKOUT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md"))]
    missing = {str(target) for document in documents for target in linked_from(document) if not target.exists()}
    assert missing == set()
    assert set(DOCS.glob("*.md")) - reachable(CHECKOUT / "README.md", set()) == set()


def test_every_promise_of_lint_safety_has_a_test_that_is_there() -> None:
    page = (DOCS / "lint-safety.md").read_text()
    sources = (file.read_text() for file in (CHECKOUT / "tests" / "hostile").glob("test_*.py"))
    tests = {name for source in sources for name in re.findall(r"def (test_\w+)", source)}
    named = set(re.findall(r"`(test_\w+)`", page))
    assert named
    assert named <= tests
    rows = re.findall(r"^\| (.+) \| (.+) \|$", page, re.MULTILINE)
    assert [promise for promise, test in rows if promise != "promise" and "test" not in test] == []
