# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that hold settings: the user's ``config.toml``, and the table ``defaults`` of a tree's ``linesmith.toml``.

The second one comes with a tree that anybody may have written, so it may set little, and is read with suspicion.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from linesmith.analyzer.cli.settings import CACHE_DIRECTORY, SETTINGS
from linesmith.analyzer.errors import ConfigurationError

DEFAULTS = "defaults"
TREE_FILE = "linesmith.toml"
MOST_BYTES = 1 << 20
_BOUNDARY = ".git"
# Settings that need not be whole; of any other a fraction is a text without its quotes, such as a release.
_FRACTIONS = frozenset(("minutes",))
_TREE_SETTINGS = tuple(setting.name for setting in SETTINGS if setting.in_tree)
_USER_SETTINGS = (*(setting.name for setting in SETTINGS), CACHE_DIRECTORY)


@dataclass(frozen=True, slots=True)
class Value:
    """What a file sets, and where: the file and the line."""

    value: str | int | float
    place: str


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """Values by table (``defaults`` or a command) and name."""

    values: Mapping[tuple[str, str], Value]

    def look_up(self, command: str, name: str) -> Value | None:
        """What is set for this command, else for all."""
        return self.values.get((command, name)) or self.values.get((DEFAULTS, name))


NO_FILE = SettingsFile({})


def user_file() -> Path:
    """Where the user's settings are, if there are any. See the XDG base directory specification."""
    home = os.environ.get("XDG_CONFIG_HOME", "")
    return (Path(home) if Path(home).is_absolute() else Path.home() / ".config") / "linesmith" / "config.toml"


def tree_file(tree: Path | None) -> Path | None:
    """The file of a tree: the one given, else the one around the working directory, as far up as its ``.git``."""
    if tree is not None:
        return tree / TREE_FILE
    here = Path.cwd()
    for folder in (here, *here.parents):
        if os.path.lexists(folder / TREE_FILE):
            return folder / TREE_FILE
        if (folder / _BOUNDARY).exists():
            return None
    return None


def read_user(path: Path, commands: Collection[str], names_of: Callable[[str], Collection[str]]) -> SettingsFile:
    """The settings of a user: a table for each command, with ``names_of`` it alone, and ``defaults`` for all.

    Raises ``ConfigurationError`` for what cannot be set.
    """
    if not path.exists():
        return NO_FILE
    try:
        text = _Text(path, path.read_bytes())
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read ({error.strerror}); make it a file you may read") from error
    for name, content in text.tables.items():
        if not isinstance(content, dict):
            text.refuse((name,), f"{name} stands in no table; put it below [{DEFAULTS}]")
        if name != DEFAULTS and name not in commands:
            text.refuse((name,), f"there is no command {name}; call tables like commands, or {DEFAULTS} for all")
    return _checked(text, text.tables, lambda table: _USER_SETTINGS if table == DEFAULTS else names_of(table))


def read_tree(path: Path) -> SettingsFile:
    """The settings of a tree, from its table ``defaults``; the rest of the file is not looked at.

    Raises ``ConfigurationError`` for what no tree may set, ``IntentError`` where the file is no plain one.
    """
    from linesmith.analyzer.intent.regular_file import read_regular

    if not os.path.lexists(path):
        return NO_FILE
    text = _Text(path, read_regular(path, MOST_BYTES))
    return _checked(text, {DEFAULTS: text.tables.get(DEFAULTS, {})}, lambda _: _TREE_SETTINGS)


def _checked(text: _Text, tables: Mapping[str, object], names_of: Callable[[str], Collection[str]]) -> SettingsFile:
    values = {}
    for table, content in tables.items():
        if not isinstance(content, dict):
            text.refuse((table,), f"{table} is no table; write it as [{table}]")
        known = names_of(table) if content else ()
        for name, value in content.items():
            if name not in known:
                can = ", ".join(sorted(known)) or "nothing"
                text.refuse((table, name), f"{name} cannot be set here; what can is {can}")
            if isinstance(value, bool) or not isinstance(value, (str, int, float)):
                text.refuse((table, name), f"{name} is no text or number; give one, as on the command line")
            if isinstance(value, float) and name not in _FRACTIONS:
                text.refuse((table, name), f"{name} is no whole number; write one, or a text in quotes ('6.10')")
            values[table, name] = Value(value, text.place((table, name)))
    return SettingsFile(values)


class _Text:
    """A TOML file that knows where it says what. Raises ``ConfigurationError`` for one that is none."""

    def __init__(self, path: Path, content: bytes) -> None:
        import tomllib  # only where there is a file at all

        from linesmith.analyzer.intent.statements import TooDeep, statements

        self._path = path
        try:
            text = content.decode("utf-8")
            # First, for it refuses keys of many parts, which tomllib takes long for.
            self._lines = {one.path: one.line for one in statements(text)}
            self.tables: dict[str, object] = tomllib.loads(text)
        except TooDeep as error:
            raise ConfigurationError(f"{path}:{error.line}: nested too deep; write it flatter") from error
        except (ValueError, RecursionError) as error:
            raise ConfigurationError(f"{path}: is no TOML ({error}); mend that place") from error

    def place(self, path: tuple[str, ...]) -> str:
        line = self._lines.get(path)
        return f"{self._path}:{line}" if line else str(self._path)

    def refuse(self, path: tuple[str, ...], why: str) -> NoReturn:
        raise ConfigurationError(f"{self.place(path)}: {why}")
