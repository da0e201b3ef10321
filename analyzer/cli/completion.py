# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith completion``: what a shell needs to complete command lines; ``group`` has what it offers for names."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

_SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", metavar="SHELL", type=click.Choice(_SHELLS))
def command(shell: str) -> None:
    """Print the script that makes SHELL (bash, zsh or fish) complete commands, options, files, types and rules.

    For bash or zsh, add the line to ~/.bashrc or ~/.zshrc; for fish, write the script to its completions directory:

    \b
        eval "$(linesmith completion bash)"
        eval "$(linesmith completion zsh)"
        linesmith completion fish > ~/.config/fish/completions/linesmith.fish

    Types come from ELF files in the cache; `linesmith index ELF` adds one.
    """  # noqa: D301 - click's mark for lines to leave alone
    root = click.get_current_context().find_root()
    made = get_completion_class(shell)
    if made is not None:
        click.echo(made(root.command, {}, "linesmith", "_LINESMITH_COMPLETE").source())
