# SPDX-License-Identifier: GPL-2.0-or-later
"""What a command loads before it has work: nothing that makes it start slowly. How long it takes is in tests/bench."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from c_source import compiled

from linesmith.analyzer import model
from linesmith.analyzer.cli import GROUPS

HEAVY = frozenset(
    (
        *("numpy", "scipy", "rich", "msgspec", "jinja2", "tree_sitter", "platformdirs", "drgn", "sqlite3"),
        *("asyncio", "multiprocessing", "tomllib", "json", "importlib.metadata", "ctypes", "subprocess"),
        *("linesmith.analyzer._native", "linesmith.tuner._replay", "linesmith.analyzer.layouts.dwarf"),
        *("linesmith.plugins.registry", "linesmith.analyzer.model.run", "linesmith.analyzer.model.profile"),
    )
)
COMMANDS = [name for names in GROUPS.values() for name in names]


# What only profiles, access maps and judgements need.
NUMBERS = frozenset(("numpy", "scipy"))
# Runs each of LINES in a fork, and prints all modules that are loaded then.
SCRIPT = """
import os, sys
from linesmith.analyzer.cli import main
for words in LINES:
    child = os.fork()
    if child == 0:
        written = os.dup(1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        sys.argv = ["linesmith", *words]
        try:
            main()
        finally:
            os.write(written, (" ".join(sys.modules) + "\\n").encode())
            os._exit(0)
    os.waitpid(child, 0)
"""


def loaded(*lines: Sequence[str]) -> list[set[str]]:
    """Every module that is loaded once the command line has done what each says."""
    script = f"LINES = {lines!r}\n{SCRIPT}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    found = [set(line.split()) for line in done.stdout.splitlines()]
    assert len(found) == len(lines), done.stderr
    return found


def test_help_and_a_wrong_option_load_nothing_heavy_and_no_other_command() -> None:
    lines = [*([name, "--help"] for name in COMMANDS), ["--help"], ["hot", "--no-such-option"]]
    found = loaded(*lines)
    assert {" ".join(line): sorted(one & HEAVY) for line, one in zip(lines, found, strict=True) if one & HEAVY} == {}
    for name, one in zip(COMMANDS, found, strict=False):
        assert [other for other in COMMANDS if f"linesmith.analyzer.cli.{other}" in one] == [name]


def test_what_asks_for_layouts_alone_computes_nothing(tmp_path: Path) -> None:
    old, new = (str(compiled(tmp_path, f"struct s {{ {kind} a; }} s;", name=kind)) for kind in ("int", "long"))
    base = ["lint", "--base", old, "--head", new]
    for found in loaded(["layout", old, "s"], ["diff", old, new], ["slab", old, "s"], base, ["index", old]):
        assert "linesmith.analyzer.layouts.dwarf" in found
        assert found & NUMBERS == set()


def test_the_model_offers_every_name_of_its_files() -> None:
    for file in pkgutil.iter_modules(model.__path__, f"{model.__name__}."):
        for name, value in vars(import_module(file.name)).items():
            if not name.startswith("_") and getattr(value, "__module__", file.name) == file.name:
                assert getattr(model, name) is value
