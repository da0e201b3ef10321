# SPDX-License-Identifier: GPL-2.0-or-later
"""A click group that imports a command's module on first use, so that a warm ``layout`` starts fast."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path

import click

from linesmith.analyzer.cli.completing import complete_names
from linesmith.analyzer.cli.remarks import loudness_options
from linesmith.analyzer.cli.settled import settle
from linesmith.analyzer.cli.usage import no_command


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
            complete_names(command)
            self._found[cmd_name] = command
        return self._found[cmd_name]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, but for a word that is no command: it may be a file, or nearly a command."""
        name = args[0]
        if name not in self.list_commands(ctx) and not name.startswith("-") and not ctx.resilient_parsing:
            if name == "help":
                asked = args[1] if args[1:] and args[1] in self.list_commands(ctx) else "COMMAND"
                raise click.UsageError(f"help stands behind a command; as in: linesmith {asked} --help", ctx)
            if Path(name).is_file():
                step = "a file comes behind its command, as in: linesmith layout ELF"
                raise click.UsageError(f"there is no command {name}; {step}", ctx)
            raise no_command(name, self.list_commands(ctx), ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """One help section per group."""
        for title, names in self.command_groups.items():
            found = [(name, self.get_command(ctx, name)) for name in names]
            rows = [(name, command.get_short_help_str(limit=200)) for name, command in found if command]
            with formatter.section(title):
                formatter.write_dl(rows)
