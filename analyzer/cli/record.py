# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith record``: run a command and write down which cache lines CPUs take from each other."""

from __future__ import annotations

from pathlib import Path

import click

from linesmith.analyzer.base.visible import visible
from linesmith.analyzer.cli.record_options import record_options
from linesmith.analyzer.cli.remarks import say


@click.command(context_settings={"allow_interspersed_args": False})
@record_options
@click.option(
    "-o",
    "--output",
    metavar="PROFILE",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the profile to this file (replaced if it exists): as Parquet if it is called .parquet, else as JSON.",
)
@click.argument("command_", metavar="-- CMD...", nargs=-1, required=True, type=click.UNPROCESSED)
def command(command_: tuple[str, ...], output: Path, machine: str, dry_run: bool, **given: object) -> None:
    """Run CMD and write a profile of the cache lines that CPUs take from each other.

    No PMU is needed: QEMU emulates the CPUs, and a simulation of their caches counts every miss. To begin with a
    program of yours, built with -g:

    \b
        linesmith record -o profile -- ./prog args

    For a kernel, which runs CMD (a program of this machine, an applet of busybox or a line for its shell):

    \b
        linesmith record --kernel vmlinuz --vmlinux vmlinux -o profile -- sh -c 'ls | wc'

    Then `linesmith hot ELF profile` names the members, ELF being the program or the vmlinux.
    """  # noqa: D301 - click's mark for lines to leave alone
    from linesmith.analyzer.cli.record_order import order
    from linesmith.analyzer.cli.recording import choose, record, summary

    wanted = order(command_, output, machine, given)
    chosen = choose(machine, wanted)
    if dry_run:
        click.echo(visible("\n".join(chosen.commands(wanted))))
        return
    profile = record(chosen, wanted, output)
    say(summary(profile, output, wanted) if profile else f"profile: {output}")
