# SPDX-License-Identifier: GPL-2.0-or-later
"""Completion in bash, which splits words where its user does not: at ``=`` and at ``:``.

Of ``--format=s`` the shell sees ``--format``, ``=`` and ``s``, and of ``ns::Ty`` three as well. So the line is
split here, and a completion loses what stands in front of the word that the shell will replace (bash(1),
COMP_WORDBREAKS).
"""

from __future__ import annotations

import os
from typing import Any

from click.shell_completion import BashComplete, CompletionItem, add_completion_class, split_arg_string

_SOURCE = """\
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


class Bash(BashComplete):
    """As click's own, with the line taken apart as the program will see it."""

    source_template = _SOURCE

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
        option, joined, value = incomplete.partition("=") if incomplete.startswith("--") else ("", "", incomplete)
        found = super().get_completions(args, incomplete)
        if joined and "=" not in breaks:
            return [CompletionItem(f"{option}={one.value}", one.type) for one in found]
        kept = value.rpartition(":")[0] + ":" if ":" in value and ":" in breaks else ""
        return [CompletionItem(one.value.removeprefix(kept), one.type) for one in found]


def register() -> None:
    """Let click take this class for bash."""
    add_completion_class(Bash)
