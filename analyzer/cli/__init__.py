# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line: one module per command, loaded only when it is called."""

from __future__ import annotations

import sys

import click

from linesmith.analyzer.base.errors import DeadlinePassed, LinesmithError
from linesmith.analyzer.base.text import visible
from linesmith.analyzer.cli.group import LazyGroup, interruptible, seldom_collected, sentence

GROUPS = {
    "look": ("layout", "diff", "access", "slab", "index"),
    "find": ("record", "snapshot", "hot", "compare", "suggest"),
    "change": ("patch", "encapsulate", "inline"),
    "prove": ("bench", "tune", "report"),
    "keep": ("lint", "intent", "explain"),
    "more": ("demo", "doctor", "config", "completion", "man"),
}


@click.group(
    cls=LazyGroup,
    command_groups=GROUPS,
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
    subcommand_metavar="COMMAND [ARGS]...",
)
@click.version_option(package_name="linesmith", help="Show the version.")
@click.pass_context
def linesmith(context: click.Context) -> None:
    """Find struct members that share a cache line, propose the smallest change, write the patch and measure it."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help(), err=True)
        context.exit(2)


def main() -> None:
    """Run the command; every expected failure ends in one sentence and exit status 2, a passed deadline in 1."""
    try:
        with interruptible(), seldom_collected():
            status = linesmith(standalone_mode=False)
    except click.exceptions.Abort:
        sys.exit(130)
    except click.ClickException as error:
        click.echo(visible(sentence(error)), err=True)
        sys.exit(2)
    except DeadlinePassed as error:
        click.echo(visible(f"linesmith: {error}"), err=True)
        sys.exit(1)
    except LinesmithError as error:
        click.echo(visible(f"linesmith: {error}".replace("\n", " ")), err=True)
        sys.exit(2)
    except OSError as error:
        sys.stdout = None
        place = error.filename or "standard output"
        click.echo(
            visible(f"linesmith: {place}: {error.strerror or error}; free space there or change its permissions"),
            err=True,
        )
        sys.exit(2)
    except MemoryError:
        click.echo("linesmith: out of memory; give a smaller file, or one that is not damaged", err=True)
        sys.exit(2)
    sys.exit(status if isinstance(status, int) else 0)
