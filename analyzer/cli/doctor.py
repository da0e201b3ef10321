# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith doctor``: what this machine can do."""

from __future__ import annotations

from pathlib import Path

import click

from linesmith.analyzer.cli import options


@click.command()
@click.argument("commands", metavar="[COMMAND]...", nargs=-1)
@click.option(
    "--tree", metavar="DIR", type=options.DIRECTORY, default=Path(), help="The source tree; else where you are."
)
@options.build
@click.option("--all", "whole", is_flag=True, help="Tell of each part that is ready as well; JSON always does.")
@options.format_
@options.output
def command(
    commands: tuple[str, ...], tree: Path, build: Path | None, whole: bool, format_: str, output: Path | None
) -> int:
    """Say what this machine cannot do, with the command that would mend it, and what it can.

    perf and KVM are tried by running them, which takes some seconds. Exit status 1 tells that one of the commands named
    (`linesmith doctor record`) cannot work here.
    """
    from linesmith.analyzer.cli.colour import text_columns
    from linesmith.analyzer.cli.group import commands_of, no_command
    from linesmith.analyzer.cli.output import tell_who_waits
    from linesmith.analyzer.doctor.examine import examine
    from linesmith.analyzer.report import doctor

    context = click.get_current_context()
    known = commands_of(context)
    for name in commands:
        if name not in known:
            raise no_command(name, known, context)
    checks = examine(tree, build, tell_who_waits)
    if format_ == "json":
        text = doctor.render_json(checks, commands)
    else:
        text = (doctor.render_all if whole else doctor.render_text)(checks, commands, text_columns(output))
    options.write(text, output)
    return 1 if doctor.lacking(checks, commands) else 0
