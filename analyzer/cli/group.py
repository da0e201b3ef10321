# SPDX-License-Identifier: GPL-2.0-or-later
"""The group of commands, each imported on first use; what a wrong command line prints; names to complete.

What is wrong is one sentence with the next step: ``linesmith COMMAND: sentence; next step``. How the process runs is
here too: what ends it, and how seldom Python looks for values that refer to each other in a circle.
"""

from __future__ import annotations

import gc
import os
import re
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import wraps
from importlib import import_module
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from linesmith.analyzer.base.errors import LinesmithError, NothingToSuggest
from linesmith.analyzer.base.text import did_you_mean, visible
from linesmith.analyzer.cli.output import loudness_options
from linesmith.analyzer.cli.settings import origin_in_files, settle

if TYPE_CHECKING:
    from linesmith.analyzer.layouts.collection import Layouts


# So many new values, at most 200 MB, come together before Python looks for circles among them; its default is 700.
YOUNG_VALUES = 1_000_000
# A sentence that has this says the next step already.
_STEP = ";"
_NO_NUMBER = re.compile(r"is not a valid (integer|float)( range)?")


class LazyGroup(click.Group):
    """Commands by group title; the module ``cli.NAME`` holds the command ``NAME`` as ``command``.

    What all commands have in common is added here: ``-v`` and ``-q``, settings from variables and files, and names
    that a shell completes.
    """

    def __init__(self, *args: object, command_groups: Mapping[str, Sequence[str]], **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.command_groups = command_groups
        self._found: dict[str, click.Command] = {}
        self.params.extend(loudness_options())

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Names in the order of the groups."""
        return [name for names in self.command_groups.values() for name in names]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's module; ``None`` for a name that is no command."""
        if cmd_name not in self.list_commands(ctx):
            return None
        if cmd_name not in self._found:
            command: click.Command = import_module(f"linesmith.analyzer.cli.{cmd_name}").command
            command.params.extend(loudness_options())
            settle(command, cmd_name)
            command.callback = command.callback and _answering(command.callback)
            for param in command.params:
                if param.type is click.STRING:  # names are completed by what the help calls them
                    param.type = _NAMES.get((param.metavar or "").strip("[]."), param.type)
            self._found[cmd_name] = command
        return self._found[cmd_name]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with the nearest command where a word is none."""
        known = self.list_commands(ctx)
        if args[0] not in known and not args[0].startswith("-") and not ctx.resilient_parsing:
            raise no_command(args[0], known, ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """One help section per group."""
        for title, names in self.command_groups.items():
            found = [(name, self.get_command(ctx, name)) for name in names]
            rows = [(name, command.get_short_help_str(limit=200)) for name, command in found if command]
            with formatter.section(title):
                formatter.write_dl(rows)


def _answering(callback: Callable[..., object]) -> Callable[..., object]:
    """The callback of a command; that there is nothing to do is its answer then.

    The answer goes to standard output, so that no file with a result holds it; as JSON where the result is JSON.
    """

    @wraps(callback)
    def answered(*args: object, **kwargs: object) -> object:
        try:
            return callback(*args, **kwargs)
        except NothingToSuggest as answer:
            from linesmith.analyzer.report.prose import json_text

            asked = click.get_current_context().params
            is_json = asked.get("format_") == "json"
            # In a file of intents, where standard output may go, a sentence is a comment.
            mark = "# " if click.get_current_context().info_name == "intent" else ""
            sentence = mark + " ".join(str(answer).split())
            click.echo(visible(json_text({"answer": sentence}).rstrip("\n") if is_json else sentence))
            return 0

    return answered


# How the process runs.


@contextmanager
def seldom_collected() -> Iterator[None]:
    """In the block circles are looked for seldom, and behind it not among what is there: the process ends.

    A tenth of the time of a command that reads many layouts went into looking for circles. An error refers to all that
    was at work, in circles: that has to go, or what is native in it is reported as leaked.
    """
    former = gc.get_threshold()
    gc.set_threshold(YOUNG_VALUES, *former[1:])
    try:
        yield
    finally:
        gc.set_threshold(*former)
    gc.freeze()


@contextmanager
def interruptible() -> Iterator[None]:
    """Raises ``click.Abort`` in the block when the process is asked to end or loses its terminal.

    So that children end and by-products go. A signal that the caller has ignored (``nohup``) stays so.
    """

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise click.Abort

    deadly = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) is signal.SIG_DFL]
    former = {number: signal.signal(number, interrupt) for number in deadly}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


# What is wrong with a command line.


def sentence(error: click.ClickException) -> str:
    """One line for standard error, its head the command that was called."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is None:
        return f"linesmith: {_clause(error.format_message())}".replace("\n", " ")
    usage = f"usage: {context.command_path} {' '.join(context.command.collect_usage_pieces(context))}"
    if isinstance(error, click.MissingParameter) and error.param is not None:
        called = _called(error.param, context)
        is_option = isinstance(error.param, click.Option)
        step = f"add {called} {error.param.make_metavar(context)}" if is_option else usage
        said = f"{called} is missing"
    elif isinstance(error, click.BadParameter):
        said, step = f"{_origin(error, context)}: {_clause(error.message)}", _remedy(error, context)
    elif isinstance(error, click.NoSuchOption):
        said = f"there is no option {error.option_name}"
        params = context.command.get_params(context)
        long_names = [one[2:] for param in params for one in param.opts if one.startswith("--")]
        near = did_you_mean(error.option_name.lstrip("-"), long_names).replace("mean ", "mean --")
        step = near or f"`{context.command_path} --help` lists the options"
    else:
        said, step = _clause(error.format_message()), usage
    return f"{context.command_path}: {said if _STEP in said else f'{said}; {step}'}".replace("\n", " ")


def no_command(name: str, known: Iterable[str], context: click.Context) -> click.UsageError:
    """The error for a word that is no command of the program."""
    step = did_you_mean(name, known) or "`linesmith --help` lists the commands"
    return click.UsageError(f"there is no command {name or repr(name)}; {step}", context)


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
        return "give another path"
    if isinstance(type_, (click.types.IntParamType, click.types.FloatParamType)):
        return "give one in that range" if "in the range" in error.message else "give one"
    if isinstance(type_, click.Choice):
        return "give one of these"
    return f"`{context.command_path} --help` describes it"


def _clause(message: str) -> str:
    """A sentence of click's as part of ours."""
    text = _NO_NUMBER.sub("is not a number", message.strip().removesuffix("."))
    return text[:1].lower() + text[1:] if text[1:2].islower() else text


# Parameters that are names of types, members and rules, and what a shell may complete them to. Types are those that an
# index has: while somebody types no debug information is read, which takes seconds.

# What no shell takes for anything but a word: names come from files that anyone may have written, and a shell puts them
# on the line as they are. Templates of C++ have signs that redirect.
_WORD = re.compile(r"[\w.:]+")
# More than anybody reads; a shell asks again with each letter.
MOST_NAMES = 1000


class Name(click.types.StringParamType):
    """A name that somebody writes, or a variable of the shell holds."""

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name; fails where it is empty, which would ask for everything."""
        name: str = super().convert(value, param, ctx)
        if not name.strip():
            self.fail("the name is empty (is a shell variable unset?); give a name", param, ctx)
        return name


class TypeName(Name):
    """The name of a record, or a pattern; taken as it is, and completed from the index of the ELF file before it."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002 - click's signature
        """Names that begin so."""
        known = dict.fromkeys(name for layouts in _indexed(ctx) for name in layouts.names())
        found = (name for name in known if name.startswith(incomplete) and _WORD.fullmatch(name))
        return [CompletionItem(name) for name in islice(found, MOST_NAMES)]


class RuleName(Name):
    """The name of a lint rule, or a pattern; taken as it is."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002 - click's signature
        """Rules whose names begin so, with what they say where the shell shows that."""
        from linesmith.analyzer.lint.rules.catalogue import RULES

        return [CompletionItem(one.name, help=one.summary) for one in RULES if one.name.startswith(incomplete)]


_NAMES: dict[str, click.ParamType[str]] = {
    "TYPE": TypeName(),
    "RULE": RuleName(),
    **dict.fromkeys(("MEMBER", "MEMBER,", "MEMBER=BYTES"), Name()),
}


def _indexed(ctx: click.Context) -> Iterator[Layouts]:
    """The layouts of the files on the line, where they are kept; of a file only the headers are looked at."""
    from linesmith.analyzer.layouts.dwarf import indexed

    # What is before an option without a value is in ``args``.
    for path in [*(one for one in ctx.params.values() if isinstance(one, Path)), *map(Path, ctx.args)]:
        found = None
        if os.path.isfile(path):  # noqa: PTH113 - pathlib raises for a name too long
            with suppress(LinesmithError, OSError):
                found = indexed(path)
        if found:
            yield found
