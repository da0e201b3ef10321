# SPDX-License-Identifier: GPL-2.0-or-later
"""What a command loads before it has work: nothing that makes it start slowly. How long it takes is in tests/bench."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from c_source import compiled

from linesmith.analyzer.cli import GROUPS

HEAVY = frozenset(
    (
        *("numpy", "scipy", "rich", "msgspec", "jinja2", "tree_sitter", "platformdirs", "drgn", "ortools", "sqlite3"),
        *("asyncio", "multiprocessing", "tomllib", "json", "importlib.metadata", "ctypes", "subprocess"),
        *("linesmith.analyzer._native", "linesmith.tuner._replay", "linesmith.analyzer.dwarf"),
        *("linesmith.plugins.registry", "linesmith.analyzer.model.order", "linesmith.analyzer.model.profile"),
    )
)
COMMANDS = [name for names in GROUPS.values() for name in names]


# What only profiles, access maps and judgements need.
NUMBERS = frozenset(("numpy", "scipy"))


def loaded(*words: str) -> set[str]:
    """Every module that is loaded once the command line has done what it says."""
    script = f"""
import sys
sys.argv = ["linesmith", *{words!r}]
from linesmith.analyzer.cli import main
try:
    main()
finally:
    print(*sys.modules, file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    return set(done.stderr.split())


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_loads_nothing_heavy(name: str) -> None:
    found = loaded(name, "--help")
    assert f"linesmith.analyzer.cli.{name}" in found
    assert found & HEAVY == set()


def test_the_list_of_commands_loads_nothing_heavy() -> None:
    assert loaded("--help") & HEAVY == set()


def test_a_wrong_option_loads_nothing_heavy() -> None:
    assert loaded("hot", "--no-such-option") & HEAVY == set()


def test_only_the_command_that_is_called_is_loaded() -> None:
    found = loaded("slab", "--help")
    assert {name for name in COMMANDS if f"linesmith.analyzer.cli.{name}" in found} == {"slab"}


@pytest.mark.parametrize("words", [("layout",), ("diff",), ("slab",), ("lint", "--base", "--head"), ("index",)])
def test_what_asks_for_layouts_alone_computes_nothing(words: tuple[str, ...], tmp_path: Path) -> None:
    builds = [str(compiled(tmp_path, f"struct s {{ {kind} a; }} s;", name=kind)) for kind in ("int", "long")]
    command, *options = words
    given = [word for pair in zip(options, builds, strict=True) for word in pair] if options else builds[:1]
    types = ["s"] if command in ("layout", "slab") else []
    found = loaded(command, *(builds if command == "diff" else given), *types)
    assert "linesmith.analyzer.dwarf" in found
    assert found & NUMBERS == set()
