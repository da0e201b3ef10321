# SPDX-License-Identifier: GPL-2.0-or-later
"""Options that may be set once, by a variable or a file, instead of with each command.

No option is among them that names what a command reads or writes, that decides what is done, or that keeps a result:
those are given where the command is given. A value is taken from the command line, then from a variable, the user's
``config.toml``, the table ``defaults`` of the ``linesmith.toml`` of a tree (which may set little), and the default.

click reads the variables; ``SettingsContext`` the files, for which one of a tree counts depends on ``--tree``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import click
from click.core import ParameterSource

from linesmith.analyzer.base.errors import ConfigurationError

if TYPE_CHECKING:
    from linesmith.analyzer.base.toml import TomlText

PREFIX = "LINESMITH"
DEFAULTS = "defaults"
TREE_FILE = "linesmith.toml"
MOST_BYTES = 1 << 20
_BOUNDARY = ".git"
# Settings that need not be whole; of any other a fraction is a text without its quotes, such as a release.
_FRACTIONS = frozenset(("minutes",))
# Files that were read, in the ``meta`` of the context.
_FILES = "linesmith.settings"


# The options.


class Setting(NamedTuple):
    """An option that may be set, by its long name; ``commands`` limits it to some, empty to all that have it.

    ``in_tree`` tells that the file in a source tree may set it: a fact of the machines that the tree is for. A tree
    may be anybody's, so no path, no command and nothing that decides what is reported is among these.
    """

    name: str
    in_tree: bool = False
    commands: tuple[str, ...] = ()


_CHANGING = ("patch", "encapsulate", "inline")
# `layout` is not among these: whether it scans sources, for a minute or more, is stated where it is called.
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
# Variables that are not options, because no file may set them or because others read them too.
ALONE = ("LINESMITH_CACHE_DIR", "LINESMITH_SOURCE_SCAN", "NO_COLOR", "TMPDIR")


def setting_of(command: str, param: click.Parameter) -> Setting | None:
    """The setting that this parameter of the command is; ``None`` where it has to be given each time."""
    if not isinstance(param, click.Option):
        return None
    found = _BY_NAME.get(max(param.opts, key=len).removeprefix("--"))
    return found if found and (not found.commands or command in found.commands) else None


def variables(command: str, setting: Setting) -> list[str]:
    """The variables that set it, the one for this command alone first."""
    names = (f"{PREFIX}_{command}_{setting.name}", f"{PREFIX}_{setting.name}")
    return [name.upper().replace("-", "_") for name in names]


# Files.

_TREE_SETTINGS = tuple(setting.name for setting in SETTINGS if setting.in_tree)


class Value(NamedTuple):
    """What a file sets, and where: the file and the line."""

    value: str | int | float
    place: str


# What a file sets, by table (``defaults`` or a command) and name.
_FileValues = Mapping[tuple[str, str], Value]


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


def read_user(path: Path, commands: Collection[str], names_of: Callable[[str], Collection[str]]) -> _FileValues:
    """The settings of a user: a table for each command, with ``names_of`` it alone, and ``defaults`` for all.

    Raises ``ConfigurationError`` for what cannot be set.
    """
    if not path.exists():
        return {}
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read ({error.strerror}); change its permissions") from error
    text = _toml(content, path)
    for name, table in text.values.items():
        if not isinstance(table, dict):
            _refuse(text, (name,), f"{name} is not in a table; move it below [{DEFAULTS}]")
        if name != DEFAULTS and name not in commands:
            _refuse(text, (name,), f"there is no command {name}; name tables after commands, or {DEFAULTS} for all")
    return _checked(text, text.values, lambda table: _BY_NAME if table == DEFAULTS else names_of(table))


def read_tree(path: Path) -> _FileValues:
    """The settings of a tree, from its table ``defaults``; the rest of the file is not looked at.

    Raises ``ConfigurationError`` for what no tree may set, ``IntentError`` where the file is no plain one.
    """
    from linesmith.analyzer.base.files import read_regular

    if not os.path.lexists(path):
        return {}
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


def _checked(text: TomlText, tables: Mapping[str, object], names_of: Callable[[str], Collection[str]]) -> _FileValues:
    values = {}
    for table, content in tables.items():
        if not isinstance(content, dict):
            _refuse(text, (table,), f"{table} is not a table; write it as [{table}]")
        known = names_of(table) if content else ()
        for name, value in content.items():
            if name not in known:
                can = ", ".join(sorted(known)) or "nothing"
                _refuse(text, (table, name), f"{name} cannot be set here; valid names are {can}")
            if isinstance(value, bool) or not isinstance(value, (str, int, float)):
                _refuse(text, (table, name), f"{name} is neither text nor a number; write it as on the command line")
            if isinstance(value, float) and name not in _FRACTIONS:
                _refuse(text, (table, name), f"{name} is not an integer; write an integer, or text in quotes ('6.10')")
            values[table, name] = Value(value, f"{text.shown}:{text.line((table, name))}")
    return values


# What reaches every command besides its command line: variables and files, as the manual and the settings tell them.


class SettingsContext(click.Context):
    """Asks the files for a value where click would take the default; the files are read when first asked."""

    def lookup_default(self, name: str, call: bool = True) -> object:
        """The value that a file sets; the help shows defaults as they are without files (``call`` is false then)."""
        if not call or self.resilient_parsing:
            return None
        param = next((one for one in self.command.params if one.name == name), None)
        value = in_files(self, param) if param else None
        return value.value if value else None

    @contextmanager
    def scope(self, cleanup: bool = True) -> Iterator[click.Context]:
        """The same; an error of the parser, which does not know whose options it reads, learns it here."""
        try:
            with super().scope(cleanup) as context:
                yield context
        except click.UsageError as error:
            error.ctx = error.ctx or self
            raise


def settle(command: click.Command, name: str) -> None:
    """Make a command take settings: from variables as click reads them, from files by way of its context."""
    command.context_class = SettingsContext
    for param, setting in settings_in(command, name):
        param.envvar = variables(name, setting)


def settings_in(command: click.Command | None, name: str) -> Iterator[tuple[click.Parameter, Setting]]:
    """The parameters that may be set, of a command called ``name``."""
    for param in command.params if command else ():
        if setting := setting_of(name, param):
            yield param, setting


def is_given(name: str) -> bool:
    """Whether a parameter stands on the command line, where it has to be of use; what is set once for all need not."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE


