# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith doctor``: what this machine can do."""

from __future__ import annotations

from pathlib import Path

import click

from linesmith.analyzer.cli import options


@click.command()
@click.argument("commands", metavar="[COMMAND]...", nargs=-1)
@click.option(
    "--tree", metavar="DIR", type=options.DIRECTORY, default=Path(), help="Source tree. Default: current directory."
)
@options.build
@click.option("--all", "whole", is_flag=True, help="List the parts that work, too; JSON always does.")
@options.format_
@options.output
def command(
    commands: tuple[str, ...], tree: Path, build: Path | None, whole: bool, format_: str, output: Path | None
) -> int:
    """Show what works on this machine, what does not, and the command that fixes it.

    perf and KVM are tested by running them, which takes a few seconds. Exit status 1 means that one of the commands
    named (`linesmith doctor record`) cannot work here.
    """
    from linesmith.analyzer.cli.group import no_command
    from linesmith.analyzer.cli.output import tell_who_waits, text_columns
    from linesmith.analyzer.doctor.examine import examine
    from linesmith.analyzer.report import doctor

    context = click.get_current_context()
    root = context.find_root()
    known = root.command.list_commands(root) if isinstance(root.command, click.Group) else []
    for name in commands:
        if name not in known:
            raise no_command(name, known, context)
    checks = examine(tree, build, tell_who_waits)
    if format_ == "json":
        text = doctor.render_json(checks, commands)
    else:
        text = doctor.render_text(checks, commands, text_columns(output), full=whole)
    options.write(text, output)
    return 1 if doctor.lacking(checks, commands) else 0
