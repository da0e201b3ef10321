# SPDX-License-Identifier: GPL-2.0-or-later
"""Parameters that are names of types, members and rules, and what a shell may complete them to.

A parameter gets its type by what help calls it. Types are those that an index has: while somebody types no debug
information is read, which takes seconds.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from linesmith.analyzer.base.errors import LinesmithError

if TYPE_CHECKING:
    from linesmith.analyzer.layouts.collection import Layouts


# What no shell takes for anything but a word: names come from files that anyone may have written, and a shell puts them
# on the line as they are. Templates of C++ have signs that redirect.
_WORD = re.compile(r"[\w.:]+")
# More than anybody reads; a shell asks again with each letter.
MOST_NAMES = 1000


class Name(click.types.StringParamType):
    """A name that somebody writes, or a variable of the shell holds."""

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name; fails where it is empty, which would ask for everything."""
        name: str = super().convert(value, param, ctx)
        if not name.strip():
            self.fail("the name is empty (is a shell variable unset?); give a name", param, ctx)
        return name


class TypeName(Name):
    """The name of a record, or a pattern; taken as it is, and completed from the index of the ELF file before it."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002 - click's signature
        """Names that begin so."""
        known = dict.fromkeys(name for layouts in _indexed(ctx) for name in layouts.names())
        found = (name for name in known if name.startswith(incomplete) and _WORD.fullmatch(name))
        return [CompletionItem(name) for name in islice(found, MOST_NAMES)]


class RuleName(Name):
    """The name of a lint rule, or a pattern; taken as it is."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002 - click's signature
        """Rules whose names begin so, with what they say where the shell shows that."""
        from linesmith.analyzer.lint.rules.catalogue import RULES

        return [CompletionItem(one.name, help=one.summary) for one in RULES if one.name.startswith(incomplete)]


_NAMES: dict[str, click.ParamType[str]] = {
    "TYPE": TypeName(),
    "RULE": RuleName(),
    **dict.fromkeys(("MEMBER", "MEMBER,", "MEMBER=BYTES"), Name()),
}


def complete_names(command: click.Command) -> None:
    """Let the parameters of a command that take names be completed, by what its help calls them."""
    for param in command.params:
        if param.type is click.STRING:
            param.type = _NAMES.get((param.metavar or "").strip("[]."), param.type)


def _indexed(ctx: click.Context) -> Iterator[Layouts]:
    """The layouts of the files on the line, where they are kept; of a file only the headers are looked at."""
    from linesmith.analyzer.layouts.dwarf import indexed

    # What is before an option without a value is in ``args``.
    for path in [*(one for one in ctx.params.values() if isinstance(one, Path)), *map(Path, ctx.args)]:
        found = None
        if os.path.isfile(path):  # noqa: PTH113 - pathlib raises for a name too long
            with suppress(LinesmithError, OSError):
                found = indexed(path)
        if found:
            yield found