def in_files(context: click.Context, param: click.Parameter) -> Value | None:
    """What the user's file or the tree's sets for this parameter, and where. Raises ``ConfigurationError``."""
    command = context.info_name or ""
    setting = setting_of(command, param)
    if setting is None:
        return None
    if found := _set_in(_of_user(context), command, setting.name):
        return found
    path = tree_file(_tree_of(context)) if setting.in_tree else None
    if path is None:
        return None
    return _set_in(_read_once(context, f"{_FILES}.{path}", partial(read_tree, path)), command, setting.name)


def _set_in(values: _FileValues, command: str, name: str) -> Value | None:
    """What is set for this command, else for all."""
    return values.get((command, name)) or values.get((DEFAULTS, name))


def origin_in_files(context: click.Context, param: click.Parameter) -> str:
    """Where a file sets it; empty where none does."""
    found = in_files(context, param)
    return found.place if found else ""


def _tree_of(context: click.Context) -> Path | None:
    """The tree that is given or set; a command may declare ``--tree`` behind what its file decides."""
    tree = context.params.get("tree")
    param = next((one for one in context.command.params if one.name == "tree"), None)
    if param is not None and "tree" not in context.params:
        tree, _ = param.consume_value(context, {})
    return Path(tree) if isinstance(tree, (str, Path)) else None


def _of_user(context: click.Context) -> _FileValues:
    root = context.find_root()
    group = root.command

    def names_of(command: str) -> frozenset[str]:
        found = group.get_command(root, command) if isinstance(group, click.Group) else None
        return frozenset(setting.name for _, setting in settings_in(found, command))

    commands = group.list_commands(root) if isinstance(group, click.Group) else ()
    return _read_once(context, _FILES, lambda: read_user(user_file(), commands, names_of))


def _read_once(context: click.Context, key: str, read: Callable[[], _FileValues]) -> _FileValues:
    """What ``read`` gives, once in a run of the program, whichever context asks."""
    found: _FileValues | None = context.meta.get(key)
    if found is None:
        context.meta[key] = found = read()
    return found
