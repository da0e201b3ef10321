# SPDX-License-Identifier: GPL-2.0-or-later
"""Parameters that are names, and what a shell may complete them to.

Names are those of types and members that an index has, of rules, revisions and commands. A parameter gets its type by
what help calls it; the shells themselves are in ``completion``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from linesmith.analyzer.base.errors import LinesmithError
from linesmith.analyzer.cli.settings import settle_cache

if TYPE_CHECKING:
    from linesmith.analyzer.layouts.collection import Layouts


# What no shell takes for anything but a word: names come from files that anyone may have written, and a shell puts them
# on the line as they are. Templates of C++ have signs that redirect.
_WORD = re.compile(r"[\w.:]+")
_REVISION = re.compile(r"\w[\w./+-]*")
# What pages and word processors make of the dashes of an option.
_DASHES = "\u2013\u2014"
# More than anybody reads; a shell asks again with each letter.
MOST_NAMES = 1000


class Name(click.types.StringParamType):
    """A name that somebody writes, or a variable of the shell holds."""

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name; fails where it is empty, which would ask for everything."""
        name: str = super().convert(value, param, ctx)
        if not name.strip():
            self.fail("the name is empty (is a shell variable unset?); give a name", param, ctx)
        if name[0] in _DASHES:
            self.fail(f"{name} begins with a typographic dash; type it as --{name.lstrip(_DASHES)}", param, ctx)
        return name


class TypeName(Name):
    """The name of a record, or a pattern; taken as it is, and completed from the index of the ELF file before it."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002 - click's signature
        """Names that begin so. While somebody types no debug information is read: that takes seconds."""
        known = dict.fromkeys(name for layouts in _indexed(ctx) for name in layouts.names())
        return _items(name for name in known if name.startswith(incomplete) and _WORD.fullmatch(name))


class MemberName(Name):
    """The name of a member, or several with commas; taken as it is, completed from the types that stand on the line."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Members that begin as the last of the names does; ``NAME=BYTES`` gets its sign."""
        from linesmith.analyzer.layouts.collection import bare_name

        before, comma, begun = incomplete.rpartition(",")
        sign = "=" if "=" in (param.metavar or "") else ""
        words = [bare_name(one) for one in _values(ctx) if isinstance(one, str)]  # a name may stand anywhere
        records = (layout for layouts in _indexed(ctx) for word in words for layout in layouts.variants(word))
        known = dict.fromkeys(one.name for layout in records for one in layout.members if one.name)
        names = (name for name in known if name.startswith(begun) and _WORD.fullmatch(name))
        return [CompletionItem(f"{before}{comma}{name}{sign}") for name in names]


class Revision(click.types.StringParamType):
    """A revision of a git tree; taken as it is, completed by the names of its branches and tags."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002 - click's signature
        """Branches and tags that begin so, of the tree that is named or else the one around."""
        from linesmith.patches.revisions.git import repository_of

        tree = ctx.params.get("tree")
        try:
            known = repository_of(tree if isinstance(tree, Path) else Path.cwd()).names()
        except (LinesmithError, OSError):
            return []
        return _items(name for name in known if name.startswith(incomplete) and _REVISION.fullmatch(name))


class RuleName(Name):
    """The name of a lint rule, or a pattern; taken as it is."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002 - click's signature
        """Rules whose names begin so, with what they say where the shell shows that."""
        from linesmith.analyzer.lint.rules.catalogue import RULES

        return [CompletionItem(one.name, help=one.summary) for one in RULES if one.name.startswith(incomplete)]


class CommandName(click.types.StringParamType):
    """The name of a command of this program; taken as it is."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002 - click's signature
        """Commands whose names begin so."""
        root = ctx.find_root()
        known = root.command.list_commands(root) if isinstance(root.command, click.Group) else []
        return _items(name for name in known if name.startswith(incomplete))


class OneOf(click.types.StringParamType):
    """One of the words that help shows as ``[WORD|WORD]``; taken as it is, for plugins add others."""

    def __init__(self, words: tuple[str, ...]) -> None:
        self.words = words

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002 - click's signature
        """Words that begin so."""
        return _items(word for word in self.words if word.startswith(incomplete))


_NAMES: dict[str, click.ParamType[str]] = {
    "TYPE": TypeName(),
    "MEMBER": MemberName(),
    "MEMBER,": MemberName(),
    "MEMBER=BYTES": MemberName(),
    "RULE": RuleName(),
    "REV": Revision(),
    "COMMAND": CommandName(),
}


def complete_names(command: click.Command) -> None:
    """Let the parameters of a command that take names be completed, by what its help calls them."""
    for param in command.params:
        if param.type is click.STRING:
            called = (param.metavar or "").strip("[].")
            words = tuple(called.split("|"))
            param.type = OneOf(words) if len(words) > 1 else _NAMES.get(called, param.type)


def _items(names: Iterable[str]) -> list[CompletionItem]:
    return [CompletionItem(name) for _, name in zip(range(MOST_NAMES), names, strict=False)]


def _values(ctx: click.Context) -> Iterator[object]:
    """What stands on the command line so far; what is before an option without a value is in ``args``."""
    for value in ctx.params.values():
        yield from value if isinstance(value, tuple) else (value,)
    yield from ctx.args


def _indexed(ctx: click.Context) -> Iterator[Layouts]:
    """The layouts of the files on the line, where they are kept; of a file only the headers are looked at."""
    from linesmith.analyzer.layouts.dwarf import indexed

    with suppress(LinesmithError):
        settle_cache(ctx)
    for path in [*(one for one in _values(ctx) if isinstance(one, Path)), *map(Path, ctx.args)]:
        found = None
        if os.path.isfile(path):  # noqa: PTH113 - pathlib raises for a name too long
            with suppress(LinesmithError, OSError):
                found = indexed(path)
        if found:
            yield found
