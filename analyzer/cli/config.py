# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith config``: which options are set without being given, and where."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import click
from click.core import ParameterSource

from linesmith.analyzer.base.files import location
from linesmith.analyzer.cli import options
from linesmith.analyzer.cli.group import nearest, no_command
from linesmith.analyzer.cli.output import remark
from linesmith.analyzer.cli.settings import (
    ALONE,
    CACHE_DIRECTORY,
    PREFIX,
    SETTINGS,
    SettingsContext,
    cache_origin,
    origin_in_files,
    settings_in,
    user_file,
    variable,
    variables,
)

SCHEMA_VERSION = 1
# What other programs call it to change what they keep.
_CHANGES = ("add", "edit", "set", "unset")


@click.command(context_settings={"allow_interspersed_args": False})
@click.option("--show-origin", is_flag=True, help="Show the source of each value.")
@options.format_
@options.output
@click.argument("words", metavar="[COMMAND [OPTIONS]...]", nargs=-1, type=click.UNPROCESSED)
def command(show_origin: bool, format_: str, output: Path | None, words: tuple[str, ...]) -> None:
    """List the options that a variable or a file can set, with their current values.

    Values come from, in this order: the command line, LINESMITH_COMMAND_OPTION, LINESMITH_OPTION, the user's
    config.toml (in $XDG_CONFIG_HOME/linesmith or ~/.config/linesmith), the table `defaults` in the linesmith.toml of
    the source tree, the built-in default. With COMMAND, list only its options, with the values they have with the
    OPTIONS that follow. A remark explains why a variable that is set has no effect.
    """
    root = click.get_current_context().find_root()
    rows = settings_of(root, words)
    text = render_json(rows) if format_ == "json" else render_text(rows, show_origin=show_origin)
    options.write(text, output)
    for sentence in idle_variables(root, words[0] if words else "", os.environ):
        remark(sentence)


@dataclass(frozen=True, slots=True)
class SettingRow:
    """A setting of some commands (of none: it belongs to all), its value as it would be written, and its origin."""

    name: str
    value: str
    origin: str
    commands: tuple[str, ...]


def settings_of(root: click.Context, words: Sequence[str]) -> tuple[SettingRow, ...]:
    """The settings of every command, or of the one that ``words`` begin with as the rest of them has it.

    Raises ``click.UsageError`` for a word that is no command, ``ConfigurationError`` for what a file may not set.
    """
    group = root.command
    if not isinstance(group, click.Group):
        return ()
    if words:
        return tuple(_of_command(root, group, words[0], list(words[1:])))
    # Commands side by side where they have the same value from the same place.
    found: dict[tuple[str, str, str], tuple[str, ...]] = {}
    for row in (row for name in group.list_commands(root) for row in _of_command(root, group, name, [])):
        key = (row.name, row.value, row.origin)
        found[key] = (*found.get(key, ()), *row.commands)
    rows = [SettingRow(*key, commands) for key, commands in sorted(found.items())]
    # What is no option: the cache, and variables alone.
    name = variable(CACHE_DIRECTORY)
    origin = cache_origin(root) or (name if os.environ.get(name) else "default")
    rows.append(SettingRow(CACHE_DIRECTORY, str(location()), origin, ()))
    values = [(other, os.environ.get(other)) for other in ALONE]
    return (*rows, *(SettingRow(one, value or "", one if value else "default", ()) for one, value in values))


def _of_command(root: click.Context, group: click.Group, name: str, words: list[str]) -> Iterator[SettingRow]:
    command = group.get_command(root, name)
    if command is None:
        raise _no_command(name, group.list_commands(root))
    context = SettingsContext(command, info_name=name, parent=root)
    with context.scope():
        given, _, _ = command.make_parser(context).parse_args(words)
    if isinstance(tree := given.get("tree"), str):
        context.params["tree"] = Path(tree)
    for param, setting in settings_in(command, name):
        value, source = param.consume_value(context, given)
        # On one line, whatever a tree's file holds.
        text = str(value).replace("\n", r"\n") if isinstance(value, (str, int, float, Path)) else ""
        yield SettingRow(setting.name, text, _origin(context, param, source, variables(name, setting)), (name,))


def _no_command(name: str, known: Sequence[str]) -> click.UsageError:
    """Somebody asks for an option, or wants to change one, where only commands are named."""
    context = click.get_current_context()
    if name in (one.name for one in SETTINGS):
        return click.UsageError(
            f"{name} is an option, not a command; `linesmith config` lists it with the others", context
        )
    if name in _CHANGES:
        return click.UsageError(f"config only shows settings; write them to {user_file()}", context)
    return no_command(name, known, context)


def _origin(context: click.Context, param: click.Parameter, source: ParameterSource, names: Iterable[str]) -> str:
    if source is ParameterSource.COMMANDLINE:
        return "command line"
    if source is ParameterSource.ENVIRONMENT:
        return next(name for name in names if os.environ.get(name))
    if source is ParameterSource.DEFAULT_MAP:
        return origin_in_files(context, param)
    return "default"


def render_text(rows: Sequence[SettingRow], *, show_origin: bool) -> str:
    """A line for each: name, value, where it comes from, and the commands that it is for; above them what is what."""
    lines = [("option", "value", "origin" if show_origin else "", "commands")]
    lines += [(row.name, row.value or "-", row.origin if show_origin else "", " ".join(row.commands)) for row in rows]
    shown = [column for column in zip(*lines, strict=True) if any(column)]
    widths = [max(map(len, column)) for column in shown]
    rows_of_cells = zip(*shown, strict=True)
    padded = ((f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True)) for cells in rows_of_cells)
    return "".join("  ".join(cells).rstrip() + "\n" for cells in padded)


def render_json(rows: Sequence[SettingRow]) -> str:
    """The same as JSON, always with origins."""
    import json

    document = {"schema": SCHEMA_VERSION, "settings": [asdict(row) for row in rows]}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


# Variables of ours that are set and change nothing: misspelled, empty, or of options that a command does not have.


def idle_variables(root: click.Context, command: str, environment: Mapping[str, str]) -> Iterator[str]:
    """A sentence on each variable that sets nothing of ``command``, or of any where that is empty, with what to do.

    A variable that another command alone has is none of these: it is set for that one.
    """
    ours = sorted(name for name in environment if name.startswith(f"{PREFIX}_"))
    takers = _takers(root) if ours else {}
    for name in ours:
        of = takers.get(name)
        if of is None:
            # Its likeness to others is judged without the beginning that all of them have.
            begin = f"{PREFIX}_"
            near = nearest(
                name.removeprefix(begin), (one.removeprefix(begin) for one in takers if one.startswith(begin))
            )
            step = near.replace("mean ", f"mean {begin}") or "`linesmith config` lists the options that can be set"
            yield f"{name} is set but names no option; {step}"
        elif not environment[name]:
            yield f"{name} is set but empty; give it a value, or unset it"
        elif command and len(of) > 1 and command not in of:
            yield f"{name} is set but {command} does not have it; it applies to {', '.join(of)}"


def _takers(root: click.Context) -> dict[str, list[str]]:
    """Every variable that is looked at, with the commands that take an option from it; none: it is no option."""
    found: dict[str, list[str]] = {variable(CACHE_DIRECTORY): [], **{name: [] for name in ALONE}}
    group = root.command
    names = group.list_commands(root) if isinstance(group, click.Group) else []
    for name in names:
        command = group.get_command(root, name) if isinstance(group, click.Group) else None
        for _, setting in settings_in(command, name):
            for one in variables(name, setting):
                found.setdefault(one, []).append(name)
    return found
