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
        return f"{_called(error.param, context)} is missing; {_addition(error.param, context)}"
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


def no_command(name: str, known: Iterable[str], context: click.Context) -> click.UsageError:
    """The error for a word that is no command of the program."""
    step = nearest(name, known) or "`linesmith --help` lists the commands"
    return click.UsageError(f"there is no command {name}; {step}", context)


def _unknown_option(name: str, context: click.Context) -> str:
    known = [one for param in context.command.get_params(context) for one in (*param.opts, *param.secondary_opts)]
    listed = f"`{context.command_path} --help` lists the options"
    long_ones = [one for one in known if one.startswith("--")]
    return f"there is no option {name}; {nearest(name, long_ones) or listed}"


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
    if isinstance(type_, click.Path):
        return next((step for mark, step in _FOR_PATHS.items() if mark in error.message), "give another path")
    if isinstance(type_, (click.types.IntParamType, click.types.FloatParamType)):
        return "give one in that range" if "in the range" in error.message else "give one"
    if isinstance(type_, click.Choice):
        return "give one of these"
    return f"`{context.command_path} --help` says what it takes"


def _usage(context: click.Context) -> str:
    return f"usage: {context.command_path} {' '.join(context.command.collect_usage_pieces(context))}"


def _with_step(said: str, step: str) -> str:
    return said if _ALREADY_SAID in said else f"{said}; {step}"


def _clause(message: str) -> str:
    """A sentence of click's as part of ours."""
    text = _NO_NUMBER.sub("is no number", message.strip().removesuffix("."))
    return text[:1].lower() + text[1:] if text[1:2].islower() else text
