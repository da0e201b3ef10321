# SPDX-License-Identifier: GPL-2.0-or-later
"""What is wrong with a command line, in one sentence with the next step: ``linesmith COMMAND: sentence; next step``."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

import click
from click.core import ParameterSource

from linesmith.analyzer.cli.settled import origin_in_files

_FOR_PATHS = {
    "does not exist": "give the path of one that does",
    "is a directory": "give the path of a file",
    "is a file": "give the path of a directory",
    "is not readable": "give the path of one that you may read",
    "is not writable": "give the path of one that you may write",
}
_ALREADY_SAID = ";"
# Commands that a message lists.
_FEW = 6
_NO_NUMBER = re.compile(r"is not a valid (integer|float)( range)?")


def sentence(error: click.ClickException) -> str:
    """One line for standard error, its head the command that was called."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    place = context.command_path if context else "linesmith"
    return f"{place}: {_said(error, context)}".replace("\n", " ")


def _said(error: click.ClickException, context: click.Context | None) -> str:
    if context is None:
        return _clause(error.format_message())
    if isinstance(error, click.MissingParameter) and error.param is not None:
        step = _misplaced(error.param, context) or _addition(error.param, context)
        return f"{_called(error.param, context)} is missing; {step}"
    if isinstance(error, click.BadParameter):
        return _with_step(f"{_origin(error, context)}: {_clause(error.message)}", _remedy(error, context))
    if isinstance(error, click.NoSuchOption):
        return _unknown_option(error.option_name, context)
    return _with_step(_clause(error.format_message()), _usage(context))


def nearest(name: str, known: Iterable[str]) -> str:
    """A question for the next step: which known name may be meant; empty where none is near."""
    from difflib import get_close_matches  # only where something is wrong already

    found = get_close_matches(name, list(known), n=1)
    return f"did you mean {found[0]}?" if found else ""


def commands_of(context: click.Context) -> list[str]:
    """The names of the program's commands."""
    root = context.find_root()
    return root.command.list_commands(root) if isinstance(root.command, click.Group) else []


def no_command(name: str, known: Iterable[str], context: click.Context) -> click.UsageError:
    """The error for a word that is no command of the program."""
    option = f"--{name}" in _options_of(context.find_root())
    step = nearest(name, known) or (f"did you mean --{name}?" if option else "`linesmith --help` lists the commands")
    return click.UsageError(f"there is no command {name or repr(name)}; {step}", context)


def _unknown_option(name: str, context: click.Context) -> str:
    if name.startswith("--") and (word := _argument(name, context)):
        return f"there is no option {name}; give {word} as it is: {_usage_of(context)}"
    listed = f"`{context.command_path} --help` lists the options"
    long_ones = [one[2:] for one in _options_of(context) if one.startswith("--")]
    near = nearest(name.lstrip("-"), long_ones).replace("mean ", "mean --")
    return f"there is no option {name}; {near or _as_value(name, context) or _elsewhere(name, context) or listed}"


def _options_of(context: click.Context) -> list[str]:
    return [one for param in context.command.get_params(context) for one in (*param.opts, *param.secondary_opts)]


def _as_value(name: str, context: click.Context) -> str:
    """``--json``: which option takes what looks like one; empty where none does."""
    for param in context.command.get_params(context):
        if isinstance(param.type, click.Choice) and isinstance(param, click.Option) and name[2:] in param.type.choices:
            return f"did you mean {_called(param, context)} {name[2:]}?"
    return ""


def _elsewhere(name: str, context: click.Context) -> str:
    """Which other commands have an option; empty where none has, or many have."""
    root = context.find_root()
    group = root.command
    if not isinstance(group, click.Group) or context is root or not name.startswith("--"):
        return ""
    commands = ((one, group.get_command(root, one)) for one in group.list_commands(root))
    found = [one for one, command in commands if command and any(name in param.opts for param in command.params)]
    return f"that one belongs to {', '.join(found)}" if 0 < len(found) <= _FEW else ""


def _argument(option: str, context: click.Context) -> str:
    """The argument that is called as this option would be; empty where none is."""
    arguments = (one for one in context.command.get_params(context) if isinstance(one, click.Argument))
    return next((word for one in arguments if (word := _called(one, context)).lower() == option[2:].lower()), "")


def _misplaced(param: click.Parameter, context: click.Context) -> str:
    """Where an option belongs that stands among the words of a command to run; empty where it does not."""
    words = (word for value in context.params.values() if isinstance(value, tuple) for word in value)
    option = next((word for word in words if word in param.opts), "")
    return f"put {option} before CMD: {_usage_of(context)}" if option else ""


def _addition(param: click.Parameter, context: click.Context) -> str:
    """How what is missing is given."""
    if not isinstance(param, click.Option):
        return _usage(context)
    return f"add {max(param.opts, key=len)} {param.make_metavar(context)}"


def _origin(error: click.BadParameter, context: click.Context) -> str:
    """Which parameter it is, and where its value was set if that is not this command line."""
    param = error.param
    if param is None or param.name is None:
        return str(error.param_hint or "a value")
    source = context.get_parameter_source(param.name)
    if source is ParameterSource.ENVIRONMENT:
        names = [param.envvar] if isinstance(param.envvar, str) else list(param.envvar or ())
        return next((name for name in names if os.environ.get(name)), _called(param, context))
    if source is ParameterSource.DEFAULT_MAP and (place := origin_in_files(context, param)):
        return f"{place}: {_called(param, context)}"
    return _called(param, context)


def _called(param: click.Parameter, context: click.Context) -> str:
    if isinstance(param, click.Option):
        return max(param.opts, key=len)
    return param.make_metavar(context).strip("[].").replace("...", "").removeprefix("-- ").strip("[]")


def _remedy(error: click.BadParameter, context: click.Context) -> str:
    type_ = error.param.type if error.param else None
    if isinstance(type_, click.Path) and _is_default(error.param, context):
        return f"name another with {_called(error.param, context)}" if error.param else ""
    if isinstance(type_, click.Path):
        return next((step for mark, step in _FOR_PATHS.items() if mark in error.message), "give another path")
    if isinstance(type_, (click.types.IntParamType, click.types.FloatParamType)):
        return "give one in that range" if "in the range" in error.message else "give one"
    if isinstance(type_, click.Choice):
        return "give one of these"
    return f"`{context.command_path} --help` says what it takes"


def _is_default(param: click.Parameter | None, context: click.Context) -> bool:
    name = param.name if param else None
    return name is not None and context.get_parameter_source(name) is ParameterSource.DEFAULT


def _usage(context: click.Context) -> str:
    return f"usage: {_usage_of(context)}"


def _usage_of(context: click.Context) -> str:
    return f"{context.command_path} {' '.join(context.command.collect_usage_pieces(context))}"


def _with_step(said: str, step: str) -> str:
    return said if _ALREADY_SAID in said else f"{said}; {step}"


def _clause(message: str) -> str:
    """A sentence of click's as part of ours."""
    text = _NO_NUMBER.sub("is no number", message.strip().removesuffix("."))
    return text[:1].lower() + text[1:] if text[1:2].islower() else text
