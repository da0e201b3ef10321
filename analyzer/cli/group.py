# SPDX-License-Identifier: GPL-2.0-or-later
"""A click group that imports a command's module on first use, so that a warm ``layout`` starts fast."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module

import click


class LazyGroup(click.Group):
    """Commands by group title; the module ``cli.NAME`` holds the command ``NAME`` as ``command``."""

    def __init__(self, *args: object, command_groups: Mapping[str, Sequence[str]], **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.command_groups = command_groups

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Names in the order of the groups."""
        return [name for names in self.command_groups.values() for name in names]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's module; ``None`` for a name that is no command."""
        if cmd_name not in self.list_commands(ctx):
            return None
        module = import_module(f"linesmith.analyzer.cli.{cmd_name}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """One help section per group."""
        for title, names in self.command_groups.items():
            found = [(name, self.get_command(ctx, name)) for name in names]
            rows = [(name, command.get_short_help_str(limit=200)) for name, command in found if command]
            with formatter.section(title):
                formatter.write_dl(rows)
