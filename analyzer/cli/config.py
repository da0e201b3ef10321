# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith config``: which options are set without being given, and where."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import click
from click.core import ParameterSource

from linesmith.analyzer.cli import options
from linesmith.analyzer.cli.group import no_command
from linesmith.analyzer.cli.settings import ALONE, SettingsContext, origin_in_files, settings_in, variables

SCHEMA_VERSION = 1


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
    OPTIONS that follow.
    """
    root = click.get_current_context().find_root()
    rows = settings_of(root, words)
    text = render_json(rows) if format_ == "json" else render_text(rows, show_origin=show_origin)
    options.write(text, output)


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
    values = [(other, os.environ.get(other)) for other in ALONE]
    return (*rows, *(SettingRow(one, value or "", one if value else "default", ()) for one, value in values))


def _of_command(root: click.Context, group: click.Group, name: str, words: list[str]) -> Iterator[SettingRow]:
    command = group.get_command(root, name)
    if command is None:
        raise no_command(name, group.list_commands(root), click.get_current_context())
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
