# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith completion``: what a shell needs to complete command lines."""

from __future__ import annotations

import click

from linesmith.analyzer.cli.completing import COMPLETE_VARIABLE

_SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", metavar="SHELL", type=click.Choice(_SHELLS))
def command(shell: str) -> None:
    """Print the script that makes SHELL (bash, zsh or fish) complete commands, options, files and names.

    Names are those of types, members, rules, and revisions of git.

    For bash and zsh, add one of these to ~/.bashrc or ~/.zshrc; for fish, write its script where fish looks for it:

    \b
        eval "$(linesmith completion bash)"
        eval "$(linesmith completion zsh)"
        linesmith completion fish > ~/.config/fish/completions/linesmith.fish

    Types and members are those of ELF files whose layouts have been read before: `linesmith index ELF` does that.
    """  # noqa: D301 - click's mark for lines to leave alone
    from click.shell_completion import get_completion_class

    from linesmith.analyzer.cli.completing import register

    register()
    root = click.get_current_context().find_root()
    made = get_completion_class(shell)
    if made is not None:
        click.echo(made(root.command, {}, "linesmith", COMPLETE_VARIABLE).source())
