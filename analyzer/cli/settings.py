# SPDX-License-Identifier: GPL-2.0-or-later
"""Which options may be set once, by a variable or a file, instead of with each command.

No option is here that names what a command reads or writes, that decides what is done, or that keeps a result: those
are said where the command is given.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import click

from linesmith.analyzer.base.errors import ConfigurationError

if TYPE_CHECKING:
    from linesmith.analyzer.base.toml import TomlText

PREFIX = "LINESMITH"


class Setting(NamedTuple):
    """An option that may be set, by its long name; ``commands`` limits it to some, empty to all that have it.

    ``in_tree`` tells that the file in a source tree may set it: a fact of the machines that the tree is for. A tree
    may be anybody's, so no path, no command and nothing that decides what is reported is among these.
    """

    name: str
    in_tree: bool = False
    commands: tuple[str, ...] = ()

    def of(self, command: str) -> bool:
        """Whether the command's option of that name is this setting."""
        return not self.commands or command in self.commands


_CHANGING = ("patch", "encapsulate", "inline")
# `layout` is not among these: whether it scans sources, for a minute or more, is said where it is called.
_OF_A_TREE = (*_CHANGING, "suggest", "report", "lint", "intent", "diff", "doctor")
_SLABS = ("slab", "suggest", "patch", "lint", "intent", "report")
_RUNS = ("bench", "tune")
SETTINGS = (
    Setting("format"),
    Setting("cpus", in_tree=True, commands=_SLABS),
    Setting("page-size", in_tree=True, commands=_SLABS),
    Setting("kernel", in_tree=True, commands=_SLABS),
    Setting("slabinfo", commands=_SLABS),
    Setting("top"),
    Setting("limit"),
    Setting("fail-on"),
    Setting("tree", commands=_OF_A_TREE),
    Setting("build", commands=_OF_A_TREE),
    Setting("cflags", commands=_OF_A_TREE),
    Setting("compile-users", commands=_CHANGING),
    Setting("deadline"),
    Setting("on", commands=("record",)),
    Setting("smp", commands=("record",)),
    Setting("memory", commands=("record",)),
    Setting("timeout", commands=("record",)),
    Setting("executor", commands=_RUNS),
    Setting("scheduler", commands=_RUNS),
    Setting("machines", commands=_RUNS),
    Setting("workers", commands=_RUNS),
    Setting("minutes", commands=_RUNS),
)
_BY_NAME = {setting.name: setting for setting in SETTINGS}
# Where the cache is; it belongs to no command.
CACHE_DIRECTORY = "cache-dir"


def setting_of(command: str, param: click.Parameter) -> Setting | None:
    """The setting that this parameter of the command is; ``None`` where it has to be given each time."""
    if not isinstance(param, click.Option):
        return None
    found = _BY_NAME.get(max(param.opts, key=len).removeprefix("--"))
    return found if found and found.of(command) else None


def variables(command: str, setting: Setting) -> list[str]:
    """The variables that set it, the one for this command alone first."""
    return [variable(command, setting.name), variable(setting.name)]


def variable(*words: str) -> str:
    """The name of a variable of ours."""
    return "_".join((PREFIX, *words)).upper().replace("-", "_")


# Files that hold settings: the user's ``config.toml``, and the table ``defaults`` of a tree's ``linesmith.toml``.
#
# The second one comes with a tree that anybody may have written, so it may set little, and is read with suspicion.

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
        content = path.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read ({error.strerror}); make it a file you may read") from error
    text = _toml(content, path)
    for name, table in text.values.items():
        if not isinstance(table, dict):
            _refuse(text, (name,), f"{name} stands in no table; put it below [{DEFAULTS}]")
        if name != DEFAULTS and name not in commands:
            _refuse(text, (name,), f"there is no command {name}; call tables like commands, or {DEFAULTS} for all")
    return _checked(text, text.values, lambda table: _USER_SETTINGS if table == DEFAULTS else names_of(table))


def read_tree(path: Path) -> SettingsFile:
    """The settings of a tree, from its table ``defaults``; the rest of the file is not looked at.

    Raises ``ConfigurationError`` for what no tree may set, ``IntentError`` where the file is no plain one.
    """
    from linesmith.analyzer.base.files import read_regular

    if not os.path.lexists(path):
        return NO_FILE
    text = _toml(read_regular(path, MOST_BYTES), path)
    return _checked(text, {DEFAULTS: text.values.get(DEFAULTS, {})}, lambda _: _TREE_SETTINGS)


def _toml(content: bytes, path: Path) -> TomlText:
    from linesmith.analyzer.base.toml import TomlError, decoded, toml_of  # only where there is a file at all

    try:
        return toml_of(decoded(content, str(path)), str(path))
    except TomlError as error:
        raise ConfigurationError(str(error)) from error


def _refuse(text: TomlText, path: tuple[str, ...], why: str) -> NoReturn:
    raise ConfigurationError(f"{text.shown}:{text.line(path)}: {why}")


def _checked(text: TomlText, tables: Mapping[str, object], names_of: Callable[[str], Collection[str]]) -> SettingsFile:
    values = {}
    for table, content in tables.items():
        if not isinstance(content, dict):
            _refuse(text, (table,), f"{table} is no table; write it as [{table}]")
        known = names_of(table) if content else ()
        for name, value in content.items():
            if name not in known:
                can = ", ".join(sorted(known)) or "nothing"
                _refuse(text, (table, name), f"{name} cannot be set here; what can is {can}")
            if isinstance(value, bool) or not isinstance(value, (str, int, float)):
                _refuse(text, (table, name), f"{name} is no text or number; give one, as on the command line")
            if isinstance(value, float) and name not in _FRACTIONS:
                _refuse(text, (table, name), f"{name} is no whole number; write one, or a text in quotes ('6.10')")
            values[table, name] = Value(value, f"{text.shown}:{text.line((table, name))}")
    return SettingsFile(values)


# What reaches every command beside its command line: variables and files, as the manual and the settings tell them.


class Told(NamedTuple):
    """A variable or a file by its ``name`` or names, and what it is for."""

    name: str
    meaning: str


# Variables that are not options, because no file may set them or because others read them too.
ALONE = ("LINESMITH_SOURCE_SCAN", "NO_COLOR", "TMPDIR")
VARIABLES = (
    Told(
        f"{variable('command', 'option')}, {variable('option')}",
        "An option, for one command or for every one that has it, such as `LINESMITH_SLAB_CPUS`; `linesmith config`"
        " lists which can be set so, and the page of each command names its own.",
    ),
    Told(
        variable(CACHE_DIRECTORY),
        "Where layouts, access maps and scans are kept; `cache-dir` in your file.",
    ),
    Told(ALONE[0], "The program that parses sources, instead of the installed one."),
    Told("XDG_CONFIG_HOME, XDG_CACHE_HOME", "Where your file is, and the cache where nothing says otherwise."),
    Told(ALONE[1], "No colour in the terminal."),
    Told(ALONE[2], "Where temporary directories are made."),
    Told("SOURCE_DATE_EPOCH", "The date that man pages bear."),
)
FILES = (
    Told(
        "$XDG_CONFIG_HOME/linesmith/config.toml",
        "Your own settings; `~/.config/linesmith/config.toml` where the variable is not set.",
    ),
    Told(
        "linesmith.toml",
        "In the root of a source tree: what its layouts are wanted to be, and in its table `[defaults]` the machines"
        " that it is for.",
    ),
    Told(
        "$XDG_CACHE_HOME/linesmith",
        "The cache; `~/.cache/linesmith` where neither variable is set. It may be deleted at any time.",
    ),
)
