# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/architecture.md says what import-linter enforces, and no module escapes the contracts."""

from __future__ import annotations

import configparser
import pkgutil
import re
from importlib import import_module
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
GENERATED = {"linesmith.analyzer._native"}

Layers = list[set[str]]


def enforced_layers() -> Layers:
    """Modules by layer, highest first, as ``setup.cfg`` has them."""
    config = configparser.ConfigParser()
    config.read(CHECKOUT / "setup.cfg")
    lines = config["importlinter:contract:layers"]["layers"].strip().splitlines()
    return [set(re.findall(r"linesmith[\w.]+", line)) for line in lines]


def documented_layers() -> Layers:
    """Modules by layer as the table in the document has them."""
    text = (CHECKOUT / "docs" / "architecture.md").read_text()
    table = text.partition("| layer, highest first |")[2].partition("\n\n")[0]
    rows = [line.split("|")[1] for line in table.splitlines()[2:]]
    return [{f"linesmith.{name}" for name in re.findall(r"`([\w.]+)`", row)} for row in rows]


def modules_of(package: str) -> set[str]:
    """Dotted names of the modules and packages right below ``package``."""
    return {f"{package}.{found.name}" for found in pkgutil.iter_modules(import_module(package).__path__)}


def exists(name: str) -> bool:
    """Whether a path such as ``analyzer/dwarf.py`` is there, wherever the package is installed."""
    package, _, rest = name.partition("/")
    return any((Path(home) / rest).exists() for home in import_module(f"linesmith.{package}").__path__)


def test_the_document_names_the_enforced_layers() -> None:
    assert documented_layers() == enforced_layers()


def test_every_module_of_the_analyzer_has_a_layer() -> None:
    governed = set().union(*enforced_layers())
    assert modules_of("linesmith.analyzer") - governed - GENERATED == set()


def test_every_part_named_in_the_stages_exists() -> None:
    text = (CHECKOUT / "docs" / "architecture.md").read_text()
    named = {name.rstrip("/") for name in re.findall(r"`((?:analyzer|tuner|patches|plugins)/[\w/.]*)`", text)}
    # Sources of the native parts are in a checkout and in no wheel.
    assert {name for name in named if not exists(name) and "/native" not in name} == set()
