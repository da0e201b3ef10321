# SPDX-License-Identifier: GPL-2.0-or-later
"""What a command loads before it has work: nothing that makes it start slowly. How long it takes is in tests/bench."""

from __future__ import annotations

import subprocess
import sys

import pytest

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
