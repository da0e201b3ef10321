# SPDX-License-Identifier: GPL-2.0-or-later
"""The context of a command that takes what is not given from variables, then the user's file, then the tree's."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from linesmith.analyzer.cli.settings import CACHE_DIRECTORY, Setting, setting_of, variable, variables

if TYPE_CHECKING:
    from linesmith.analyzer.cli.settings import SettingsFile, Value


_FILES = "linesmith.settings"
_CACHE = "linesmith.cache"


class SettledContext(click.Context):
    """Asks the files for a value where click would take the default; the files are read when first asked."""

    def lookup_default(self, name: str, call: bool = True) -> object:
        """The value that a file sets; the help shows defaults as they are without files (``call`` is false then)."""
        found: object = super().lookup_default(name, True) if call else super().lookup_default(name, False)
        if found is not None or not call or self.resilient_parsing:
            return found
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
    command.context_class = SettledContext
    command.callback = _with_cache(command.callback) if command.callback else None
    for param in command.params:
        if setting := setting_of(name, param):
            param.envvar = variables(name, setting)


def in_files(context: click.Context, param: click.Parameter) -> Value | None:
    """What the user's file or the tree's sets for this parameter, and where. Raises ``ConfigurationError``."""
    command = context.info_name or ""
    setting = setting_of(command, param)
    if setting is None:
        return None
    return _user(context).look_up(command, setting.name) or _in_tree(context, command, setting)


def is_given(name: str) -> bool:
    """Whether a parameter stands on the command line, where it has to be of use; what is set once for all need not."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE


def is_default(name: str) -> bool:
    """Whether a parameter has its default: neither the command line nor a variable nor a file says it."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.DEFAULT


def origin_in_files(context: click.Context, param: click.Parameter) -> str:
    """Where a file sets it; empty where none does."""
    found = in_files(context, param)
    return found.place if found else ""


def settle_cache(context: click.Context) -> None:
    """Hand the user's choice of a cache directory on as the variable that everything asks, child processes too.

    Raises ``ConfigurationError``.
    """
    name = variable(CACHE_DIRECTORY)
    if not os.environ.get(name) and (wanted := _user(context).look_up("", CACHE_DIRECTORY)):
        os.environ[name] = str(Path(str(wanted.value)).expanduser())
        context.meta[_CACHE] = wanted.place


def cache_origin(context: click.Context) -> str:
    """Where the user's file says where the cache is; empty where that was not asked."""
    found: str = context.meta.get(_CACHE, "")
    return found


def _with_cache(callback: Callable[..., object]) -> Callable[..., object]:
    """The command with the cache where the user's file wants it."""

    @wraps(callback)
    def settled(*args: object, **kwargs: object) -> object:
        settle_cache(click.get_current_context())
        return callback(*args, **kwargs)

    return settled


def _in_tree(context: click.Context, command: str, setting: Setting) -> Value | None:
    from linesmith.analyzer.cli.settings import read_tree, tree_file

    if not setting.in_tree:
        return None
    path = tree_file(_tree_of(context))
    found: SettingsFile | None = context.meta.get(f"{_FILES}.{path}")
    if path is None or found is not None:
        return found.look_up(command, setting.name) if found else None
    context.meta[f"{_FILES}.{path}"] = read = read_tree(path)
    return read.look_up(command, setting.name)


def _tree_of(context: click.Context) -> Path | None:
    """The tree that is given or set; a command may declare ``--tree`` behind what its file decides."""
    tree = context.params.get("tree")
    param = next((one for one in context.command.params if one.name == "tree"), None)
    if param is not None and "tree" not in context.params:
        tree, _ = param.consume_value(context, {})
    return Path(tree) if isinstance(tree, (str, Path)) else None


def _user(context: click.Context) -> SettingsFile:
    from linesmith.analyzer.cli.settings import read_user, user_file

    known: SettingsFile | None = context.meta.get(_FILES)
    if known is None:
        root = context.find_root()
        commands = root.command.list_commands(root) if isinstance(root.command, click.Group) else ()
        context.meta[_FILES] = known = read_user(user_file(), commands, partial(_names_of, root))
    return known


def _names_of(root: click.Context, command: str) -> frozenset[str]:
    """The settings that a command has."""
    found = root.command.get_command(root, command) if isinstance(root.command, click.Group) else None
    known = (setting_of(command, param) for param in found.params) if found else ()
    return frozenset(setting.name for setting in known if setting)
