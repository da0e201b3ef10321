# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith config``: which options are set without being given, and where."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import click
from click.core import ParameterSource

from linesmith.analyzer.base.cache import location
from linesmith.analyzer.cli import options
from linesmith.analyzer.cli.group import no_command
from linesmith.analyzer.cli.settings import ALONE, CACHE_DIRECTORY, SETTINGS, setting_of, user_file, variable, variables
from linesmith.analyzer.cli.settled import SettledContext, cache_origin, origin_in_files


@click.command(context_settings={"allow_interspersed_args": False})
@click.option("--show-origin", is_flag=True, help="Say of each value where it comes from.")
@options.format_
@options.output
@click.argument("words", metavar="[COMMAND [OPTIONS]...]", nargs=-1, type=click.UNPROCESSED)
def command(show_origin: bool, format_: str, output: object, words: tuple[str, ...]) -> None:
    """List the options that can be set by a variable or a file, with the value that they have.

    Values are taken from the command line, then LINESMITH_COMMAND_OPTION, LINESMITH_OPTION, the user's config.toml (in
    $XDG_CONFIG_HOME/linesmith or ~/.config/linesmith), the table `defaults` in the linesmith.toml of the source tree,
    and last the default. With COMMAND only its options are listed, as they would be for the words behind it. Of
    variables that are set and change nothing, a remark tells why.
    """
    import os
    from pathlib import Path

    from linesmith.analyzer.cli.group import idle_variables
    from linesmith.analyzer.cli.output import remark

    root = click.get_current_context().find_root()
    rows = settings_of(root, words)
    text = render_json(rows) if format_ == "json" else render_text(rows, show_origin=show_origin)
    options.write(text, output if isinstance(output, Path) else None)
    for sentence in idle_variables(root, words[0] if words else "", os.environ):
        remark(sentence)


# Every setting with its value and where that comes from.

SCHEMA_VERSION = 1
# What other programs call it to change what they keep.
_CHANGES = ("add", "edit", "set", "unset")


@dataclass(frozen=True, slots=True)
class Row:
    """A setting of some commands (of none: it belongs to all), its value as it would be written, and its origin."""

    name: str
    value: str
    origin: str
    commands: tuple[str, ...]


def settings_of(root: click.Context, words: Sequence[str]) -> tuple[Row, ...]:
    """The settings of every command, or of the one that ``words`` begin with as the rest of them has it.

    Raises ``click.UsageError`` for a word that is no command, ``ConfigurationError`` for what a file may not set.
    """
    group = root.command
    if not isinstance(group, click.Group):
        return ()
    if words:
        return tuple(_of_command(root, group, words[0], list(words[1:])))
    rows = [row for name in group.list_commands(root) for row in _of_command(root, group, name, [])]
    return (*_merged(rows), *_of_none(root))


def _of_command(root: click.Context, group: click.Group, name: str, words: list[str]) -> Iterator[Row]:
    command = group.get_command(root, name)
    if command is None:
        raise _no_command(name, group.list_commands(root))
    context = SettledContext(command, info_name=name, parent=root)
    with context.scope():
        given, _, _ = command.make_parser(context).parse_args(words)
    if isinstance(tree := given.get("tree"), str):
        context.params["tree"] = Path(tree)
    for param in command.params:
        if setting := setting_of(name, param):
            value, source = param.consume_value(context, given)
            origin = _origin(context, param, source, variables(name, setting))
            yield Row(setting.name, _written(value), origin, (name,))


def _no_command(name: str, known: Sequence[str]) -> click.UsageError:
    """Somebody asks for an option, or wants to change one, where only commands are named."""
    context = click.get_current_context()
    if name in (one.name for one in SETTINGS):
        return click.UsageError(
            f"{name} is an option, not a command; `linesmith config` lists it with the others", context
        )
    if name in _CHANGES:
        return click.UsageError(f"config only shows what is set; write it into {user_file()}", context)
    return no_command(name, known, context)


def _origin(context: click.Context, param: click.Parameter, source: ParameterSource, names: Iterable[str]) -> str:
    if source is ParameterSource.COMMANDLINE:
        return "command line"
    if source is ParameterSource.ENVIRONMENT:
        return next(name for name in names if os.environ.get(name))
    if source is ParameterSource.DEFAULT_MAP:
        return origin_in_files(context, param)
    return "default"


def _of_none(root: click.Context) -> Iterator[Row]:
    """What is no option: the cache, and variables alone."""
    name = variable(CACHE_DIRECTORY)
    origin = cache_origin(root) or (name if os.environ.get(name) else "default")
    yield Row(CACHE_DIRECTORY, str(location()), origin, ())
    for other in ALONE:
        value = os.environ.get(other)
        yield Row(other, value or "", other if value else "default", ())


def _merged(rows: Iterable[Row]) -> list[Row]:
    """Commands side by side where they have the same value from the same place."""
    found: dict[tuple[str, str, str], tuple[str, ...]] = {}
    for row in rows:
        key = (row.name, row.value, row.origin)
        found[key] = (*found.get(key, ()), *row.commands)
    return [Row(*key, commands) for key, commands in sorted(found.items())]


def _written(value: object) -> str:
    """On one line, whatever a tree's file holds."""
    text = str(value) if isinstance(value, (str, int, float, Path)) else ""
    return text.replace("\n", r"\n")


def render_text(rows: Sequence[Row], *, show_origin: bool) -> str:
    """A line for each: name, value, where it comes from, and the commands that it is for; above them what is what."""
    lines = [("option", "value", "origin" if show_origin else "", "commands")]
    lines += [(row.name, row.value or "-", row.origin if show_origin else "", " ".join(row.commands)) for row in rows]
    shown = [column for column in zip(*lines, strict=True) if any(column)]
    widths = [max(map(len, column)) for column in shown]
    return "".join(_line(cells, widths) for cells in zip(*shown, strict=True))


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True))
    return "  ".join(padded).rstrip() + "\n"


def render_json(rows: Sequence[Row]) -> str:
    """The same as JSON, always with origins."""
    import json

    document = {"schema": SCHEMA_VERSION, "settings": [asdict(row) for row in rows]}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
