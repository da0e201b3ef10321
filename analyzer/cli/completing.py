# SPDX-License-Identifier: GPL-2.0-or-later
"""Names of types for a shell that completes a command line: from an index that is there already, or none."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from linesmith.analyzer.cli.settled import settle_cache
from linesmith.analyzer.errors import LinesmithError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# What no shell takes for anything but a word: names come from files that anyone may have written, and a shell puts them
# on the line as they are. Templates of C++ have signs that redirect.
_WORD = re.compile(r"[\w.:]+")
# More than anybody reads; a shell asks again with each letter.
MOST_NAMES = 1000


class TypeName(click.types.StringParamType):
    """The name of a record, or a pattern; taken as it is, and completed from the index of the ELF file before it."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002 - click's signature
        """Names that begin so. While somebody types no debug information is read: that takes seconds."""
        from click.shell_completion import CompletionItem

        with suppress(LinesmithError):
            settle_cache(ctx)
        known = (name for elf in _given(ctx.params.values()) for name in _indexed(elf))
        names = (name for name in known if name.startswith(incomplete) and _WORD.fullmatch(name))
        return [CompletionItem(name) for _, name in zip(range(MOST_NAMES), names, strict=False)]


def complete_types(command: click.Command) -> None:
    """Let the parameters of a command that take names of types be completed."""
    for param in command.params:
        if (param.metavar or "").strip("[].") == "TYPE" and param.type is click.STRING:
            param.type = TypeName()


def _given(values: Iterable[object]) -> list[Path]:
    """The files that the command line names so far."""
    found = (one for value in values for one in (value if isinstance(value, tuple) else (value,)))
    return [one for one in found if isinstance(one, Path) and one.is_file()]


def _indexed(elf: Path) -> tuple[str, ...]:
    """The names of its records, where its layouts are kept; only its headers are looked at."""
    from linesmith.analyzer.dwarf import indexed

    try:
        layouts = indexed(elf)
    except (LinesmithError, OSError):
        return ()
    return layouts.names() if layouts else ()
