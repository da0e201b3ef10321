# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith completion``: what a shell needs to complete command lines.

Shells differ in where they think that a word ends. Of ``--format=s`` bash sees the words ``--format``, ``=`` and ``s``,
and of ``ns::Ty`` three as well (bash(1), COMP_WORDBREAKS); zsh and fish see one word, which a completion replaces with
the option in front of the value. That is what differs from click's own classes.
"""

from __future__ import annotations

import os
from functools import reduce
from typing import Any

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ZshComplete,
    add_completion_class,
    get_completion_class,
    split_arg_string,
)

_SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", metavar="SHELL", type=click.Choice(_SHELLS))
def command(shell: str) -> None:
    """Print the script that makes SHELL (bash, zsh or fish) complete commands, options, files and names.

    Names are types, members, rules and git revisions.

    For bash or zsh, add the line to ~/.bashrc or ~/.zshrc; for fish, write the script to its completions directory:

    \b
        eval "$(linesmith completion bash)"
        eval "$(linesmith completion zsh)"
        linesmith completion fish > ~/.config/fish/completions/linesmith.fish

    Types and members come from ELF files in the cache; `linesmith index ELF` adds one.
    """  # noqa: D301 - click's mark for lines to leave alone
    register()
    root = click.get_current_context().find_root()
    made = get_completion_class(shell)
    if made is not None:
        click.echo(made(root.command, {}, "linesmith", "_LINESMITH_COMPLETE").source())


_BASH = """\
%(complete_func)s() {
    local IFS=$'\\n' kind value
    COMPREPLY=()
    while IFS=, read -r kind value; do
        case $kind in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain)
                COMPREPLY+=("$value")
                [[ $value != *= ]] || compopt -o nospace
                ;;
        esac
    done < <(env COMP_LINE="${COMP_LINE:0:COMP_POINT}" COMP_WORDBREAKS="$COMP_WORDBREAKS" \\
        %(complete_var)s=bash_complete "$1")
}

complete -o nosort -F %(complete_func)s %(prog_name)s
"""
# What of click's script zsh gets otherwise: it leaves the option on the line, for values and files alike, and so it
# must match itself (zshcompwid(1), compset -P and compadd -U).
_ZSH = (
    ("    local -a response\n", "    local -a response\n    compset -P '*='\n"),
    ("compadd -U ", "compadd "),
    ("completions_with_descriptions -U", "completions_with_descriptions"),
)
# What fish gets: its own words for files and directories know nothing of an option in front, and a value, or what is
# said of it, may have commas.
_PLACES = """\
set -l option (string replace -r -- '^(--[^=]*=)?.*' '$1' $metadata[2]);
            for place in ({} (string replace -r -- '^--[^=]*=' '' $metadata[2]));
                echo "$option$place";
            end;"""
_FISH = (
    ('string split ","', 'string split -m 1 ","'),
    *(
        (f"{words} $metadata[2];", _PLACES.format(words))
        for words in ("__fish_complete_directories", "__fish_complete_path")
    ),
)


class Bash(BashComplete):
    """As click's own, with the line taken apart as the program will see it."""

    source_template = _BASH

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the one at the cursor, and what there is of that."""
        line = os.environ.get("COMP_LINE", "")
        words = split_arg_string(line)[1:]
        if not words or line[-1:].isspace():
            return words, ""
        return words[:-1], words[-1]

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem[Any]]:
        """What the shell puts in the place of what it takes for the word: that behind the last break."""
        breaks = os.environ.get("COMP_WORDBREAKS", "=:")
        option, value = _apart(incomplete)
        found = super().get_completions(args, incomplete)
        if option and "=" not in breaks:
            return _behind(option, found)
        kept = value.rpartition(":")[0] + ":" if ":" in value and ":" in breaks else ""
        return [CompletionItem(one.value.removeprefix(kept), one.type) for one in found]


class Zsh(ZshComplete):
    """As click's own, with the option in front of a value left alone."""

    source_template = reduce(lambda text, change: text.replace(*change), _ZSH, ZshComplete.source_template)


class Fish(FishComplete):
    """As click's own, with the option in front of a value given back."""

    source_template = reduce(lambda text, change: text.replace(*change), _FISH, FishComplete.source_template)

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem[Any]]:
        """Whole words."""
        option, _ = _apart(incomplete)
        return _behind(option, super().get_completions(args, incomplete))


def _apart(word: str) -> tuple[str, str]:
    """An option with its sign, and the value behind it: ``--format=`` and ``s``."""
    name, joined, value = word.partition("=")
    return (name + joined, value) if joined and word.startswith("--") else ("", word)


def _behind(option: str, found: list[CompletionItem[Any]]) -> list[CompletionItem[Any]]:
    return [CompletionItem(f"{option}{one.value}", one.type, one.help) for one in found]


def register() -> None:
    """Let click take these classes."""
    for shell in (Bash, Zsh, Fish):
        add_completion_class(shell)
